#include "models/storage/storage.hpp"

#include <algorithm>

#include "models/compute/host_link.hpp"
#include "models/storage/input_pipeline.hpp"
#include "models/storage/rates.hpp"

namespace stepcast {

namespace {

/// Reads that the page cache answers are not free, but memory is a thousand times faster than a network drive.
constexpr double kLeastMisses = 1e-3;
/// Pageable copies run at 0.3–0.6 of the pinned rate (links pcie-pageable-copy), middle.
constexpr double kPageable = 0.45;

bool has_storage_nics(const Node& node) {
  return std::any_of(node.nics.begin(), node.nics.end(), [](const Nic& nic) { return !nic.training; });
}

double fetched(const InputPipeline& pipeline) { return std::max(kLeastMisses, 1 - pipeline.cached); }

Bytes of_step(const Scenario& scenario, Bytes sample) {
  // Every rank of a model replica's first stage reads the replica's samples once; tensor ranks share them by broadcast.
  return sample * (static_cast<double>(scenario.spec.workload.global_batch) / scenario.devices());
}

}  // namespace

bool stores_over_training_nics(const Scenario& scenario) {
  return scenario.storage != nullptr && !has_storage_nics(*scenario.node);
}

bool reads_shared(const Scenario& scenario) {
  return scenario.storage != nullptr && scenario.spec.workload.input.source != InputSource::local;
}

bool reads_over_training_nics(const Scenario& scenario) {
  return stores_over_training_nics(scenario) && reads_shared(scenario);
}

std::optional<BytesPerSecond> node_read_rate(const Scenario& scenario) {
  const InputPipeline pipeline = own_input_pipeline(scenario);
  std::optional<BytesPerSecond> rate = pipeline.local ? local_read_rate(scenario) : shared_read_rate(scenario);
  if (!rate && !pipeline.local) rate = way_to_shared(scenario);
  if (rate) *rate /= fetched(pipeline);
  for (const InputLimit& limit : pipeline.limits) {
    if (limit.stage != InputStage::requests && limit.stage != InputStage::decode) continue;
    const BytesPerSecond of_node(limit.samples_per_s * pipeline.sample.value() / pipeline.nodes());
    rate = rate ? std::min(*rate, of_node) : of_node;
  }
  return rate;
}

double fetched_share(const Scenario& scenario) { return fetched(own_input_pipeline(scenario)); }

std::optional<BytesPerSecond> node_fetch_rate(const Scenario& scenario) {
  std::optional<BytesPerSecond> rate = node_read_rate(scenario);
  if (rate) *rate *= fetched_share(scenario);
  return rate;
}

std::optional<BytesPerSecond> input_copy_rate(const Scenario& scenario) {
  if (scenario.accelerator == nullptr) return std::nullopt;
  const BytesPerSecond link = host_link_rate(scenario);
  return scenario.spec.workload.input.pinned ? link : link * kPageable;
}

Bytes input_per_device(const Scenario& scenario) { return of_step(scenario, stored_sample(scenario)); }

Bytes copied_per_device(const Scenario& scenario) {
  const InputSpec& input = scenario.spec.workload.input;
  return input.device_sample ? of_step(scenario, *input.device_sample) : input_per_device(scenario);
}

Seconds input_time(const Scenario& scenario) {
  if (!(input_per_device(scenario) > Bytes(0))) return Seconds(0);
  const InputPipeline pipeline = input_pipeline(scenario);
  const InputLimit* slowest = pipeline.slowest();
  if (slowest == nullptr) return Seconds(0);
  return Seconds(static_cast<double>(scenario.spec.workload.global_batch) / slowest->samples_per_s);
}

}  // namespace stepcast
