#include "models/parallelism/offload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/compute/host_link.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "models/parallelism/retained.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/storage/decimal_bytes.hpp"
#include "models/storage/rates.hpp"

namespace stepcast {

namespace {

// Where the catalogue does not say: an even share of eight DDR4-2666 channels among 8 devices.
constexpr BytesPerSecond kUnstatedHostMemory = 21.3_GBps;

// Of the memory's bandwidth, what processors reach that update with vector instructions on all cores: 10 billion
// parameters of 30 bytes in 2.57 s on two sockets of six DDR4-2666 channels (256 GB/s); 1 billion in 0.22 s reach 0.53,
// 8 billion in 2.41 s 0.39 (Ren et al. 2021, ZeRO-Offload, table of Adam latencies, DGX-2; recalled,
// not read again). Runs of Llama 8B with the optimizer on eight B200's hosts still spend more than this says.
constexpr double kHostUpdateShare = 0.46;

// What passes over a parameter beside the update itself: its gradient arrives in fp32 (4), is read and written once
// more to be scaled and clipped (8); the new value is read to be rounded (4), and the rounded one to be sent (2)
// (DeepSpeed, runtime/zero/stage3.py: partition_grads, unscale_and_clip_grads, the copy after the step).
constexpr double kHostPassBytes = 18;

// What ZeRO-Infinity swaps at a time, at most: sub_group_size of stage 3 (DeepSpeed, runtime/zero/config.py), and the
// buffers that it has for the tensors of one group: parameters, gradients and two moments (offload_config.py,
// buffer_count 4), in fp32.
constexpr double kSwappedParameters = 1e9;
constexpr double kSwapBuffers = 4;
// Of a parameter an update reads all four, and writes three: its gradient went to the drives beside the backward pass.
constexpr double kSwappedInBytes = 16, kSwappedOutBytes = 12;

/// Reading the groups' states from the node's drives and writing them back, neither of which goes beside the update
/// (offload_config.py: pipeline_read and pipeline_write are off).
Seconds swap_time(double parameters, const Scenario& scenario) {
  const double sharers = scenario.devices_per_node();
  return Bytes(kSwappedInBytes * parameters * sharers) / *local_read_rate(scenario) +
         Bytes(kSwappedOutBytes * parameters * sharers) / *local_write_rate(scenario);
}

BytesPerSecond host_memory_share(const Scenario& scenario) {
  const BytesPerSecond all = scenario.node->memory_bandwidth;
  return all > BytesPerSecond(0) ? all / static_cast<double>(scenario.devices_per_node()) : kUnstatedHostMemory;
}

/// Time of summing a layer's gradients on the host beside a backward pass, on average: each reduction after a step's
/// first adds to the sum, in the format in which gradients are reduced. DeepSpeed reads the sum back, adds on the
/// device and writes it again (runtime/zero/stage_1_and_2.py, async_accumulate_grad_in_cpu_via_gpu; stage3.py,
/// partition_grads); FSDP sends its gradients down and adds there (_fsdp_collectives.py, foreach_reduce).
Seconds summing_time(const LayerCost& cost, const Job& job) {
  const Scenario& scenario = *job.scenario;
  const SynchronizationPlan plan = synchronization_plan(scenario);
  if (!gradients_on_host(scenario, plan)) return Seconds(0);
  const long micro_batches = scenario.degrees.micro_batches;
  const double again =
      static_cast<double>(reductions_of(plan, micro_batches) - 1) / static_cast<double>(std::max(1L, micro_batches));
  const double owned = cost.parameters / std::max(1, job.groups.shard.size) +
                       cost.expert_parameters / std::max(1, job.groups.expert_data.size);
  const double each = gradient_bytes(scenario);
  const bool by_processors = plan.wrapped_layers && scenario.sharding != Sharding::zero3;
  return by_processors ? host_pass_time(again * owned, 3 * each, each, job)
                       : host_pass_time(again * owned, 0, 2 * each, job);
}

}  // namespace

Seconds offloaded_optimizer_time(double parameters, const Job& job) {
  const Scenario& scenario = *job.scenario;
  const Seconds on_host = host_pass_time(parameters, scenario.framework->optimizer_bytes_per_parameter + kHostPassBytes,
                                         gradient_bytes(scenario) + parameter_bytes(scenario), job);
  return offloads_to_drives(scenario) ? on_host + swap_time(parameters, scenario) : on_host;
}

Seconds host_pass_time(double parameters, double updated, double moved, const Job& job) {
  const Scenario& scenario = *job.scenario;
  return Bytes(parameters * updated) / (kHostUpdateShare * host_memory_share(scenario)) +
         Bytes(parameters * moved) / host_link_rate(scenario);
}

bool offloads_to_drives(const Scenario& scenario) {
  const StrategySpec& strategy = scenario.spec.strategy;
  return strategy.offload_optimizer && strategy.offload_optimizer_device == OffloadDevice::nvme;
}

Bytes swap_buffers(double parameters) {
  return Bytes(kSwapBuffers * sizeof(float) * std::min(parameters, kSwappedParameters));
}

std::optional<std::string> states_beyond_drives(const Job& job) {
  const Scenario& scenario = *job.scenario;
  if (!offloads_to_drives(scenario)) return std::nullopt;
  double owned = 0;
  for (int stage = 0; stage < scenario.degrees.pp; ++stage) owned = std::max(owned, owned_parameters(job, stage).all);
  const Bytes states(kSwappedInBytes * owned * scenario.devices_per_node());
  for (const NodeKind& kind : node_kinds(scenario))
    if (const auto room = local_capacity(*kind.scenario); room && states > *room)
      return fmt::format("the optimizer's states take {} of a node's drives, which hold {}", decimal_text(states),
                         decimal_text(*room));
  return std::nullopt;
}

bool gradients_on_host(const Scenario& scenario, const SynchronizationPlan& plan) {
  return scenario.spec.strategy.offload_optimizer && (plan.sharded_parameters || scenario.sharding == Sharding::zero2);
}

void add_offload_wait(LayerCost& cost, const Job& job) {
  const Scenario& scenario = *job.scenario;
  Seconds transfer = summing_time(cost, job);
  if (scenario.spec.strategy.offload_activations && is_block(cost.role)) {
    const Seconds waiting = retained(cost, scenario.spec.strategy).waiting / host_link_rate(scenario);
    cost.forward.add_wait(Wait::offload, waiting - cost.forward.total());
    transfer += waiting;
  }
  cost.backward_input.add_wait(Wait::offload, transfer - cost.backward());
}

}  // namespace stepcast
