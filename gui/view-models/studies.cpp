#include "gui/view-models/studies.hpp"

#include <QObject>
#include <algorithm>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

/// Sizes around the scenario's own: halves and doubles of it.
std::vector<int> sizes_around(int nodes) {
  std::vector<int> out{nodes};
  for (int size = nodes; size % 2 == 0 && out.size() < 9;) out.push_back(size /= 2);
  for (int size = nodes, doubled = 0; doubled < 4 && size <= 500'000; ++doubled) out.push_back(size *= 2);
  std::sort(out.begin(), out.end());
  return out;
}

QString first_fault(const Json& row) {
  return row.at("faults").empty() ? tr("not legal") : qt(row.at("faults").front().at("message").get<std::string>());
}

/// What a row promises: tokens where the model has them.
double throughput(const Json& row) {
  return row.at(row.at("tokens_per_s").is_number() ? "tokens_per_s" : "samples_per_s").get<double>();
}

FigureCell none() { return {.text = QStringLiteral("—"), .number = 0, .tone = Tone::muted}; }

std::vector<FigureCell> scaling_cells(const Json& row, bool here) {
  const Tone tone = here ? Tone::strong : Tone::plain;
  const int nodes = row.at("nodes");
  const FigureCell size{.text = shown_whole(nodes), .number = static_cast<double>(nodes), .tone = tone};
  if (!row.at("legal").get<bool>()) {
    const QString why = first_fault(row);
    return {size, none(), none(), none(), none(), {.text = why, .tone = Tone::muted, .tip = why}};
  }
  const double step = row.at("step_time_s"), efficiency = row.at("efficiency");
  const bool fits = row.at("fits");
  return {size,
          {.text = shown_count(throughput(row)),
           .number = throughput(row),
           .tone = tone,
           .unit = row.at("tokens_per_s").is_number() ? tr("tokens/s") : tr("samples/s")},
          figure_cell(Seconds(step), tone),
          share_cell(efficiency, tone),
          {.text = fits ? tr("fits") : tr("does not fit"), .tone = fits ? Tone::good : Tone::bad},
          {.text = tr("%1, %2").arg(qt(row.at("limited_by").get<std::string>()),
                                    shown_percent(row.at("limited_by_share").get<double>()))}};
}

}  // namespace

CommandStudy::Words scaling_words(const Scenario& scenario, ScalingMode mode) {
  QStringList sizes;
  for (const int size : sizes_around(scenario.spec.cluster.nodes)) sizes << QString::number(size);
  return {{QStringLiteral("scale")},
          {QStringLiteral("--nodes"), sizes.join(QLatin1Char(',')),
           mode == ScalingMode::weak ? QStringLiteral("--weak") : QStringLiteral("--strong"),
           QStringLiteral("--fidelity"), QStringLiteral("analytic")}};
}

CommandStudy::Words explanation_words(const Scenario&) { return {{QStringLiteral("explain")}, {}}; }

