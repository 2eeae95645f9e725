#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/predictor.hpp"
#include "fields/data_directory.hpp"
#include "models/frameworks/framework.hpp"
#include "report/systems_table.hpp"

namespace stepcast {

namespace {

/// What all ways of training are compared on.
struct CommonGround {
  const char* node = "aws-p3dn.24xlarge";
  const char* device_node = "aws-p3.2xlarge";  ///< one of the node's devices; its 16 GB are enough here
  const char* processor_node = "rental-xeon-gold-5412u-128gb";  ///< for systems that run on processors alone
  int nodes = 8;
  const char* model = "bert-large";
  int seq_len = 128;
  int samples_per_node = 1024;
  int devices_per_node = 8;
  int micro_batch = 16;
};
constexpr CommonGround kGround;

std::string intro() {
  return fmt::format(
      "{} with sequences of {} tokens, {} samples a node and step, on {} nodes of {} (eight V100 of 32 GB, 100 "
      "Gb/s) and on one of their GPUs with its share; systems for processors alone on {} nodes of {} with 10 Gb/s, and "
      "on "
      "one.",
      kGround.model, kGround.seq_len, kGround.samples_per_node, kGround.nodes, kGround.node, kGround.nodes,
      kGround.processor_node);
}

struct SystemsOptions {
  bool markdown = false;
  int jobs = 0;
};

std::vector<std::filesystem::path> shipped_systems() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(data_directory("scenarios/systems")))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

bool on_accelerators(const std::string& framework) {
  Diagnostics ignored("stepcast systems");
  const auto profile = find_framework(framework, "/strategy/framework", ignored);
  return !profile || profile->on_accelerators;
}

/// The scenario's strategy on the common ground.
ScenarioDocument on_common_ground(const ScenarioDocument& own, int nodes) {
  ScenarioDocument out{own.file, Json::object()};
  out.json["format_version"] = 1;
  out.json["name"] = own.json.value("name", std::string());
  Json strategy = own.json.at("strategy");
  if (strategy.contains("actors")) strategy.erase("actors");  // the common model generates nothing
  // What fits a scenario's own model into its own devices says nothing here.
  for (const char* key : {"recompute", "recompute_modules", "recompute_layers", "recompute_last_stage",
                          "offload_optimizer", "offload_optimizer_device", "stage_layers"})
    strategy.erase(key);
  strategy["micro_batch"] = kGround.micro_batch;
  const bool accelerators = on_accelerators(strategy.value("framework", std::string()));
  out.json["cluster"] = {{"node", accelerators ? kGround.node : kGround.processor_node}, {"nodes", nodes}};
  if (!accelerators)
    out.json["cluster"]["fabric"] = {{"nics_per_node", 1}, {"nic_bandwidth_Gbps", 10}, {"network", "ethernet_tcp"}};
  out.json["workload"] = {
      {"model", kGround.model}, {"seq_len", kGround.seq_len}, {"global_batch", kGround.samples_per_node * nodes}};
  out.json["strategy"] = std::move(strategy);
  return out;
}

/// The framework with the same micro-batches on one device, which has nobody to exchange with.
ScenarioDocument on_one_device(const ScenarioDocument& common) {
  ScenarioDocument out = common;
  const Json& all = common.json.at("strategy");
  Json strategy{{"micro_batch", kGround.micro_batch}};
  for (const char* key : {"framework", "attention_kernel", "fused_activation", "fused_loss", "fused_norm",
                          "fused_rotary", "optimizer", "parameters_in_16_bit", "torch_compile"})
    if (all.contains(key)) strategy[key] = all.at(key);
  const bool accelerators = common.json.at("cluster").at("node") == kGround.node;
  out.json["cluster"] = {{"node", accelerators ? kGround.device_node : kGround.processor_node}, {"nodes", 1}};
  out.json["workload"]["global_batch"] = kGround.samples_per_node / (accelerators ? kGround.devices_per_node : 1);
  out.json["strategy"] = std::move(strategy);
  return out;
}

SystemRow row_of(const std::filesystem::path& file, const ScenarioDocument& own, const ScenarioDocument& common) {
  SystemRow row;
  row.scenario = file.stem().string();
  row.name = own.json.value("name", row.scenario);
  row.framework = own.json.at("strategy").value("framework", std::string());
  row.node = common.json.at("cluster").at("node").get<std::string>();
  row.nodes = kGround.nodes;
  return row;
}

std::vector<SystemRow> compared(const SystemsOptions& options, Session& session) {
  std::vector<SystemRow> rows;
  std::vector<ScenarioDocument> documents;
  for (const std::filesystem::path& file : shipped_systems()) {
    const ScenarioDocument own = read_scenario(file.string(), {});
    const ScenarioDocument common = on_common_ground(own, kGround.nodes);
    rows.push_back(row_of(file, own, common));
    documents.push_back(on_one_device(common));
    documents.push_back(common);
  }
  std::vector<PredictionOutcome> outcomes = predict_scenarios(session, documents, jobs_or_processors(options.jobs));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].one = std::move(outcomes[2 * i].prediction);
    rows[i].all = std::move(outcomes[2 * i + 1].prediction);
    rows[i].faults = std::move(outcomes[2 * i + 1].faults);
  }
  return rows;
}

void systems(const SystemsOptions& options, Session& session) {
  const std::vector<SystemRow> rows = compared(options, session);
  if (session.json) return session.print(systems_json(rows));
  session.print(options.markdown ? systems_markdown(rows, intro()) : systems_text(rows, intro()));
}

}  // namespace

void add_systems(CLI::App& app, Session& session) {
  auto options = std::make_shared<SystemsOptions>();
  CLI::App* command = app.add_subcommand(
      "systems", "Every shipped way of training on one cluster and model: rate, scaling, staleness, energy, cost");
  command->add_flag("--markdown", options->markdown, "Print docs/systems.md");
  add_jobs_option(*command, options->jobs, "Simulations at a time");
  command->callback([options, &session] { systems(*options, session); });
}

}  // namespace stepcast
