#pragma once

#include <string_view>

#include "fields/diagnostics.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// Whether a text begins as a workload of ASTRA-sim 1.0: with the name of a kind of parallelism.
bool is_astra_workload(std::string_view text);

/// The step that a text workload of ASTRA-sim 1.0 describes, one program for all NPUs: forward through the layers, then
/// backward, weight gradients before input gradients; weight gradients' collectives run beside what follows, the others
/// hold it up. Compute times are cycles of 1 ns; a layer's last number delays what waits for its collectives. Which
/// NPUs a collective joins follows from the kind of parallelism: all, runs of `model_parallel_NPU_group` (or of the
/// first dimension, `innermost`) neighbours, or every so-many-th.
///
/// Faults, with the line: an unknown kind, a number of layers that is not that of the lines, words that are missing or
/// no numbers, unknown collectives, a group that does not divide the NPUs. Source of the format: ASTRA-sim 1.0's
/// documentation of workload inputs; of the order: its Workload.cc, iterate_hybrid_parallel_Transformer and others.
RankGraph read_astra_workload(std::string_view text, int npus, int innermost, Diagnostics& diagnostics);

}  // namespace stepcast