Exhibit scaling_exhibit(const Json& scaling, const QString& why_not, ScalingMode mode, int nodes_now) {
  Exhibit out;
  out.title = mode == ScalingMode::strong ? tr("Scaling with the same global batch (strong)")
                                          : tr("Scaling with the same batch per server (weak)");
  out.remark = why_not;
  if (!scaling.is_object()) return out;
  out.chart.kind = ChartData::Kind::lines;
  out.chart.x_title = tr("servers");
  out.chart.right_title = tr("efficiency, %");
  out.chart.logarithmic_x = out.chart.logarithmic_y = true;
  ChartData::Series rate{.name = tr("throughput"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  ChartData::Series ideal{
      .name = tr("if it were perfect"), .hue = Hue::grey, .values = {}, .points = {}, .dashed = true, .tips = {}};
  ChartData::Series efficiency{
      .name = tr("efficiency"), .hue = Hue::orange, .values = {}, .points = {}, .right_axis = true, .tips = {}};
  out.table.headings = {tr("Servers"),    tr("Throughput"), tr("Step time"),
                        tr("Efficiency"), tr("Memory"),     tr("What limits")};
  double per_node = 0, largest = 0, highest = 100;
  bool tokens = false, too_large = false;
  for (const Json& row : scaling.at("rows"))
    if (row.at("legal").get<bool>()) largest = std::max(largest, throughput(row));
  const double unit = largest > 2e6 ? 1e6 : largest > 2e3 ? 1e3 : 1;
  for (const Json& row : scaling.at("rows")) {
    const int nodes = row.at("nodes");
    out.table.rows.push_back(scaling_cells(row, nodes == nodes_now));
    if (!row.at("legal").get<bool>()) continue;
    tokens = row.at("tokens_per_s").is_number();
    const double efficient = row.at("efficiency");
    if (per_node == 0) per_node = throughput(row) / nodes;
    const QString tip =
        tr("%1: %2, efficiency %3")
            .arg(counted(nodes, tr("server"), tr("servers")), shown_count(throughput(row)), shown_percent(efficient));
    rate.points.emplace_back(nodes, throughput(row) / unit);
    ideal.points.emplace_back(nodes, per_node * nodes / unit);
    efficiency.points.emplace_back(nodes, efficient * 100);
    highest = std::max(highest, efficient * 100);
    const bool fits = row.at("fits");
    too_large = too_large || !fits;
    for (auto* series : {&rate, &ideal, &efficiency}) {
      series->tips << (fits ? tip : tr("%1, does not fit memory").arg(tip));
      series->muted.push_back(!fits);
    }
  }
  out.chart.y_title = (unit == 1e6   ? tr("million %1")
                       : unit == 1e3 ? tr("thousand %1")
                                     : QStringLiteral("%1"))
                          .arg(tokens ? tr("tokens/s") : tr("samples/s"));
  out.chart.right_to = highest;
  out.chart.series = {std::move(rate), std::move(ideal), std::move(efficiency)};
  out.remark = tr("%1 (%2). Closed form; what runs here is in bold.")
                   .arg(localized(qt(scaling.at("verdict").get<std::string>())),
                        localized(qt(scaling.at("rule").get<std::string>())));
  if (too_large) out.remark += QLatin1Char(' ') + tr("Sizes that do not fit memory are pale.");
  return out;
}

namespace {

FigureCell effect_cell(const Json& share, bool more_is_better) {
  if (!share.is_number()) return none();
  const double value = share.get<double>();
  const double good = more_is_better ? value : -value;
  return change_cell(value, good > 0.001 ? Tone::good : good < -0.001 ? Tone::bad : Tone::muted);
}

/// Bars to either side, the first ones of a list that is in order.
class Bars {
 public:
  explicit Bars(ChartData& chart) : chart_(chart) {
    chart_.kind = ChartData::Kind::horizontal_bars;
    chart_.x_title = tr("change of throughput, %");
    chart_.series = {{.name = tr("faster"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}},
                     {.name = tr("slower"), .hue = Hue::orange, .values = {}, .points = {}, .tips = {}}};
  }
  void add(const QString& words, double gain, bool fits = true) {
    if (static_cast<std::size_t>(chart_.categories.size()) >= kMostBars) return;
    chart_.categories << words;
    chart_.series[0].values.push_back(std::max(0.0, gain * 100));
    chart_.series[1].values.push_back(std::min(0.0, gain * 100));
    const QString figure = change_cell(gain).text;
    for (auto& series : chart_.series) {
      series.tips << QStringLiteral("%1: %2").arg(words, fits ? figure : tr("%1, does not fit memory").arg(figure));
      series.muted.push_back(!fits);
    }
  }

 private:
  ChartData& chart_;
};

QString joined(const Json& sentences) {
  QStringList out;
  for (const Json& sentence : sentences) out << localized(qt(sentence.get<std::string>()));
  return out.join(QLatin1Char(' '));
}

}  // namespace

Exhibit hardware_effects(const Json& explanation, const QString& why_not) {
  Exhibit out;
  out.title = tr("What hardware that is 10 % better brings");
  out.remark = why_not;
  if (!explanation.is_object()) return out;
  out.title =
      tr("What hardware that is %1 % better brings").arg(qRound(100 * explanation.at("figure_step").get<double>()));
  out.remark = joined(explanation.at("words"));
  out.table.headings = {tr("Figure"), tr("Throughput"), tr("Cost of a sample"), tr("Now")};
  Bars bars(out.chart);
  for (const Json& figure : explanation.at("figures")) {
    const QString words = sentence(qt(figure.at("words").get<std::string>()));
    bars.add(words, figure.at("throughput_change").get<double>());
    out.table.rows.push_back({{.text = words},
                              effect_cell(figure.at("throughput_change"), true),
                              effect_cell(figure.at("cost_per_sample_change"), false),
                              {.text = localized(qt(figure.at("value").get<std::string>())), .tone = Tone::muted}});
  }
  return out;
}

Exhibit setting_effects(const Json& explanation, const QString& why_not) {
  Exhibit out;
  out.title = tr("What other settings bring");
  out.remark = why_not;
  if (!explanation.is_object()) return out;
  out.remark = tr("One change at a time, by the closed form. Negative: slower. Pale: does not fit memory.");
  out.table.headings = {tr("Change"), tr("Throughput"), tr("Cost of a sample"), tr("Memory")};
  Bars bars(out.chart);
  for (const Json& setting : explanation.at("settings")) {
    const QString words = qt(setting.at("change").get<std::string>());
    if (!setting.at("legal").get<bool>()) {
      const QString why = qt(setting.at("refusal").get<std::string>());
      out.table.rows.push_back(
          {{.text = words, .tone = Tone::muted}, none(), none(), {.text = why, .tone = Tone::muted, .tip = why}});
      continue;
    }
    const bool fits = setting.at("fits");
    const double peak = setting.at("peak_GiB");
    bars.add(words, setting.at("throughput_change").get<double>(), fits);
    out.table.rows.push_back({{.text = words},
                              effect_cell(setting.at("throughput_change"), true),
                              effect_cell(setting.at("cost_per_sample_change"), false),
                              {.text = fits ? shown(peak * 1_GiB) : tr("%1, does not fit").arg(shown(peak * 1_GiB)),
                               .number = peak,
                               .tone = fits ? Tone::plain : Tone::bad,
                               .unit = tr("GiB")}});
  }
  return out;
}

}  // namespace stepcast
