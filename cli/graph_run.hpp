#pragma once

#include <string>

#include "cli/session.hpp"
#include "models/rank_graph/rank_graph.hpp"
#include "models/scenario/scenario.hpp"
#include "report/rank_run.hpp"

namespace stepcast {

/// Runs a step graph in the worker and prints what came of it; writes its trace when a file is named. Throws InputError
/// with every fault of the graph or the cluster.
void run_step_graph(Session& session, const RankRunQuestion& question, const std::string& trace);

/// Where a step is to be written down; an empty name is not asked for.
struct StepExport {
  std::string chakra;  ///< prefix of Chakra traces
  std::string graph;   ///< step-graph file
  [[nodiscard]] bool wanted() const { return !chakra.empty() || !graph.empty(); }
};

/// Writes a scenario's step, before it is run.
void export_step(const StepExport& where, const Scenario& scenario, const std::string& file);
/// Writes a step graph.
void export_step(const StepExport& where, const RankGraph& graph);

}  // namespace stepcast
