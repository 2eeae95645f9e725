#include "gui/view-models/plan_exhibits.hpp"

#include <QObject>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "planner/nearest_miss.hpp"

namespace stepcast {

namespace {

constexpr double kSecondsPerHour = 3600, kJoulesPerMegawattHour = 3.6e9, kGramsPerTonne = 1e6;
/// Letters of a reason that a chart's axis has room for.
constexpr qsizetype kLongestReason = 24;

double value_of(Objective objective, const ObjectiveValues& values) {
  return values[static_cast<std::size_t>(objective)];
}

QString unit_of(Objective objective) {
  switch (objective) {
    case Objective::time:
      return tr("hours");
    case Objective::energy:
    case Objective::throughput_per_watt:
      return tr("MWh");
    case Objective::carbon:
      return tr("tonnes of CO₂");
    case Objective::cost:
      break;
  }
  return QStringLiteral("$");
}

QString servers_of(const PlanOption& option) {
  const Json& scenario = *option.scenario;
  const Json& cluster = scenario.at("cluster");
  QString out = QStringLiteral("%1 × %2").arg(shown_whole(cluster.value("nodes", 1L)), qt(cluster.value("node", "")));
  for (const std::string& words : machine_words(scenario, option.answer->stated_of_fabrics))
    out += QStringLiteral(" · ") + localized(qt(words));
  return out;
}

/// "tensor 8 · pipeline 4" of a scenario that the search wrote.
QString strategy_of(const Json& scenario) {
  const Json strategy = scenario.value("strategy", Json::object());
  QStringList words;
  const auto add = [&](const char* key, const char* name) {
    if (const int degree = strategy.value(key, 1); degree > 1)
      words << QStringLiteral("%1 %2").arg(tr(name)).arg(degree);
  };
  add("tensor_parallel", "tensor");
  add("pipeline_parallel", "pipeline");
  add("context_parallel", "context");
  add("expert_parallel", "expert");
  if (strategy.value("expert_parallel", 1) > 1 && strategy.contains("expert_tensor_parallel"))
    words.back() += tr(" of whole experts");
  add("data_parallel", "data");
  if (words.isEmpty()) words << tr("no parallelism");
  words << tr("micro-batch %1").arg(shown_whole(strategy.value("micro_batch", 1L)));
  return words.join(QStringLiteral(" · "));
}

/// Settings that options with the same degrees differ in.
QString settings_of(const Json& scenario) {
  const Json strategy = scenario.value("strategy", Json::object());
  QStringList words;
  const auto add = [&](const char* key, const std::string& usual, const QString& as) {
    if (const std::string value = strategy.value(key, usual); value != usual) words << as.arg(qt(value));
  };
  add("framework", "", QStringLiteral("%1"));
  add("sharding", "none", QStringLiteral("%1"));
  add("recompute", "none", tr("recompute %1"));
  add("schedule", "1f1b", QStringLiteral("%1"));
  add("expert_dispatch", "all_to_all", tr("experts by %1"));
  if (strategy.value("sequence_parallel", false)) words << tr("sequence-parallel");
  if (strategy.value("offload_optimizer", false))
    words << (strategy.value("offload_optimizer_device", "host") == "nvme" ? tr("optimizer on drives")
                                                                           : tr("optimizer in host memory"));
  return words.join(QStringLiteral(" · "));
}

FigureCell count_cell(double value, const QString& text) { return {.text = text, .number = value}; }

std::vector<FigureCell> row_of(const PlanOption& option, std::size_t number, const PlanScale& scale,
                               const PlanAxes& axes) {
  const bool answer = option.candidate != nullptr;
  const Seconds step = answer ? option.candidate->prediction.step_time : option.figures->step_time;
  const Watts power = answer ? option.candidate->prediction.average_power : option.figures->average_power;
  QStringList words;
  if (answer)
    for (const Binding& binding : option.candidate->binding) words << qt(binding.words);
  else
    words << tr("on the Pareto front, closed form");
  if (answer && option.candidate->tie) words << tr("level with the best");
  const QString strategy =
      (answer ? degrees_in_words(option.candidate->prediction.degrees) : strategy_of(*option.scenario)) +
      QStringLiteral(" · ") + settings_of(*option.scenario);
  const QString servers = servers_of(option);
  const auto axis = [&](Objective objective) {
    const double value = scale.shown(objective, *option.objective);
    return std::isfinite(value) ? count_cell(value, shown_number(value))
                                : FigureCell{.text = QStringLiteral("—"), .tone = FigureCell::Tone::muted};
  };
  return {count_cell(static_cast<double>(number + 1), QString::number(number + 1)),
          {.text = servers, .tip = servers},
          axis(axes.x),
          axis(axes.y),
          figure_cell(step),
          {.text = strategy, .tip = strategy},
          figure_cell(power),
          {.text = words.join(QStringLiteral(", ")), .tip = words.join(QLatin1Char('\n'))}};
}

/// A reason in as few letters as an axis has room for: "does not fit memory by 1 to 8 GiB" is "memory + 1 to 8 GiB".
QString short_reason(QString why) {
  why.replace(QRegularExpression(QStringLiteral("^does not fit memory by ")), QStringLiteral("memory + "));
  why.remove(QRegularExpression(QStringLiteral("^(the|a) ")));
  why.replace(QRegularExpression(QStringLiteral("^(.*) when simulated$")), QStringLiteral("simulated: \\1"));
  return why.size() > kLongestReason ? why.left(kLongestReason - 1) + QStringLiteral("…") : why;
}

ChartData scatter_of(const PlanScale& scale, const PlanAxes& axes) {
  ChartData out;
  out.kind = ChartData::Kind::scatter;
  out.x_title = scale.title(axes.x);
  out.y_title = scale.title(axes.y);
  return out;
}

ChartData::Series new_series(const QString& name, Hue hue, bool small) {
  return {.name = name, .hue = hue, .values = {}, .points = {}, .dashed = small, .tips = {}};
}

}  // namespace

const std::vector<PlanAxes>& plan_axes() {
  static const std::vector<PlanAxes> kAxes{{tr("Time and cost"), Objective::time, Objective::cost},
                                           {tr("Time and energy"), Objective::time, Objective::energy},
                                           {tr("Cost and energy"), Objective::cost, Objective::energy},
                                           {tr("Time and carbon"), Objective::time, Objective::carbon}};
  return kAxes;
}

std::vector<PlanOption> options_of(const PlanAnswer& answer) {
  std::vector<PlanOption> out;
  for (const PlanCandidate& candidate : answer.candidates)
    out.push_back({&answer, &candidate.scenario, &candidate.objective, &candidate, nullptr});
  for (const ParetoPoint& point : answer.pareto) {
    const bool listed =
        std::any_of(answer.candidates.begin(), answer.candidates.end(),
                    [&](const PlanCandidate& candidate) { return candidate.scenario == point.scenario; });
    if (!listed) out.push_back({&answer, &point.scenario, &point.figures.objective, nullptr, &point.figures});
  }
  return out;
}

double PlanScale::shown(Objective objective, const ObjectiveValues& values) const {
  const double all = value_of(objective, values) * samples;
  switch (objective) {
    case Objective::time:
      return all / kSecondsPerHour;
    case Objective::energy:
    case Objective::throughput_per_watt:
      return all / kJoulesPerMegawattHour;
    case Objective::carbon:
      return all / kGramsPerTonne;
    case Objective::cost:
      break;
  }
  return all;
}

QString PlanScale::title(Objective objective) const { return tr("%1 for %2").arg(unit_of(objective), work); }

PlanScale scale_of(const Json& workload) {
  PlanScale out;
  out.work = tr("a million samples");
  WorkloadSpec training;
  Diagnostics ignored("");
  WorkloadSpec::fields().read(training, workload, "", ignored);
  const auto model =
      training.model.described ? training.model.described : find_model(training.model.preset, "", ignored);
  const int tokens = model && model->is_transformer() ? training.seq_len.value_or(model->default_seq_len) : 0;
  if (tokens <= 0) return out;
  out.samples = 1e9 / tokens;
  out.work = tr("a billion tokens");
  return out;
}

PlanScatter plan_scatter(const PlanAnswer& answer, const PlanScale& scale, const PlanAxes& axes,
                         const std::optional<std::set<std::size_t>>& kept) {
  PlanScatter out;
  out.exhibit.title = tr("Answers");
  const std::vector<PlanOption> options = options_of(answer);
  if (answer.candidates.empty()) {
    out.exhibit.remark = tr("No option keeps every limit. Below is what stood in the way.");
    for (const Fault& fault : answer.faults) out.exhibit.remark += QLatin1Char('\n') + qt(fault.text());
    return out;
  }
  out.exhibit.chart = scatter_of(scale, axes);
  out.exhibit.table.headings = {tr("#"),         tr("Servers"),  unit_of(axes.x), unit_of(axes.y),
                                tr("Step time"), tr("Strategy"), tr("Power"),     tr("What decides")};
  struct Drawn {
    ChartData::Series series;
    std::vector<std::size_t> options;
  };
  Drawn answers{new_series(tr("answers"), Hue::blue, false), {}};
  Drawn front{new_series(tr("Pareto front"), Hue::orange, true), {}};
  Drawn outside{new_series(tr("outside of the filter"), Hue::grey, true), {}};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const PlanOption& option = options[i];
    const bool is_kept = !kept || kept->contains(i);
    if (is_kept) {
      out.exhibit.table.rows.push_back(row_of(option, i, scale, axes));
      out.of_row.push_back(i);
    }
    const QPointF at(scale.shown(axes.x, *option.objective), scale.shown(axes.y, *option.objective));
    if (!std::isfinite(at.x()) || !std::isfinite(at.y())) continue;
    Drawn& drawn = !is_kept ? outside : option.candidate ? answers : front;
    drawn.series.points.push_back(at);
    drawn.series.tips << tr("%1. %2, %3: %4 h, %5 %6")
                             .arg(i + 1)
                             .arg(servers_of(option),
                                  option.candidate ? degrees_in_words(option.candidate->prediction.degrees)
                                                   : strategy_of(*option.scenario),
                                  shown_number(scale.shown(Objective::time, *option.objective)), shown_number(at.y()),
                                  scale.title(axes.y));
    drawn.options.push_back(i);
  }
  for (Drawn* drawn : {&outside, &front, &answers}) {
    if (drawn->options.empty()) continue;
    out.exhibit.chart.series.push_back(std::move(drawn->series));
    out.of_point.push_back(std::move(drawn->options));
  }
  if (out.exhibit.chart.series.empty()) {
    out.exhibit.remark = tr("Nothing is known of this pair: no price, or no grid of the site.");
    return out;
  }
  out.exhibit.remark =
      tr("%1 options looked at, %2 keep every limit%3. Click a point or press Enter on a row to put it on screen; drag "
         "over points to keep only those. Figures are for %4.")
          .arg(shown_whole(answer.tally.evaluated), shown_whole(answer.tally.feasible),
               answer.stopped ? tr(" (stopped early: the best so far)") : QString(), scale.work);
  if (kept) out.exhibit.remark += QLatin1Char(' ') + tr("%1 of %2 are kept.").arg(kept->size()).arg(options.size());
  return out;
}

