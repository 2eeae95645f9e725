#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/scenario_document.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

Json fault_json(const Fault& fault) {
  return {{"pointer", fault.pointer}, {"message", fault.message}, {"suggestion", fault.suggestion}};
}

/// Checks every file; what is wrong is the result of this command, so it goes to standard output.
void check(const std::vector<std::string>& files, Session& session) {
  Json results = Json::array();
  std::string text;
  for (const std::string& file : files) {
    Json faults = Json::array();
    try {
      (void)load_scenario(file, {}, session.catalog());
      text += fmt::format("{}: good\n", file);
    } catch (const InputError& error) {
      for (const Fault& fault : error.faults()) faults.push_back(fault_json(fault));
      text += fmt::format("{}\n", error.what());
      session.exit_code = 1;
    }
    results.push_back({{"file", file}, {"good", faults.empty()}, {"faults", std::move(faults)}});
  }
  if (session.json) return session.print(Json{{"files", std::move(results)}});
  session.print(text);
}

}  // namespace

void add_scenario(CLI::App& app, Session& session) {
  CLI::App* scenario = app.add_subcommand("scenario", "Check scenario files, and print their JSON Schema");
  scenario->require_subcommand(1);
  scenario->fallthrough();

  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* check_app =
      scenario->add_subcommand("check", "Say everything that is wrong with scenario files; exit code 1 if anything is");
  check_app->add_option("files", *files, "Scenario files")->required()->type_name("FILE");
  check_app->callback([files, &session] { check(*files, session); });

  CLI::App* schema = scenario->add_subcommand("schema", "Print the JSON Schema of scenario files");
  schema->callback([&session] { session.print(published_schema<ScenarioSpec>("Stepcast scenario")); });
}

}  // namespace stepcast
