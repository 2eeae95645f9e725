#include "gui/view-models/plan_form.hpp"

#include <QObject>
#include <algorithm>
#include <set>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/document_edit.hpp"
#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/qt_text.hpp"
#include "planner/question.hpp"
#include "sweeps/values.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostCounts = 1000;
constexpr const char* kCountsExample = "8, 16 or 8..64*2";

/// Numbers of servers in the words of sweeps, as the question wants them.
Json counts_of(const QString& text, Diagnostics& diagnostics) {
  Json out = Json::array();
  if (text.trimmed().isEmpty()) {
    diagnostics.error(PlanForm::kCounts, "no number of servers is named", kCountsExample);
    return out;
  }
  Diagnostics own(diagnostics.file());
  for (Json& value : parse_values(plain(text), PlanForm::kCounts, own)) {
    if (value.is_number_integer())
      out.push_back(std::move(value));
    else
      own.error(PlanForm::kCounts, "found " + describe(value) + ", expected a whole number", kCountsExample);
  }
  if (out.size() > kMostCounts)
    own.error(PlanForm::kCounts,
              fmt::format("found {} numbers of servers, expected at most {}", out.size(), kMostCounts), kCountsExample);
  diagnostics.add(own.faults());
  return out;
}

void add_limit(Json& constraints, const char* key, const QString& text, Diagnostics& diagnostics) {
  if (text.trimmed().isEmpty()) return;
  bool number = false;
  const double value = typed_number(text).toDouble(&number);
  if (number) {
    constraints[key] = value;
  } else {
    diagnostics.error(std::string("/constraints/") + key, "found \"" + plain(text) + "\", expected a number");
  }
}

/// Keys of a cluster, and of a strategy, that a question has and that the window's form states. Which servers and how
/// many, degrees and what else is searched are the planner's to choose.
const std::set<std::string> kClusterKeys{"fabric", "storage", "site", "cooling", "power_cap_W", "clock_MHz"};
const std::set<std::string> kStrategyKeys{"framework",
                                          "context_method",
                                          "order",
                                          "overlap_tensor_parallel",
                                          "overlap_gradients",
                                          "overlap_parameter_gather",
                                          "fused_loss",
                                          "gradients_in_fp32",
                                          "fused_activation",
                                          "fused_norm",
                                          "fused_rotary",
                                          "attention_kernel",
                                          "optimizer",
                                          "parameters_in_16_bit",
                                          "torch_compile",
                                          "memory_format"};
/// What the planner chooses, or follows from that.
const std::set<std::string> kChosenKeys{"tensor_parallel",
                                        "pipeline_parallel",
                                        "context_parallel",
                                        "expert_parallel",
                                        "expert_tensor_parallel",
                                        "virtual_pipeline",
                                        "micro_batch",
                                        "schedule",
                                        "recompute",
                                        "sharding",
                                        "sequence_parallel",
                                        "offload_optimizer",
                                        "data_parallel",
                                        "stage_layers",
                                        "recompute_modules",
                                        "recompute_layers",
                                        "recompute_last_stage",
                                        "hsdp_shard_size",
                                        "offload_optimizer_device"};

/// The members of a part of the scenario whose keys are among these.
Json members(const Json& part, const std::set<std::string>& keys) {
  Json out = Json::object();
  if (!part.is_object()) return out;
  for (const auto& [key, value] : part.items())
    if (keys.contains(key)) out[key] = value;
  return out;
}

/// The others.
Json without(Json part, const std::set<std::string>& keys) {
  if (!part.is_object()) return Json::object();
  for (const std::string& key : keys) part.erase(key);
  return part;
}

QString label_of(const std::string& pointer) {
  const FormField* field = form_field(pointer);
  return field ? field->label : qt(pointer.substr(pointer.rfind('/') + 1));
}

/// The first of what a question lets the planner choose from.
Json first_choice(const Json& value) { return value.is_array() ? value.front() : value; }

/// Whole numbers of a question's cluster: a number, a list, or from … to.
std::vector<int> counts_in(const Json& cluster) {
  if (!cluster.contains("nodes")) return {1};
  Diagnostics none("plan");
  Counts out;
  Codec<Counts>::read(out, cluster.at("nodes"), "/nodes", "nodes", {}, none);
  return out.values;
}

QString limit_in(const Json& question, const char* key) {
  const Json limits = question.value("constraints", Json::object());
  return limits.contains(key) ? qt(limits.at(key).dump()) : QString();
}

}  // namespace

std::optional<Json> question_in(const std::filesystem::path& file, const Catalog& catalog) {
  Diagnostics faults(file.string());
  Json document = read_json(file, faults);
  if (!faults.ok() || !is_plan_question(document)) return std::nullopt;
  (void)read_plan_question(document, file.string(), {}, catalog);
  return document;
}

