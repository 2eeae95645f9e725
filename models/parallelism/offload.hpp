#pragma once

#include <optional>
#include <string>

#include "models/parallelism/job.hpp"
#include "models/parallelism/synchronization.hpp"

namespace stepcast {

/// Whether the optimizer's states lie on the nodes' own drives.
bool offloads_to_drives(const Scenario& scenario);

/// Host memory through which the states of `parameters` of one device pass on their way from and to drives.
Bytes swap_buffers(double parameters);

/// That the nodes' own drives hold less than the states that they are to hold, in words. Null where they do not, or
/// where nobody says what they hold.
std::optional<std::string> states_beyond_drives(const Job& job);

/// Time of an optimizer step over `parameters` of one device whose states lie in host memory: gradients go down and
/// parameters up the host link, and the processors scale the gradients, stream the states and round the parameters at
/// 0.46 of the device's share of the host memory's bandwidth (ZeRO-Offload, Ren et al. 2021, section 4.1).
/// States on drives are read before and written after it, at the rate that the node's devices share (ZeRO-Infinity,
/// Rajbhandari et al. 2021).
Seconds offloaded_optimizer_time(double parameters, const Job& job);

/// Time of a host's pass over `parameters` of one device: `moved` bytes of each cross the host link, and processors
/// stream `updated` bytes of it at that share of the memory's bandwidth.
Seconds host_pass_time(double parameters, double updated, double moved, const Job& job);

/// Whether gradients lie in host memory beside the optimizer's states: those that are sharded.
bool gradients_on_host(const Scenario& scenario, const SynchronizationPlan& plan);

/// Waits in a layer's passes for what is on its way to or from host memory, where the link is slower than the
/// computation beside it: activations of blocks under offload_activations, and gradients that are summed on the host
/// over a step's micro-batches.
void add_offload_wait(LayerCost& cost, const Job& job);

}  // namespace stepcast
