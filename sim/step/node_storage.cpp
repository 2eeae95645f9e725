#include "sim/step/node_storage.hpp"

#include <limits>

#include "models/storage/storage.hpp"

namespace stepcast {

NodeStorage storage_in_state(const Job& job, int state) {
  const Scenario* slowest = nullptr;
  BytesPerSecond least;
  for (const NodeState& node : job.fold.states[static_cast<std::size_t>(state)]) {
    const Scenario& kind = on_kind(*job.scenario, node.kind);
    const BytesPerSecond rate = node_read_rate(kind).value_or(BytesPerSecond(std::numeric_limits<double>::infinity()));
    if (slowest != nullptr && rate >= least) continue;
    slowest = &kind;
    least = rate;
  }
  return {node_fetch_rate(*slowest), fetched_share(*slowest), reads_over_training_nics(*slowest)};
}

}  // namespace stepcast
