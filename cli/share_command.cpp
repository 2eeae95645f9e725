#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/predictor.hpp"
#include "report/shared_jobs.hpp"
#include "sim/protocol/worker_client.hpp"

namespace stepcast {

namespace {

struct ShareOptions {
  std::vector<std::string> scenarios;
  std::vector<std::string> overrides;
  std::string mixing;
};

/// One file may hold all jobs; several are a job each.
ScenarioDocument document_of(const ShareOptions& options) {
  ScenarioDocument out{fmt::format("{}", fmt::join(options.scenarios, ", ")), Json::object()};
  if (options.scenarios.size() == 1) {
    out = read_scenario(options.scenarios.front(), options.overrides);
  } else {
    out.json["jobs"] = Json::array();
    for (const std::string& file : options.scenarios)
      out.json["jobs"].push_back(read_scenario(file, options.overrides).json);
  }
  if (!options.mixing.empty() && out.json.is_object()) out.json["mixing"] = options.mixing;
  return out;
}

void share(const ShareOptions& options, Session& session) {
  const SharedOutcome outcome = predict_shared(session, document_of(options));
  if (session.json) {
    session.print(to_json(outcome));
  } else {
    session.print(text_report(outcome));
  }
}

}  // namespace

void add_share(CLI::App& app, Session& session) {
  auto options = std::make_shared<ShareOptions>();
  CLI::App* share_app =
      app.add_subcommand("share", "Predict several jobs on one fabric: how much each slows the others down");
  share_app->add_option("scenarios", options->scenarios, "Scenario files, one a job; or one file {\"jobs\": [...]}")
      ->required()
      ->type_name("FILE");
  share_app
      ->add_option("--mixing", options->mixing,
                   "apart: each job on leaves of its own (default); interleaved: nodes dealt out in turn")
      ->check(CLI::IsMember(names_of<JobMixing>()));
  share_app->add_option("--set", options->overrides, "Override a value of every scenario (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  share_app->callback([options, &session] { share(*options, session); });
}

}  // namespace stepcast
