#include <algorithm>
#include <array>

#include "fields/format_version.hpp"
#include "fields/plain_text.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/memory_format.hpp"

namespace stepcast {

namespace {

void erase_if_blank(Json& object, const char* key) {
  if (object[key].get_ref<const std::string&>().empty()) object.erase(key);
}

/// A file of several jobs lacks every key of a scenario, which is not what is wrong with it.
void refuse_jobs(const Json& document, Diagnostics& diagnostics) {
  if (!document.is_object() || !document.contains("jobs")) return;
  diagnostics.error("/jobs", "found a list of jobs on one fabric, expected one scenario", "stepcast share takes them");
  diagnostics.throw_if_faulty();
}

/// Ids that may be left out for a default; an empty one names nothing.
constexpr std::array kOptionalIds{"/cluster/storage",      "/cluster/site",
                                  "/cluster/cooling",      "/cluster/fabric/switch",
                                  "/strategy/framework",   "/strategy/parameter_servers/node",
                                  "/strategy/actors/node", "/run/reliability/published"};

bool is_empty_text(const Json& document, const Json::json_pointer& at) {
  if (!document.contains(at)) return false;
  const auto* text = document[at].get_ptr<const std::string*>();
  return text != nullptr && text->empty();
}

void refuse_empty_ids(const Json& document, Diagnostics& diagnostics) {
  for (const char* at : kOptionalIds)
    if (is_empty_text(document, Json::json_pointer(at)))
      diagnostics.error(at, "found \"\", expected an id", "leave it out for the default");
}

/// What was left empty in a specification means the default; an empty id would not.
void erase_empty_ids(Json& document) {
  for (const char* at : kOptionalIds) {
    const Json::json_pointer pointer(at);
    if (is_empty_text(document, pointer)) document[pointer.parent_pointer()].erase(pointer.back());
  }
}

}  // namespace

void settle_bucket(Scenario& s) {
  if (s.framework->bucket_parameters <= 0) return;
  FrameworkProfile settled = *s.framework;
  settled.bucket = settled.bucket_of(gradient_bytes(s), s.degrees.dp * s.degrees.cp);
  s.framework = std::make_shared<const FrameworkProfile>(std::move(settled));
}

void resolve_surface(Draft& draft) {
  resolve_references(draft);
  resolve_network(draft);
  resolve_communication(draft);
  resolve_workload(draft);
}

void resolve_strategy(Draft& draft) {
  check_offers(draft);
  resolve_degrees(draft);
  resolve_expert_dispatch(draft);
  resolve_pipeline(draft);
  resolve_batch(draft);
  resolve_sharding(draft);
  resolve_shard_group(draft);
  check_shared_weights(draft);
  check_shared_keys(draft);
  check_recompute(draft);
  check_offload(draft);
  check_optimizer(draft);
  check_narrow_attention(draft);
  resolve_update(draft);
  check_merging(draft);
  check_kernels(draft);
}

void resolve_parts(Draft& draft) {
  resolve_surface(draft);
  remark_calibrations(draft);
  resolve_strategy(draft);
  check_surroundings(draft);
  check_phases(draft);
  if (!draft.diagnostics.faults().empty()) return;
  settle_bucket(draft.scenario);
  remark_straddling(draft);
}

Scenario resolve(Json document, const std::string& file, const std::vector<std::string>& overrides,
                 const Catalog& catalog) {
  Diagnostics diagnostics(file);
  for (const std::string& assignment : overrides) apply_override(document, assignment, diagnostics);
  refuse_jobs(document, diagnostics);
  refuse_newer(document, kScenarioFormatVersion, "formats", diagnostics);
  refuse_control_characters(document, diagnostics);
  refuse_empty_ids(document, diagnostics);
  auto spec = read_document<ScenarioSpec>(document, diagnostics);
  if (!document.is_object()) diagnostics.throw_if_faulty();
  Draft draft(std::move(spec), catalog, diagnostics);
  resolve_parts(draft);
  resolve_conditions(draft);
  check_algorithm_runs(draft);
  if (diagnostics.faults().empty()) resolve_actors(draft);
  if (diagnostics.faults().empty()) resolve_phases(draft, document);
  diagnostics.throw_if_faulty();
  return std::move(draft.scenario);
}

Scenario load_scenario(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                       const Catalog& catalog) {
  Diagnostics diagnostics(file.string());
  Json document = read_json(file, diagnostics);
  diagnostics.throw_if_faulty();
  return resolve(std::move(document), file.string(), overrides, catalog);
}

Json to_json(const Scenario& scenario) {
  ScenarioSpec spec = scenario.spec;
  FabricSpec& fabric = spec.cluster.fabric;
  // What is stated of NICs holds for all kinds of nodes, so of several only what was stated.
  if (scenario.nics_per_node > 0 && scenario.other_kinds.empty()) {
    fabric.nics_per_node = scenario.nics_per_node;
    fabric.nic_bandwidth = scenario.nic_bandwidth;
    fabric.network = scenario.network;
  }
  if (scenario.model->is_transformer()) spec.workload.seq_len = scenario.seq_len;
  spec.workload.precision = scenario.precision;
  StrategySpec& strategy = spec.strategy;
  strategy.framework = scenario.framework->id;
  strategy.data_parallel = scenario.degrees.dp;
  strategy.micro_batch = static_cast<int>(scenario.degrees.micro_batch);
  strategy.schedule = scenario.schedule;
  if (scenario.degrees.pp > 1) strategy.stage_layers = scenario.stage_layers;
  strategy.context_method = scenario.context_method;
  strategy.sharding = scenario.sharding;
  if (scenario.degrees.ep > 1) strategy.expert_dispatch = scenario.expert_dispatch;
  if (!strategy.memory_format && !assumed_memory_format(scenario).empty())
    strategy.memory_format = memory_format(scenario);
  strategy.update = scenario.update;
  if (scenario.servers) strategy.parameter_servers = scenario.servers;
  if (scenario.sharding == Sharding::hsdp) strategy.hsdp_shard_size = scenario.shard_size;
  Json out = ScenarioSpec::fields().write(spec);
  erase_empty_ids(out);
  for (const char* key : {"$schema", "name", "description"}) erase_if_blank(out, key);
  return out;
}

}  // namespace stepcast
