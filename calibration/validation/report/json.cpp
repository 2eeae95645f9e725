#include <fmt/format.h>

#include "calibration/validation/report/validation_scores.hpp"

namespace stepcast {

namespace {

Json counted_json(const std::map<std::string, int>& reasons) {
  Json out = Json::array();
  for (const auto& [reason, rows] : reasons) out.push_back({{"reason", reason}, {"rows", rows}});
  return out;
}

Json row_json(const PredictedRun& run) {
  Json parts = Json::object();
  for (const auto& [name, share] : run.parts) parts[name] = json_figure(share);
  return {{"id", run.run.id},
          {"line", run.run.line},
          {"metric", name_of(run.run.metric)},
          {"predicted", json_figure(run.predicted)},
          {"measured", run.run.measured},
          {"error_pct", json_figure(100 * run.error())},
          {"shares", std::move(parts)}};
}

Json group_json(const RankedGroup& group) {
  Json configurations = Json::array();
  for (const Configuration& one : group.configurations)
    configurations.push_back({{"id", one.run->run.id},
                              {"line", one.run->run.line},
                              {"predicted_s", json_figure(one.predicted.value())},
                              {"measured_s", json_figure(one.measured.value())}});
  return {{"group", group.name},
          {"kendall_tau", json_figure(group.kendall_tau)},
          {"regret_pct", json_figure(group.regret)},
          {"configurations", std::move(configurations)}};
}

Json accelerators_json(const SetScore& set) {
  Json out = Json::array();
  for (const auto& [accelerator, figures] : set.accelerators) {
    Json one{{"accelerator", accelerator}};
    one.update(figures_json(figures));
    out.push_back(std::move(one));
  }
  return out;
}

Json scaling_json(const SetScore& set) {
  Json out = Json::array();
  for (const auto& [framework, score] : set.scaling)
    out.push_back({{"framework", framework},
                   {"rows", score.rows},
                   {"gain_mape_pct", json_figure(score.mape)},
                   {"efficiency_points", json_figure(score.efficiency_points)}});
  return out;
}

Json set_json(const SetScore& set, RegretDetail detail) {
  Json out{{"name", set.name}};
  out.update(figures_json(set));
  out["doubtful"] = figures_json(set.doubtful);
  out["doubtful"]["doubts"] = counted_json(set.doubts);
  out["with_doubtful"] = figures_json(set.all);
  out["every_input_stated"] = figures_json(set.fully_stated);
  out["accelerators"] = accelerators_json(set);
  if (!set.scaling.empty()) out["scaling"] = scaling_json(set);
  out["not_covered"] = counted_json(set.reasons);
  out["worst"] = Json::array();
  for (const PredictedRun* run : set.worst) out["worst"].push_back(row_json(*run));
  if (detail == RegretDetail::groups) {
    out["groups"] = Json::array();
    for (const RankedGroup& group : set.groups) out["groups"].push_back(group_json(group));
  }
  return out;
}

}  // namespace

Json validation_json(const ValidationScores& scores, RegretDetail detail) {
  Json all = Json::array();
  for (const SetScore& set : scores.runs) all.push_back(set_json(set, detail));
  for (const OperatorSetScore& set : scores.operators) all.push_back(operator_json(set));
  for (const CollectiveScore& set : scores.collectives) all.push_back(collective_validation_json(set));
  Json out{{"fidelity", scores.fidelity}, {"sets", std::move(all)}};
  if (!scores.notes.empty()) out["notes"] = scores.notes;
  if (!scores.runs.empty()) {
    out["total"] = set_json(scores.total, RegretDetail::figures);
    out["total"].erase("name");
  }
  return out;
}

}  // namespace stepcast
