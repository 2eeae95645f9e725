#pragma once

#include <optional>
#include <string>

#include "models/parallelism/job.hpp"

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

/// Waits in a block's passes for activations on their way to or from host memory, where the link is slower than the
/// computation beside it. Nothing without offload_activations.
void add_offload_wait(LayerCost& cost, const Job& job);

}  // namespace stepcast
