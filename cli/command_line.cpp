#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/catalog_command.hpp"
#include "cli/commands.hpp"
#include "cli/examples.hpp"
#include "cli/explain_commands.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

enum ExitCode { kDone = 0, kBadInput = 2, kEnvironmentMissing = 3, kInternalError = 4 };

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 a check failed, 2 bad input, 3 environment missing, 4 internal error.";

Json json_of(const std::vector<Fault>& faults) {
  Json out = Json::array();
  for (const Fault& fault : faults)
    out.push_back({{"file", fault.file},
                   {"pointer", fault.pointer},
                   {"message", fault.message},
                   {"suggestion", fault.suggestion}});
  return {{"errors", std::move(out)}};
}

/// One line a fault on standard error and, for scripts that asked for JSON, all of them as one object on standard
/// output.
int report(Session& session, const std::vector<Fault>& faults, int code) {
  // A closed standard error is no reason to fail otherwise; fmt::print would throw.
  for (const Fault& fault : faults) std::fputs((fault.text() + "\n").c_str(), stderr);
  if (session.json) {
    try {
      session.print(json_of(faults));
    } catch (const std::exception&) {
      return kEnvironmentMissing;  // standard error has said it already
    }
  }
  return code;
}

int report(Session& session, const std::string& message, int code) {
  return report(session, {{"stepcast", "", message, ""}}, code);
}

/// What CLI11 found wrong, as one line.
std::string parse_message(const CLI::App& app, const CLI::ParseError& error) {
  std::string message = error.what();
  for (char& c : message)
    if (c == '\n') c = ' ';
  const CLI::App* at = &app;
  std::string command = "stepcast";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  return fmt::format("{}; see {} --help", message, command);
}

void require_known_subcommand(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string wanted = argc > 1 ? argv[1] : "";
  if (wanted.empty() || wanted[0] == '-' || std::find(names.begin(), names.end(), wanted) != names.end()) return;
  const std::string nearest = did_you_mean(wanted, names);
  throw InputError({{"stepcast", "", fmt::format("there is no subcommand \"{}\"", wanted),
                     nearest.empty() ? expected_one_of(names) : nearest}});
}

void configure(CLI::App& app, Session& session) {
  app.name("stepcast");
  app.require_subcommand(1);
  app.fallthrough();
  app.set_version_flag("--version", fmt::format("stepcast {}", kVersion));
  app.add_option("--catalog", session.catalog_directories,
                 "Directory of own catalogue entries, before the shipped ones")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->check(CLI::ExistingDirectory.description(""));
  app.add_flag("--json", session.json, "Print JSON, errors included");
  app.footer(kFooter);
  add_run(app, session);
  add_explain(app, session);
  add_compare(app, session);
  add_scale(app, session);
  add_scenario(app, session);
  add_catalog(app, session);
  add_models(app, session);
  add_frameworks(app, session);
  add_validate(app, session);
  add_fabric(app, session);
  add_share(app, session);
  add_plan(app, session);
  add_systems(app, session);
  add_goodput(app, session);
  add_study(app, session);
  add_collective(app, session);
  add_import(app, session);
  add_serve(app, session);
  add_manual(app, session);
  add_sweep(app, session);
  add_check(app, session);
  add_calibrate(app, session);
  add_examples(app);
}

int parse_and_run(CLI::App& app, Session& session, int argc, const char* const* argv) {
  try {
    require_known_subcommand(app, argc, argv);
    app.parse(argc, argv);
    return session.exit_code;
  } catch (const CLI::CallForVersion& version) {
    session.print(std::string(version.what()) + "\n");
    return kDone;
  } catch (const CLI::CallForHelp&) {
    const CLI::App* at = &app;
    std::string before;
    while (!at->get_subcommands().empty()) {
      before += (before.empty() ? "" : " ") + at->get_name();
      at = at->get_subcommands().front();
    }
    session.print(at->help(before));
    return kDone;
  } catch (const CLI::CallForAllHelp&) {
    session.print(app.help("", CLI::AppFormatMode::All));
    return kDone;
  } catch (const CLI::ParseError& error) {
    return report(session, parse_message(app, error), kBadInput);
  }
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  Session session;
  try {
    CLI::App app{
        "Forecasts a distributed training step before anyone buys, rents or reconfigures the cluster that runs it."};
    configure(app, session);
    return parse_and_run(app, session, argc, argv);
  } catch (const InputError& error) {
    return report(session, error.faults(), kBadInput);
  } catch (const EnvironmentError& error) {
    return report(session, error.what(), kEnvironmentMissing);
  } catch (const std::exception& error) {
    return report(session, fmt::format("internal error: {}", error.what()), kInternalError);
  }
}

}  // namespace stepcast