Exhibit found_so_far(const std::vector<ObjectiveValues>& found, const PlanScale& scale, const PlanAxes& axes) {
  Exhibit out;
  out.title = tr("Answers so far");
  out.chart = scatter_of(scale, axes);
  out.table.headings = {unit_of(axes.x), unit_of(axes.y)};
  ChartData::Series series = new_series(tr("found so far, closed form"), Hue::sky, false);
  for (const ObjectiveValues& values : found) {
    const QPointF at(scale.shown(axes.x, values), scale.shown(axes.y, values));
    if (!std::isfinite(at.x()) || !std::isfinite(at.y())) continue;
    series.points.push_back(at);
    series.tips << QString();
    out.table.rows.push_back({count_cell(at.x(), shown_number(at.x())), count_cell(at.y(), shown_number(at.y()))});
  }
  if (!series.points.empty()) out.chart.series.push_back(std::move(series));
  return out;
}

Exhibit rejected_exhibit(const PlanAnswer& answer) {
  Exhibit out;
  out.title = tr("What became of every option");
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("% of the options");
  out.chart.legend = false;
  out.chart.y_from = 0;
  out.table.headings = {tr("Options"), tr("Share"), tr("Why")};
  ChartData::Series bars{.name = tr("options"), .hue = Hue::purple, .values = {}, .points = {}, .tips = {}};
  const auto row = [&](QString why, long options, const std::optional<NearestMiss>& nearest) {
    if (options == 0) return;
    const double share = static_cast<double>(options) / static_cast<double>(std::max(1L, answer.tally.evaluated));
    out.chart.categories << short_reason(why);
    if (nearest) why = tr("%1 (nearest: %2)").arg(why, qt(nearest->words));
    bars.values.push_back(share * 100);
    bars.tips << tr("%1: %2 options").arg(why, shown_whole(options));
    out.table.rows.push_back({{.text = shown_whole(options), .number = static_cast<double>(options)},
                              share_cell(share),
                              {.text = why, .tip = why}});
  };
  row(tr("keeps every limit"), answer.tally.feasible, {});
  for (std::size_t i = 0; i < kRejections; ++i)
    row(qt(EnumNames<Rejection>::names[i]), answer.tally.rejected[i],
        nearest_miss(answer.tally, static_cast<Rejection>(i)));
  if (!bars.values.empty()) out.chart.series.push_back(std::move(bars));
  return out;
}

}  // namespace stepcast
