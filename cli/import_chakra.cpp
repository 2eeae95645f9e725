#include "calibration/importers/chakra/import_chakra.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/import_kinds.hpp"
#include "cli/number_option.hpp"
#include "models/rank_graph/rank_graph_file.hpp"

namespace stepcast {

namespace {

struct ChakraOptions {
  std::string process_groups;
  int ranks = 0;
};

/// `3664 operations of 1 rank: 3643 compute, 2 broadcast, …`: collectives by their kind.
std::string summary_of(const RankGraph& graph) {
  std::map<std::string, std::size_t> counts;
  std::size_t operations = 0;
  for (const RankProgram& program : graph.programs)
    for (const RankOperation& operation : program.operations) {
      ++operations;
      std::string kind(operation.collective ? name_of(*operation.collective) : name_of(operation.kind));
      ++counts[operation.host ? "host " + kind : kind];
    }
  std::string out = fmt::format("step graph, {} operations in {} program{} for {}", operations, graph.programs.size(),
                                graph.programs.size() == 1 ? "" : "s",
                                graph.ranks ? fmt::format("{} ranks", *graph.ranks) : "any number of ranks");
  const char* separator = ": ";
  for (const auto& [kind, count] : counts) {
    out += fmt::format("{}{} {}", separator, count, kind);
    separator = ", ";
  }
  return out;
}

}  // namespace

ImportAction prepare_chakra(CLI::App& app) {
  auto options = std::make_shared<ChakraOptions>();
  app.add_option("--process-groups", options->process_groups,
                 "Which ranks are in which process group: {\"name\": [ranks], …}")
      ->type_name("FILE");
  app.add_option("--ranks", options->ranks, "How many ranks there are; those without a trace repeat one that has one")
      ->check(whole_number(1, kMostRanks))
      ->type_name("N");
  return [options](Session&, const ImportRequest& request) {
    ChakraImport chakra;
    chakra.files = request.files;
    if (!options->process_groups.empty()) chakra.process_groups = options->process_groups;
    if (options->ranks > 0) chakra.ranks = options->ranks;
    const RankGraph graph = import_chakra(chakra);
    Imported out;
    out.text = rank_graph_text(graph);
    out.summary = summary_of(graph);
    out.name = "step-graph.json";
    out.notes = graph.notes;
    return out;
  };
}

}  // namespace stepcast
