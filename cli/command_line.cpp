#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "cli/catalog_command.hpp"
#include "cli/commands.hpp"
#include "cli/examples.hpp"
#include "cli/explain_commands.hpp"
#include "sim/protocol/exit_code.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

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

/// What stands where a subcommand belongs: the first word that is neither an option of all commands nor its value.
std::string first_word(int argc, const char* const* argv) {
  int at = 1;
  while (at < argc && (std::string_view(argv[at]) == "--json" || std::string_view(argv[at]).starts_with("--catalog")))
    at += std::string_view(argv[at]) == "--catalog" ? 2 : 1;
  return at < argc ? argv[at] : "";
}

void require_known_subcommand(const CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  const std::string wanted = first_word(argc, argv);
  if (wanted.empty() || wanted[0] == '-' || std::find(names.begin(), names.end(), wanted) != names.end()) return;
  const std::string nearest = did_you_mean(wanted, names);
  throw InputError({{"stepcast", "", fmt::format("there is no subcommand \"{}\"", wanted),
                     nearest.empty() ? expected_one_of(names) : nearest}});
}

/// A subcommand and what adds it.
struct Command {
  std::string_view name;
  void (*add)(CLI::App&, Session&);
};
constexpr std::array kCommands{
    Command{"run", add_run},
    Command{"explain", add_explain},
    Command{"compare", add_compare},
    Command{"scale", add_scale},
    Command{"scenario", add_scenario},
    Command{"catalog", add_catalog},
    Command{"models", add_models},
    Command{"frameworks", add_frameworks},
    Command{"validate", add_validate},
    Command{"fabric", add_fabric},
    Command{"share", add_share},
    Command{"plan", add_plan},
    Command{"systems", add_systems},
    Command{"goodput", add_goodput},
    Command{"study", add_study},
    Command{"collective", add_collective},
    Command{"import", add_import},
    Command{"serve", add_serve},
    Command{"sweep", add_sweep},
    Command{"check", add_check},
    Command{"calibrate", add_calibrate},
};

/// Describing every command takes longer than most answers, so one that is typed is described alone.
bool wanted(std::string_view command, std::string_view typed) {
  const auto is_typed = [&](const Command& each) { return each.name == typed; };
  return command == typed || std::none_of(kCommands.begin(), kCommands.end(), is_typed);
}

void configure(CLI::App& app, Session& session, std::string_view typed) {
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
  for (const Command& command : kCommands)
    if (wanted(command.name, typed)) command.add(app, session);
  // They print what the commands say of themselves, so they come with all of them.
  if (wanted("", typed)) add_manual(app, session);
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
    configure(app, session, argc > 1 ? argv[1] : "");
    return parse_and_run(app, session, argc, argv);
  } catch (const InputError& error) {
    return report(session, error.faults(), exit_code_of(error));
  } catch (const std::exception& error) {
    const ExitCode code = exit_code_of(error);
    return report(session, fmt::format("{}{}", code == kInternalError ? "internal error: " : "", error.what()), code);
  }
}

}  // namespace stepcast
