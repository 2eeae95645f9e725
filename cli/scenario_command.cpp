#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/scenario_document.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

namespace {

/// Checks every file and throws all their faults together.
void check(const std::vector<std::string>& files, Session& session) {
  std::vector<Fault> faults;
  Json good = Json::array();
  std::string text;
  for (const std::string& file : files) {
    try {
      (void)load_scenario(file, {}, session.catalog());
      good.push_back(file);
      text += fmt::format("{}: good\n", file);
    } catch (const InputError& error) {
      faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
  }
  if (!session.json && !text.empty()) session.print(text);
  if (!faults.empty()) throw InputError(std::move(faults));
  if (session.json) session.print(Json{{"good", std::move(good)}});
}

}  // namespace

void add_scenario(CLI::App& app, Session& session) {
  CLI::App* scenario = app.add_subcommand("scenario", "Check scenario files, and print their JSON Schema");
  scenario->require_subcommand(1);
  scenario->fallthrough();

  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* check_app =
      scenario->add_subcommand("check", "Say everything that is wrong with scenario files (exit code 2)");
  check_app->add_option("files", *files, "Scenario files")->required()->type_name("FILE");
  check_app->callback([files, &session] { check(*files, session); });

  CLI::App* schema = scenario->add_subcommand("schema", "Print the JSON Schema of scenario files");
  schema->callback([&session] { session.print(published_schema<ScenarioSpec>("Stepcast scenario")); });
}

}  // namespace stepcast
