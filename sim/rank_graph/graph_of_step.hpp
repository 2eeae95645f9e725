#pragma once

#include "models/parallelism/job.hpp"
#include "models/rank_graph/rank_graph.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// A training step as a graph of ranks: one program for each pipeline stage, run by all ranks of it.
///
/// Segments become their operators (runs of computation between collectives are one operation), collectives keep their
/// payload and their group, messages between stages become a send and a receive. Where a stage waits for another
/// without data from it (the norm of all gradients, before they are applied), the stages meet in a barrier. Reading
/// input is stated as the time that it takes on idle links. The graph of the step must be the folded one of the job,
/// without replicas that are set apart. Throws InputError, without a file, when it is not.
RankGraph rank_graph_of(const Job& job, const StepGraph& graph);

}  // namespace stepcast
