#include "models/storage/storage.hpp"

#include <algorithm>

namespace stepcast {

namespace {

BytesPerSecond storage_nics(const Node& node) {
  BytesPerSecond sum;
  for (const Nic& nic : node.nics)
    if (!nic.training) sum += nic.bandwidth * nic.count;
  return sum;
}

}  // namespace

bool reads_over_training_nics(const Scenario& scenario) {
  return scenario.storage != nullptr && storage_nics(*scenario.node) <= BytesPerSecond(0);
}

std::optional<BytesPerSecond> node_read_rate(const Scenario& scenario) {
  if (const StoragePart* shared = scenario.storage) {
    std::optional<BytesPerSecond> rate = shared->read;
    // A system whose clients' rate is not known gives one of them all it has.
    if (!rate) rate = shared->aggregate_read;
    const BytesPerSecond nics = storage_nics(*scenario.node);
    if (rate && nics > BytesPerSecond(0)) rate = std::min(*rate, nics);
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
