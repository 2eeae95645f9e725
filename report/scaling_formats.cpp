#include <cmath>
#include <limits>

#include "report/csv.hpp"
#include "report/humane.hpp"
#include "report/json.hpp"
#include "report/scaling.hpp"
#include "report/svg.hpp"

namespace stepcast {

namespace {

double communication_share(const Prediction& p) { return p.communication.exposed / p.step_time; }

double waiting_share(const Prediction& p) { return (p.bubble + p.synchronization_wait) / p.step_time; }

std::string reasons(const ScalingRow& row) {
  std::string out;
  for (const Fault& fault : row.faults) out += (out.empty() ? "" : "; ") + fault.message;
  return out;
}

bool has_tokens(const Scaling& scaling) {
  for (const ScalingRow& row : scaling.rows)
    if (row.prediction && row.prediction->tokens_per_s > 0) return true;
  return false;
}

std::string rule_text() {
  return fmt::format("added nodes pay while each gives at least {:.0f} % of a node's throughput at the smallest size",
                     100 * kMarginalEfficiencyThatPays);
}

std::string verdict(const Scaling& scaling) {
  if (scaling.pays_until) return fmt::format("Adding nodes stops paying beyond {}", whole(*scaling.pays_until));
  for (auto row = scaling.rows.rbegin(); row != scaling.rows.rend(); ++row)
    if (row->prediction)
      return fmt::format("Adding nodes pays up to {}, the largest {}size asked for", whole(row->nodes),
                         row == scaling.rows.rbegin() ? "" : "possible ");
  return "No size is legal";
}

std::string row_text(const ScalingRow& row, bool tokens) {
  std::string out = pad_left(whole(row.nodes), 7);
  if (!row.prediction) return out + "  not possible: " + reasons(row) + "\n";
  const Prediction& p = *row.prediction;
  const auto [loss, share] = largest_loss(p);
  out += pad_left(whole(p.devices), 9) + pad_left(whole(row.global_batch), 9);
  out += pad_left(humane_count(tokens ? p.tokens_per_s : p.samples_per_s), 11) + pad_left(humane(p.step_time), 11);
  out += pad_left(percent(row.efficiency), 9) + pad_left(percent(communication_share(p)), 9);
  out += fmt::format("  {} {}", loss, share > 0 ? percent(share) : std::string());
  if (!p.memory.fits) out += " (does not fit)";
  return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
}

Json row_json(const ScalingRow& row) {
  Json out{{"nodes", row.nodes}, {"legal", row.prediction.has_value()}};
  if (!row.prediction) {
    out["faults"] = Json::array();
    for (const Fault& fault : row.faults)
      out["faults"].push_back(
          {{"pointer", fault.pointer}, {"message", fault.message}, {"suggestion", fault.suggestion}});
    return out;
  }
  const Json full = to_json(*row.prediction);
  const auto [loss, share] = largest_loss(*row.prediction);
  out["global_batch"] = row.global_batch;
  for (const char* key : {"devices", "step_time_s", "samples_per_s", "tokens_per_s", "model_tflops_per_gpu", "mfu"})
    out[key] = full.at(key);
  out["efficiency"] = row.efficiency;
  out["marginal_efficiency"] = row.marginal_efficiency ? Json(*row.marginal_efficiency) : Json(nullptr);
  out["communication_share"] = communication_share(*row.prediction);
  out["limited_by"] = loss;
  out["limited_by_share"] = share;
  out["fits"] = row.prediction->memory.fits;
  return out;
}

ChartSeries series(std::string name, const Scaling& scaling, double (*value)(const ScalingRow&)) {
  ChartSeries out{std::move(name), {}, false};
  for (const ScalingRow& row : scaling.rows)
    out.values.push_back(row.prediction ? value(row) : std::numeric_limits<double>::quiet_NaN());
  return out;
}

/// Throughput if every node did as well as one of the smallest legal size.
ChartSeries ideal(const Scaling& scaling, const ChartSeries& real) {
  ChartSeries out{"ideal", {}, true};
  double per_node = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < real.values.size(); ++i) {
    if (std::isnan(per_node) && std::isfinite(real.values[i])) per_node = real.values[i] / scaling.rows[i].nodes;
    out.values.push_back(per_node * scaling.rows[i].nodes);
  }
  return out;
}

}  // namespace

