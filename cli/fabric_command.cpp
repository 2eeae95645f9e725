#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/number_option.hpp"
#include "cli/output_files.hpp"
#include "models/fabric/most_nodes.hpp"
#include "report/fabric_report.hpp"

namespace stepcast {

namespace {

struct FabricOptions {
  FabricQuestion question;
  std::string preset, format = "graphviz", output;
  std::optional<double> oversubscription;
};

FabricQuestion question_of(const FabricOptions& options) {
  FabricQuestion question = options.question;
  const bool named = !question.node.empty();
  if (question.scenario.empty() != named)
    throw InputError({{"command line", "", named ? "found a scenario and --node" : "no fabric is named",
                       "give a scenario file, or --node and --nodes"}});
  if (named && question.nodes == 0) throw InputError({{"--nodes", "", "is missing", "say how many nodes: --nodes 32"}});
  if (!named && question.nodes > 0) question.overrides.push_back(fmt::format("cluster.nodes={}", question.nodes));
  if (!options.preset.empty()) question.overrides.push_back("cluster.fabric.preset=" + options.preset);
  if (options.oversubscription)
    question.overrides.push_back(fmt::format("cluster.fabric.oversubscription={}", *options.oversubscription));
  return question;
}

FabricReport describe(const FabricOptions& options, Session& session) {
  return describe_fabric(question_of(options), session.catalog());
}

void add_fabric_options(CLI::App& app, FabricOptions& options) {
  app.add_option("scenario", options.question.scenario, "Scenario whose cluster it is");
  app.add_option("--node", options.question.node, "Catalogue id of the servers, instead of a scenario")
      ->type_name("ID");
  app.add_option("--nodes", options.question.nodes, "How many")
      ->check(whole_number(1, static_cast<long>(kMostNodes)))
      ->type_name("N");
  app.add_option("--preset", options.preset, "How they are joined; default: fat-tree, or the scenario's")
      ->check(CLI::IsMember(names_of<FabricPreset>()));
  app.add_option("--oversubscription", options.oversubscription, "Capacity of a leaf's down-links over its up-links")
      ->check(number_between(1, 1000))
      ->type_name("RATIO");
  app.add_option("--set", options.question.overrides, "Set a key: cluster.fabric.nodes_per_leaf=16 (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
}

void add_fabric_show(CLI::App& app, Session& session) {
  const auto options = std::make_shared<FabricOptions>();
  CLI::App* show = app.add_subcommand("show", "Tiers, parts, bisection and diameter of a fabric");
  add_fabric_options(*show, *options);
  show->callback([&session, options] {
    const FabricReport report = describe(*options, session);
    if (session.json) return session.print(fabric_json(report));
    session.print(fabric_text(report));
  });
}

void add_fabric_check(CLI::App& app, Session& session) {
  const auto options = std::make_shared<FabricOptions>();
  CLI::App* check = app.add_subcommand("check", "What is wrong with a fabric; exit code 1 for a fault");
  add_fabric_options(*check, *options);
  check->callback([&session, options] {
    const FabricReport report = describe(*options, session);
    if (session.json)
      session.print(fabric_json(report));
    else
      session.print(fabric_check_text(report));
    if (report.faulty()) session.exit_code = 1;
  });
}

void add_fabric_export(CLI::App& app, Session& session) {
  const auto options = std::make_shared<FabricOptions>();
  CLI::App* out = app.add_subcommand("export", "Every vertex and link of a fabric, for drawing or other programs");
  add_fabric_options(*out, *options);
  out->add_option("--format", options->format, "graphviz or json")->check(CLI::IsMember({"graphviz", "json"}));
  out->add_option("-o,--output", options->output, "File to write; default: standard output")->type_name("FILE");
  out->callback([&session, options] {
    keep_inputs({{"--output", options->output}}, {options->question.scenario}, session);
    const FabricReport report = describe(*options, session);
    const bool json = session.json || options->format == "json";
    const std::string text = json ? fabric_graph_json(report.fabric).dump(1) + "\n" : fabric_graphviz(report.fabric);
    if (options->output.empty()) return session.print(text);
    write_file(options->output, text);
  });
}

}  // namespace

void add_fabric(CLI::App& app, Session& session) {
  CLI::App* fabric = app.add_subcommand("fabric", "The network of a cluster: its tiers, parts and links");
  fabric->require_subcommand(1);
  fabric->fallthrough();
  add_fabric_show(*fabric, session);
  add_fabric_check(*fabric, session);
  add_fabric_export(*fabric, session);
}

}  // namespace stepcast
