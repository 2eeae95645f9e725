#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/importers/kineto/kineto_step.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// What is made into a step graph.
struct KinetoGraphQuestion {
  std::vector<KinetoTrace> traces;  ///< of different ranks of one job
  std::optional<int> step;          ///< ProfilerStep#…; default: of median length
  std::optional<int> ranks;         ///< default: those of the job; others repeat the traced ones
  std::string node;                 ///< that was traced; empty: guessed from the device's name
};

/// Makes a step graph that replays the traced step and can be run on another cluster.
///
/// Kernels, copies and what the host does between its calls become operations, each behind what held it up: the call
/// that issued it, its stream, a kernel of another stream that ended when it began, or a synchronisation. On a known
/// node computation is stated as work (products, attention) or memory traffic (the rest) that takes as long there as it
/// was traced, and a collective with the size that does; so another device, fabric or number of ranks changes them.
/// Throws InputError.
RankGraph kineto_graph(const KinetoGraphQuestion& question, const Catalog& catalog);

/// Operator timings of traces, as probe results (docs/formats/probe-results.md).
Json kineto_results(const std::vector<KinetoTrace>& traces, const std::vector<std::string>& command);

}  // namespace stepcast