std::string scaling_text(const Scaling& scaling) {
  const bool tokens = has_tokens(scaling);
  std::string out = fmt::format(
      "{}, {} scaling: {}\n\n", scaling.scenario_name, name_of(scaling.mode),
      scaling.mode == ScalingMode::weak ? "the batch grows with the nodes" : "the global batch stays as it is");
  out += pad_left("nodes", 7) + pad_left("devices", 9) + pad_left("batch", 9) +
         pad_left(tokens ? "tokens/s" : "samples/s", 11) + pad_left("step", 11) + pad_left("effic.", 9) +
         pad_left("comm.", 9) + "  largest loss\n";
  for (const ScalingRow& row : scaling.rows) out += row_text(row, tokens);
  return out + fmt::format("\n{}\n({}).\n", verdict(scaling), rule_text());
}

Json scaling_json(const Scaling& scaling) {
  Json rows = Json::array();
  for (const ScalingRow& row : scaling.rows) rows.push_back(row_json(row));
  return {{"scenario", scaling.scenario_name},
          {"mode", name_of(scaling.mode)},
          {"pays_until_nodes", scaling.pays_until ? Json(*scaling.pays_until) : Json(nullptr)},
          {"verdict", verdict(scaling)},
          {"rule", rule_text()},
          {"rows", std::move(rows)}};
}

std::string scaling_csv(const Scaling& scaling) {
  const std::vector<std::string> columns{"nodes",
                                         "legal",
                                         "devices",
                                         "global_batch",
                                         "step_time_s",
                                         "samples_per_s",
                                         "tokens_per_s",
                                         "model_tflops_per_gpu",
                                         "mfu",
                                         "efficiency",
                                         "marginal_efficiency",
                                         "communication_share",
                                         "limited_by",
                                         "limited_by_share",
                                         "fits"};
  std::vector<std::string> header = columns;
  header.emplace_back("reason");
  std::string out = csv_line(header);
  for (const ScalingRow& row : scaling.rows) {
    const Json values = row_json(row);
    std::vector<std::string> cells;
    for (const std::string& column : columns) {
      const Json value = values.value(column, Json(nullptr));
      cells.push_back(value.is_null() ? std::string() : value.is_string() ? value.get<std::string>() : value.dump());
    }
    cells.push_back(reasons(row));
    out += csv_line(cells);
  }
  return out;
}

std::string scaling_svg(const Scaling& scaling) {
  const bool tokens = has_tokens(scaling);
  Drawing drawing{
      fmt::format("{}: {} scaling", scaling.scenario_name, name_of(scaling.mode)), verdict(scaling), "nodes", {}, {}};
  for (const ScalingRow& row : scaling.rows) drawing.positions.push_back(whole(row.nodes));
  ChartSeries throughput =
      tokens ? series("predicted", scaling, [](const ScalingRow& row) { return row.prediction->tokens_per_s; })
             : series("predicted", scaling, [](const ScalingRow& row) { return row.prediction->samples_per_s; });
  ChartSeries reference = ideal(scaling, throughput);
  drawing.panels.push_back({ChartKind::lines,
                            ChartScale::logarithmic,
                            tokens ? "throughput (tokens/s)" : "throughput (samples/s)",
                            {std::move(throughput), std::move(reference)}});
  drawing.panels.push_back({ChartKind::bars,
                            ChartScale::linear,
                            "share (%)",
                            {series("efficiency", scaling, [](const ScalingRow& row) { return 100 * row.efficiency; }),
                             series("exposed communication", scaling,
                                    [](const ScalingRow& row) { return 100 * communication_share(*row.prediction); }),
                             series("bubble and waits", scaling,
                                    [](const ScalingRow& row) { return 100 * waiting_share(*row.prediction); })}});
  return svg(drawing);
}

}  // namespace stepcast
