#include "models/storage/storage.hpp"

#include <algorithm>

namespace stepcast {

std::optional<BytesPerSecond> node_read_rate(const Scenario& scenario) {
  if (const StoragePart* shared = scenario.storage) {
    std::optional<BytesPerSecond> rate = shared->read;
    if (shared->aggregate_read) {
      const BytesPerSecond share = *shared->aggregate_read / scenario.spec.cluster.nodes;
      rate = rate ? std::min(*rate, share) : share;
    }
    return rate;
  }
  const auto& local = scenario.node->local_storage;
  if (!local) return std::nullopt;
  if (local->read_GBps) return local->read_GBps;
  if (scenario.local_drive && scenario.local_drive->read) return *scenario.local_drive->read * local->count;
  return std::nullopt;
}

Bytes input_per_device(const Scenario& scenario) {
  // Every rank of a model replica's first stage reads the replica's samples once; tensor ranks share them by broadcast.
  const double samples = static_cast<double>(scenario.spec.workload.global_batch) / scenario.devices();
  return scenario.model->sample_bytes * samples;
}

}  // namespace stepcast
