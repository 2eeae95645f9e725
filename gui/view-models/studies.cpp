#include "gui/view-models/studies.hpp"

#include <QObject>
#include <algorithm>
#include <functional>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "models/scenario/scenario.hpp"
#include "report/predict.hpp"

namespace stepcast {

namespace {

using Tone = FigureCell::Tone;

QString tr(const char* text) { return QObject::tr(text); }

/// A prediction of a changed scenario, or why there is none.
struct Trial {
  std::optional<Prediction> prediction;
  std::vector<Fault> faults;
};

Trial tried(const Json& document, const Catalog& catalog) {
  try {
    return {predict_analytic(resolve(document, "scenario", {}, catalog), catalog, MemoryAdvice::none), {}};
  } catch (const InputError& error) {
    return {std::nullopt, error.faults()};
  } catch (const std::exception& error) {
    return {std::nullopt, {{"scenario", "", error.what(), ""}}};
  }
}

/// Sizes around the scenario's own: halves and doubles of it.
std::vector<int> sizes_around(int nodes) {
  std::vector<int> out{nodes};
  for (int size = nodes; size % 2 == 0 && out.size() < 9;) out.push_back(size /= 2);
  for (int size = nodes, doubled = 0; doubled < 4 && size <= 500'000; ++doubled) out.push_back(size *= 2);
  std::sort(out.begin(), out.end());
  return out;
}

Scaling study(const ConfigurationModel& configuration, ScalingMode mode) {
  const Scenario& base = *configuration.scenario();
  const long batch = base.spec.workload.global_batch;
  std::vector<ScalingRow> rows;
  for (const int nodes : sizes_around(base.spec.cluster.nodes)) {
    ScalingRow row;
    row.nodes = nodes;
    Json document = configuration.document();
    document["cluster"]["nodes"] = nodes;
    if (document.contains("strategy")) document["strategy"].erase("data_parallel");
    row.global_batch = batch;
    if (mode == ScalingMode::weak) {
      row.global_batch = std::max(1L, batch * nodes / base.spec.cluster.nodes);
      document["workload"]["global_batch"] = row.global_batch;
    }
    Trial trial = tried(document, configuration.catalog());
    row.prediction = std::move(trial.prediction);
    row.faults = std::move(trial.faults);
    rows.push_back(std::move(row));
  }
  return scaling_of(base.spec.name, mode, std::move(rows));
}

double throughput(const Prediction& p) { return p.tokens_per_s > 0 ? p.tokens_per_s : p.samples_per_s; }

}  // namespace

Exhibit scaling_exhibit(const ConfigurationModel& configuration, ScalingMode mode) {
  Exhibit out;
  out.title = mode == ScalingMode::strong ? tr("Scaling with the same global batch (strong)")
                                          : tr("Scaling with the same batch per server (weak)");
  const Scaling scaling = study(configuration, mode);
  out.chart.kind = ChartData::Kind::lines;
  out.chart.x_title = tr("servers");
  out.chart.right_title = tr("efficiency, %");
  out.chart.logarithmic_x = out.chart.logarithmic_y = true;
  out.chart.right_to = 100;
  ChartData::Series rate{.name = tr("throughput"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  ChartData::Series ideal{
      .name = tr("if it were perfect"), .hue = Hue::grey, .values = {}, .points = {}, .dashed = true, .tips = {}};
  ChartData::Series efficiency{
      .name = tr("efficiency"), .hue = Hue::orange, .values = {}, .points = {}, .right_axis = true, .tips = {}};
  out.table.headings = {tr("Servers"),    tr("Throughput"), tr("Step time"),
                        tr("Efficiency"), tr("Memory"),     tr("What limits")};
  double per_node = 0, largest = 0;
  bool tokens = false;
  for (const ScalingRow& row : scaling.rows)
    if (row.prediction) largest = std::max(largest, throughput(*row.prediction));
  const double unit = largest > 2e6 ? 1e6 : largest > 2e3 ? 1e3 : 1;
  for (const ScalingRow& row : scaling.rows) {
    const bool here = row.nodes == configuration.scenario()->spec.cluster.nodes;
    const Tone tone = here ? Tone::strong : Tone::plain;
    const FigureCell size{.text = shown_whole(row.nodes), .number = static_cast<double>(row.nodes), .tone = tone};
    if (!row.prediction) {
      const QString why = row.faults.empty() ? tr("not legal") : qt(row.faults.front().message);
      out.table.rows.push_back({size,
                                {.text = QStringLiteral("—"), .number = 0, .tone = Tone::muted},
                                {.text = QStringLiteral("—"), .number = 0, .tone = Tone::muted},
                                {.text = QStringLiteral("—"), .number = 0, .tone = Tone::muted},
                                {.text = QStringLiteral("—"), .tone = Tone::muted},
                                {.text = why, .tone = Tone::muted, .tip = why}});
      continue;
    }
    const Prediction& p = *row.prediction;
    tokens = p.tokens_per_s > 0;
    if (per_node == 0) per_node = throughput(p) / row.nodes;
    const QString tip = tr("%1 servers: %2, efficiency %3")
                            .arg(shown_whole(row.nodes), shown_count(throughput(p)), shown_percent(row.efficiency));
    rate.points.emplace_back(row.nodes, throughput(p) / unit);
    ideal.points.emplace_back(row.nodes, per_node * row.nodes / unit);
    efficiency.points.emplace_back(row.nodes, row.efficiency * 100);
    for (auto* series : {&rate, &ideal, &efficiency}) series->tips << tip;
    const auto [loss, share] = largest_loss(p);
    out.table.rows.push_back(
        {size,
         {.text = shown_count(throughput(p)), .number = throughput(p), .tone = tone},
         {.text = shown(p.step_time), .number = p.step_time.value(), .tone = tone},
         {.text = shown_percent(row.efficiency), .number = row.efficiency, .tone = tone},
         {.text = p.memory.fits ? tr("fits") : tr("does not fit"), .tone = p.memory.fits ? Tone::good : Tone::bad},
         {.text = tr("%1, %2").arg(qt(loss), shown_percent(share))}});
  }
  out.chart.y_title = (unit == 1e6   ? tr("million %1")
                       : unit == 1e3 ? tr("thousand %1")
                                     : QStringLiteral("%1"))
                          .arg(tokens ? tr("tokens/s") : tr("samples/s"));
  out.chart.series = {std::move(rate), std::move(ideal), std::move(efficiency)};
  out.remark = scaling.pays_until
                   ? tr("Adding servers stops paying at %1: those beyond give less than half of what the first gave.")
                         .arg(*scaling.pays_until)
                   : tr("Adding servers pays over this whole range.");
  out.remark += QLatin1Char(' ') + tr("Closed form; what runs here is in bold.");
  return out;
}

namespace {

/// One thing that is changed: how the document changes, and in what words.
struct Change {
  QString what, how;
  std::function<void(Json&, const Scenario&)> apply;
};

void condition_of_all(Json& document, const Scenario& scenario, const char* key, double value) {
  Json nodes = Json::array();
  for (int i = 0; i < scenario.spec.cluster.nodes; ++i) nodes.push_back(i);
  document["cluster"]["conditions"].push_back({{"nodes", std::move(nodes)}, {key, value}});
}

std::vector<Change> changes(const Scenario& s) {
  std::vector<Change> out;
  const auto add = [&](const char* what, const char* how, std::function<void(Json&, const Scenario&)> apply) {
    out.push_back({tr(what), tr(how), std::move(apply)});
  };
  if (s.nics_per_node > 0) {
    add("Network rate", "doubled", [](Json& d, const Scenario& x) {
      d["cluster"]["fabric"]["nic_bandwidth_Gbps"] = x.nic_bandwidth.in(1_Gbps) * 2;
    });
    add("Network rate", "halved", [](Json& d, const Scenario& x) {
      d["cluster"]["fabric"]["nic_bandwidth_Gbps"] = x.nic_bandwidth.in(1_Gbps) / 2;
    });
    add("Oversubscription", "4 : 1", [](Json& d, const Scenario&) { d["cluster"]["fabric"]["oversubscription"] = 4; });
  }
  add("Servers", "doubled", [](Json& d, const Scenario& x) { d["cluster"]["nodes"] = x.spec.cluster.nodes * 2; });
  add("Global batch", "doubled",
      [](Json& d, const Scenario& x) { d["workload"]["global_batch"] = x.spec.workload.global_batch * 2; });
  add("Global batch", "halved",
      [](Json& d, const Scenario& x) { d["workload"]["global_batch"] = x.spec.workload.global_batch / 2; });
  add("Micro-batch", "doubled",
      [](Json& d, const Scenario& x) { d["strategy"]["micro_batch"] = x.degrees.micro_batch * 2; });
  if (s.degrees.micro_batch > 1)
    add("Micro-batch", "halved",
        [](Json& d, const Scenario& x) { d["strategy"]["micro_batch"] = x.degrees.micro_batch / 2; });
  for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
    if (recompute != s.spec.strategy.recompute)
      out.push_back({tr("Recomputation"), qt(name_of(recompute)),
                     [recompute](Json& d, const Scenario&) { d["strategy"]["recompute"] = name_of(recompute); }});
  if (s.spec.strategy.tensor_parallel > 1)
    add("Tensor parallel", "halved",
        [](Json& d, const Scenario& x) { d["strategy"]["tensor_parallel"] = x.degrees.tp / 2; });
  add("Tensor parallel", "doubled",
      [](Json& d, const Scenario& x) { d["strategy"]["tensor_parallel"] = x.degrees.tp * 2; });
  if (s.degrees.pp > 1)
    add("Pipeline parallel", "halved", [](Json& d, const Scenario& x) {
      d["strategy"]["pipeline_parallel"] = x.degrees.pp / 2;
      d["strategy"].erase("stage_layers");
    });
  if (s.spec.cluster.nodes <= 4096) {
    add("Devices", "10 % slower", [](Json& d, const Scenario& x) { condition_of_all(d, x, "compute_speed", 0.9); });
    add("Links inside servers", "half as fast",
        [](Json& d, const Scenario& x) { condition_of_all(d, x, "native_speed", 0.5); });
  }
  return out;
}

}  // namespace

Exhibit sensitivity_exhibit(const ConfigurationModel& configuration) {
  Exhibit out;
  out.title = tr("What throughput depends on");
  out.remark = tr("One change at a time, by the closed form. Negative: slower.");
  const Scenario& scenario = *configuration.scenario();
  const Prediction& base = *configuration.closed_form();
  struct Outcome {
    Change change;
    double gain;
    Prediction prediction;
  };
  std::vector<Outcome> outcomes;
  QStringList illegal;
  for (Change& change : changes(scenario)) {
    Json document = configuration.document();
    change.apply(document, scenario);
    Trial trial = tried(document, configuration.catalog());
    if (!trial.prediction) {
      illegal << QStringLiteral("%1 %2").arg(change.what.toLower(), change.how);
      continue;
    }
    const double gain = throughput(*trial.prediction) / throughput(base) - 1;
    outcomes.push_back({std::move(change), gain, std::move(*trial.prediction)});
  }
  std::stable_sort(outcomes.begin(), outcomes.end(),
                   [](const Outcome& a, const Outcome& b) { return a.gain > b.gain; });
  if (!illegal.isEmpty())
    out.remark += QLatin1Char(' ') + tr("Not legal here: %1.").arg(illegal.join(QStringLiteral(", ")));
  out.chart.kind = ChartData::Kind::horizontal_bars;
  out.chart.x_title = tr("change of throughput, %");
  ChartData::Series faster{.name = tr("faster"), .hue = Hue::blue, .values = {}, .points = {}, .tips = {}};
  ChartData::Series slower{.name = tr("slower"), .hue = Hue::orange, .values = {}, .points = {}, .tips = {}};
  out.table.headings = {tr("What"), tr("How"), tr("Throughput"), tr("Step time"), tr("Memory")};
  for (const Outcome& outcome : outcomes) {
    const QString words = QStringLiteral("%1 %2").arg(outcome.change.what, outcome.change.how);
    const QString percent = (outcome.gain >= 0 ? QStringLiteral("+") : QString()) + shown_percent(outcome.gain);
    out.chart.categories << words;
    faster.values.push_back(std::max(0.0, outcome.gain * 100));
    slower.values.push_back(std::min(0.0, outcome.gain * 100));
    for (auto* series : {&faster, &slower}) series->tips << QStringLiteral("%1: %2").arg(words, percent);
    const MemoryReport& memory = outcome.prediction.memory;
    out.table.rows.push_back(
        {{.text = outcome.change.what},
         {.text = outcome.change.how},
         {.text = percent,
          .number = outcome.gain,
          .tone = outcome.gain > 0.001    ? Tone::good
                  : outcome.gain < -0.001 ? Tone::bad
                                          : Tone::muted},
         {.text = shown(outcome.prediction.step_time), .number = outcome.prediction.step_time.value()},
         {.text = memory.fits ? tr("fits") : tr("does not fit"), .tone = memory.fits ? Tone::good : Tone::bad}});
  }
  out.chart.series = {std::move(faster), std::move(slower)};
  return out;
}

}  // namespace stepcast
