#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <thread>

#include "cli/calibration_option.hpp"
#include "cli/commands.hpp"
#include "cli/jobs_option.hpp"
#include "cli/output_files.hpp"
#include "cli/predictor.hpp"
#include "cli/size_list.hpp"
#include "models/scenario/at_size.hpp"
#include "report/scaling.hpp"

namespace stepcast {

namespace {

struct ScaleOptions {
  std::string scenario, nodes;
  std::vector<std::string> overrides;
  std::string fidelity;
  bool weak = false, strong = false, csv = false;
  std::string svg;
  int jobs = 0;
};

/// The batch at one size: weak scaling keeps that of a node. Null with a fault where it is not whole.
std::optional<long> batch_of(ScalingRow& row, const ScenarioSpec& base, ScalingMode mode, const std::string& file) {
  const long own = base.workload.global_batch;
  if (mode == ScalingMode::strong) return own;
  const std::optional<long> batch = batch_at_size(base, row.nodes);
  if (!batch) {
    const int nodes = base.cluster.nodes;
    row.faults.push_back({file, "/workload/global_batch",
                          fmt::format("a batch of {} on {} nodes is {:.2f} on {}, which is not whole", own, nodes,
                                      static_cast<double>(own) * row.nodes / nodes, row.nodes),
                          ""});
  }
  return batch;
}

Scaling study(const ScaleOptions& options, Session& session) {
  if (session.json && options.csv)
    throw InputError({{"--json", "", "there is one form of output", "leave out --json or --csv"}});
  const ScalingMode mode = options.weak ? ScalingMode::weak : ScalingMode::strong;
  const std::vector<int> sizes = parse_sizes(options.nodes);
  std::vector<std::string> overrides = options.overrides;
  add_option_override(overrides, "--fidelity", "run.fidelity", options.fidelity);
  const ScenarioDocument scenario = read_scenario(options.scenario, overrides);
  // A scenario that is faulty at its own size is bad input; one that only some sizes make illegal has rows that say so.
  const Scenario base = resolve(scenario.json, scenario.file, {}, session.catalog());
  std::vector<ScalingRow> rows;
  std::vector<ScenarioDocument> documents;
  std::vector<std::size_t> row_of;
  for (const int nodes : sizes) {
    ScalingRow& row = rows.emplace_back();
    row.nodes = nodes;
    const std::optional<long> batch = batch_of(row, base.spec, mode, scenario.file);
    if (!batch) continue;
    row.global_batch = *batch;
    documents.push_back({scenario.file, at_size(scenario.json, nodes, *batch)});
    row_of.push_back(rows.size() - 1);
  }
  std::vector<PredictionOutcome> outcomes = predict_scenarios(session, documents, jobs_or_processors(options.jobs));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    rows[row_of[i]].prediction = std::move(outcomes[i].prediction);
    rows[row_of[i]].faults = std::move(outcomes[i].faults);
  }
  return scaling_of(base.spec.name.empty() ? options.scenario : base.spec.name, mode, std::move(rows));
}

void scale(const ScaleOptions& options, Session& session) {
  const std::vector<OutputFile> outputs{{"--svg", options.svg}};
  keep_inputs(outputs, {options.scenario}, session);
  check_output_files(outputs);
  const Scaling scaling = study(options, session);
  if (!options.svg.empty()) write_file(options.svg, scaling_svg(scaling));
  if (session.json) {
    session.print(scaling_json(scaling));
  } else {
    session.print(options.csv ? scaling_csv(scaling) : scaling_text(scaling));
  }
}

}  // namespace

void add_scale(CLI::App& app, Session& session) {
  auto options = std::make_shared<ScaleOptions>();
  CLI::App* scale_app = app.add_subcommand(
      "scale",
      "Predict a scenario on several numbers of nodes: throughput, efficiency, what limits, where it stops paying");
  scale_app->add_option("scenario", options->scenario, "Scenario file")->required()->type_name("FILE");
  scale_app->add_option("--nodes", options->nodes, "Sizes: 1,2,4..128 or 4..128*2 doubles up to 128; 1..8 is every one")
      ->required()
      ->type_name("LIST");
  auto* weak = scale_app->add_flag("--weak", options->weak, "The global batch grows with the nodes");
  scale_app->add_flag("--strong", options->strong, "The global batch stays as it is (default)")->excludes(weak);
  scale_app->add_option("--set", options->overrides, "Override a value of the scenario (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  scale_app->add_option("--fidelity", options->fidelity, "simulated or analytic")
      ->check(CLI::IsMember(names_of<Fidelity>()));
  scale_app->add_flag("--csv", options->csv, "Print CSV");
  scale_app->add_option("--svg", options->svg, "Draw throughput and efficiency")->type_name("FILE");
  add_jobs_option(*scale_app, options->jobs, "Simulations at a time");
  add_calibration_option(*scale_app, session);
  scale_app->callback([options, &session] { scale(*options, session); });
}

}  // namespace stepcast
