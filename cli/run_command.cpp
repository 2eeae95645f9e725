#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "checks/prometheus_text.hpp"
#include "cli/calibration_option.hpp"
#include "cli/commands.hpp"
#include "cli/detailed_prediction.hpp"
#include "cli/graph_run.hpp"
#include "cli/named_file.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "cli/predictor.hpp"
#include "cli/typed_command.hpp"
#include "models/fabric/most_nodes.hpp"
#include "models/power/facility.hpp"
#include "models/rank_graph/rank_graph_file.hpp"
#include "models/scenario/default_scenario.hpp"
#include "models/scenario/scenario.hpp"
#include "models/updates/timeline_fault.hpp"
#include "report/csv.hpp"
#include "report/html/run_report.hpp"
#include "report/json.hpp"
#include "report/text.hpp"

namespace stepcast {

namespace {

struct RunOptions {
  std::string scenario;
  std::vector<std::string> overrides;
  std::string model, node;
  int nodes = 1;
  std::string fidelity, granularity;
  bool csv = false;
  std::string trace, write_scenario, prometheus, html;
  std::string graph;
  StepExport step_export;
  bool nodes_given = false;
};

ScenarioDocument document_of(const RunOptions& options, Session& session) {
  std::vector<std::string> overrides = options.overrides;
  add_option_override(overrides, "--fidelity", "run.fidelity", options.fidelity);
  add_option_override(overrides, "--granularity", "run.granularity", options.granularity);
  if (!options.scenario.empty()) return read_scenario(options.scenario, overrides);
  if (options.model.empty() || options.node.empty())
    throw InputError(
        {{"stepcast run", "", "no scenario to run", "name a scenario file, or give --model, --node and --nodes"}});
  ScenarioDocument out{"--model/--node/--nodes", scenario_without_strategy(options.model, options.node, options.nodes)};
  apply_overrides(out, overrides);
  out.json = completed_scenario(out.json, out.file, session.catalog());
  return out;
}

/// Without a file nobody has chosen a strategy, so the report says which was taken and why.
std::string strategy_taken(const Json& document) {
  std::string out;
  for (const auto& [key, value] : document.at("strategy").items())
    out += fmt::format("{}{} {}", out.empty() ? "strategy: " : ", ", key,
                       value.is_string() ? value.get<std::string>() : value.dump());
  return fmt::format("{} ({})", out, document.value("description", std::string()));
}

/// A step graph brings its own work: of a scenario only the cluster counts, or a node alone is named.
void run_graph(const RunOptions& options, Session& session) {
  if (!options.model.empty() || !options.fidelity.empty() || !options.granularity.empty() || options.csv ||
      !options.write_scenario.empty() || !options.html.empty() || !options.prometheus.empty())
    throw InputError(
        {{"stepcast run --graph", "",
          "--model, --fidelity, --granularity, --csv, --html, --prometheus and --write-scenario belong to scenarios",
          ""}});
  RankRunQuestion question{
      options.graph, options.scenario.empty() ? options.node : options.scenario, {}, options.overrides};
  if (question.cluster.empty())
    throw InputError(
        {{"stepcast run --graph", "", "no cluster to run on", "name a scenario file, or give --node and --nodes"}});
  if (options.nodes_given) question.nodes = options.nodes;
  if (options.step_export.wanted()) export_step(options.step_export, read_rank_graph(options.graph));
  run_step_graph(session, question, options.trace);
}

/// "128 × dgx-a100-80gb: 8 × a100-sxm-80gb a node, 8 NICs of 200 Gb/s (infiniband)"
std::string cluster_words(const Scenario& scenario) {
  const Node& node = *scenario.node;
  std::string out = fmt::format("{} × {}: {} × {} a node", scenario.spec.cluster.nodes, node.id, node.devices(),
                                node.has_accelerators() ? node.accelerator : node.cpu);
  if (scenario.nics_per_node > 0)
    out += fmt::format(", {} NICs of {:g} Gb/s ({})", scenario.nics_per_node, scenario.nic_bandwidth.in(1_Gbps),
                       name_of(scenario.network));
  return out + ", " + scenario.framework->title;
}

/// Writes the page of a prediction.
Prediction predict_with_page(const RunOptions& options, const ScenarioDocument& document,
                             const std::optional<std::filesystem::path>& trace, Session& session) {
  DetailedPrediction predicted = predict_in_detail(session, document, trace);
  const Scenario scenario = resolve(document.json, document.file, {}, session.catalog());
  const Prediction& prediction = predicted.prediction;
  RunPage page{prediction,
               std::move(predicted.detail),
               throughput_by_size(scenario, session.catalog()),
               cluster_cost(scenario, session.catalog(), helper_nodes(scenario, session.catalog(), prediction.updates),
                            prediction.average_power, fabric_bill(scenario, session.catalog()).price),
               cluster_words(scenario),
               to_json(scenario).dump(2),
               typed_command()};
  write_file(options.html, html_report(page));
  return std::move(predicted.prediction);
}

/// A step of which there is nothing to write.
void refuse_without_timeline(const ScenarioDocument& document, Session& session) {
  std::optional<Fault> fault = timeline_fault(resolve(document.json, document.file, {}, session.catalog()));
  if (!fault) return;
  fault->file = document.file;
  throw InputError({*fault});
}

void run(const RunOptions& options, Session& session) {
  if (session.json && options.csv)
    throw InputError({{"--json", "", "there is one form of output", "leave out --json or --csv"}});
  const std::string& chakra = options.step_export.chakra;
  const std::vector<OutputFile> outputs{{"--trace", options.trace},
                                        {"--html", options.html},
                                        {"--prometheus", options.prometheus},
                                        {"--write-scenario", options.write_scenario},
                                        {"--export-graph", options.step_export.graph},
                                        {"--export-chakra", chakra.empty() ? "" : chakra + ".groups.json"}};
  keep_inputs(outputs, {options.scenario, options.graph}, session);
  check_output_files(outputs);
  if (!options.graph.empty()) return run_graph(options, session);
  const ScenarioDocument document = document_of(options, session);
  if (!options.write_scenario.empty()) {
    const Scenario scenario = resolve(document.json, document.file, {}, session.catalog());
    write_file(options.write_scenario, to_json(scenario).dump(2) + "\n");
  }
  if (!options.trace.empty() || options.step_export.wanted()) refuse_without_timeline(document, session);
  if (options.step_export.wanted())
    export_step(options.step_export, resolve(document.json, document.file, {}, session.catalog()), document.file);
  const auto trace = options.trace.empty() ? std::nullopt : std::optional<std::filesystem::path>(options.trace);
  Prediction prediction = options.html.empty() ? predict_scenario(session, document, trace)
                                               : predict_with_page(options, document, trace, session);
  if (options.scenario.empty())
    prediction.assumptions.insert(prediction.assumptions.begin(), strategy_taken(document.json));
  if (!options.prometheus.empty()) {
    const std::string name = options.scenario.empty() ? prediction.scenario_name : options.scenario;
    write_file(options.prometheus, prometheus_text({{name, &prediction}}));
  }
  if (session.json) {
    Json out = to_json(prediction);
    out["settings"] = settings_of(resolve(document.json, document.file, {}, session.catalog()));
    session.print(out);
  } else if (options.csv) {
    session.print(csv_header() + csv_row(prediction));
  } else {
    session.print(text_report(prediction));
  }
}

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* run_app = app.add_subcommand("run", "Predict one training step and print the report");
  auto* file = run_app->add_option("scenario", options->scenario, "Scenario file")->type_name("FILE");
  run_app->add_option("--set", options->overrides, "Override a value of the scenario: cluster.nodes=64 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  auto* model = run_app->add_option("--model", options->model, "Without a file: a model preset (stepcast models list)")
                    ->type_name("ID");
  auto* node = run_app->add_option("--node", options->node, "Without a file: a node (stepcast catalog list nodes)")
                   ->type_name("ID");
  auto* nodes = run_app->add_option("--nodes", options->nodes, "Without a file: how many nodes; default 1")
                    ->check(whole_number(1, static_cast<long>(kMostNodes)))
                    ->type_name("K");
  for (CLI::Option* option : {model, node, nodes}) option->excludes(file);
  run_app->add_option("--fidelity", options->fidelity, "simulated: step graph on the engine; analytic: closed form")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  run_app
      ->add_option("--granularity", options->granularity, "segment: fused runs of operators; operator: each on its own")
      ->check(CLI::IsMember(names_of<Granularity>()));
  run_app->add_flag("--csv", options->csv, "Print a header and one row of CSV");
  run_app->add_option("--trace", options->trace, "Write the step's timeline for ui.perfetto.dev")
      ->check(named_file())
      ->type_name("FILE");
  run_app->add_option("--prometheus", options->prometheus, "Write the forecast as Prometheus text")
      ->check(named_file())
      ->type_name("FILE");
  run_app
      ->add_option("--html", options->html,
                   "Write the report as one self-contained page: figures, timeline, scaling, memory, cost")
      ->check(named_file())
      ->type_name("FILE");
  run_app->add_option("--write-scenario", options->write_scenario, "Write the scenario with every default spelt out")
      ->check(named_file())
      ->type_name("FILE");
  run_app
      ->add_option("--graph", options->graph,
                   "Run this step graph instead of a model (stepcast import chakra), on the cluster of the scenario or "
                   "of --node and --nodes")
      ->check(named_file())
      ->type_name("FILE");
  run_app
      ->add_option("--export-chakra", options->step_export.chakra,
                   "Write the step as Chakra traces, PREFIX.RANK.et, and PREFIX.groups.json")
      ->check(named_file())
      ->type_name("PREFIX");
  run_app->add_option("--export-graph", options->step_export.graph, "Write the step as a step graph (for --graph)")
      ->check(named_file())
      ->type_name("FILE");
  add_calibration_option(*run_app, session);
  run_app->callback([options, nodes, &session] {
    options->nodes_given = nodes->count() > 0;
    run(*options, session);
  });
}

}  // namespace stepcast