PlanForm form_of_question(const Json& question) {
  PlanForm out;
  QStringList servers, counts;
  std::set<int> all;
  for (const Json& cluster : question.at("clusters")) {
    const QString server = qt(cluster.at("node").get<std::string>());
    if (!servers.contains(server)) servers << server;
    for (const int count : counts_in(cluster)) all.insert(count);
  }
  for (const int count : all) counts << QString::number(count);
  out.servers = servers.join(QStringLiteral(", "));
  out.counts = counts.join(QStringLiteral(", "));
  const Json objective = question.value("objective", Json("time"));
  out.first_objective = qt(first_choice(objective).get<std::string>());
  if (objective.is_array() && objective.size() > 1) out.second_objective = qt(objective.at(1).get<std::string>());
  out.deadline_days = limit_in(question, "deadline_days");
  out.budget_of_run = limit_in(question, "budget_of_run_usd");
  out.budget_per_month = limit_in(question, "budget_usd_per_month");
  out.power_kW = limit_in(question, "power_kW");
  out.any_framework = !question.value("strategy", Json::object()).contains("framework");
  return out;
}

Json training_of_question(const Json& question) {
  const Json& first = question.at("clusters").front();
  Json out{{"workload", question.at("workload")}, {"cluster", members(first, kClusterKeys)}};
  if (question.contains("name")) out["name"] = question.at("name");
  out["workload"].erase("least_global_batch");
  Json strategy = members(question.value("strategy", Json()), kStrategyKeys);
  for (Json* part : {&out["cluster"], &strategy})
    for (auto& [key, value] : part->items()) value = first_choice(value);
  out["cluster"]["node"] = first.at("node");
  out["cluster"]["nodes"] = counts_in(first).front();
  if (!strategy.empty()) out["strategy"] = std::move(strategy);
  if (question.contains("run")) out["run"] = question.at("run");
  return out;
}

Json planned_surroundings(const Json& scenario) {
  return {{"workload", scenario.value("workload", Json())},
          {"cluster", members(scenario.value("cluster", Json()), kClusterKeys)},
          {"run", scenario.value("run", Json())}};
}

Json with_plan(const Json& scenario, const Json& surroundings, const Json& option) {
  Json out = scenario;
  for (const char* part : {"workload", "run"}) {
    out.erase(part);
    if (!surroundings.at(part).is_null()) out[part] = surroundings.at(part);
  }
  out["cluster"] = without(scenario.value("cluster", Json()), kClusterKeys);
  out["cluster"].update(surroundings.at("cluster"));
  for (const char* pointer : {"/cluster/node", "/cluster/nodes"})
    write_at(out, pointer, option.at(Json::json_pointer(pointer)));
  const Json& chosen = option.at("strategy");
  Json strategy = without(scenario.value("strategy", Json()), kChosenKeys);
  strategy.update(members(chosen, kChosenKeys));
  strategy.update(members(chosen, kStrategyKeys));
  out["strategy"] = std::move(strategy);
  return out;
}

QStringList taken_by_plans(const Json& scenario) {
  QStringList out;
  const auto add = [&](const std::string& part, const std::set<std::string>& keys) {
    const Json taken = members(scenario.value(part, Json()), keys);
    const std::string within = "/" + part + "/";
    for (const auto& [key, value] : taken.items()) out << label_of(within + key).toLower();
  };
  add("cluster", kClusterKeys);
  add("strategy", kStrategyKeys);
  if (scenario.contains("run")) out << QObject::tr("run");
  return out;
}

QStringList left_out_of_plans(const Json& scenario) {
  QStringList out;
  const auto add = [&](const std::string& part, const std::set<std::string>& taken,
                       const std::set<std::string>& chosen) {
    const Json left = without(without(scenario.value(part, Json()), taken), chosen);
    const std::string within = "/" + part + "/";
    for (const auto& [key, value] : left.items())
      if (!value.empty()) out << label_of(within + key).toLower();
  };
  add("cluster", kClusterKeys, {"node", "nodes"});
  add("strategy", kStrategyKeys, kChosenKeys);
  return out;
}

Json plan_question(const PlanForm& form, const ConfigurationModel& configuration) {
  Diagnostics diagnostics("plan");
  Json out{{"name", "Plan from the window"}, {"workload", configuration.value("/workload")}};
  if (out["workload"].is_null() || out["workload"].empty())
    diagnostics.error("/workload", "no model is chosen", "choose one in the form on the left");
  const Json counts = counts_of(form.counts, diagnostics);
  for (const QString& server : form.servers.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    Json cluster = members(configuration.value("/cluster"), kClusterKeys);
    cluster["node"] = plain(server.trimmed());
    cluster["nodes"] = counts;
    out["clusters"].push_back(std::move(cluster));
  }
  if (!out.contains("clusters"))
    diagnostics.error(PlanForm::kServers, "no server is named", "ids of the catalogue, apart by commas");
  out["objective"] = form.second_objective.isEmpty()
                         ? Json(plain(form.first_objective))
                         : Json::array({plain(form.first_objective), plain(form.second_objective)});
  Json constraints = Json::object();
  add_limit(constraints, "deadline_days", form.deadline_days, diagnostics);
  add_limit(constraints, "budget_of_run_usd", form.budget_of_run, diagnostics);
  add_limit(constraints, "budget_usd_per_month", form.budget_per_month, diagnostics);
  add_limit(constraints, "power_kW", form.power_kW, diagnostics);
  if (!constraints.empty()) out["constraints"] = std::move(constraints);
  Json strategy = members(configuration.value("/strategy"), kStrategyKeys);
  if (form.any_framework) strategy.erase("framework");
  if (!strategy.empty()) out["strategy"] = std::move(strategy);
  if (Json run = configuration.value("/run"); !run.is_null()) out["run"] = std::move(run);
  diagnostics.throw_if_faulty();
  return out;
}

}  // namespace stepcast
