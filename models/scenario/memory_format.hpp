#pragma once

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Order of the elements of a job's images: as stated; of sequences channels first, as PyTorch has no other; compiled,
/// the compiler's own choice (torch.compile puts channels last before convolutions); else channels last in 16 bit and
/// channels first in fp32 and TF32, as most published runs have it.
MemoryFormat memory_format(const Scenario& scenario);

/// Whether the order is a choice that changes anything: a network that convolves images.
bool has_memory_format(const Model& model);

/// Whether a job's images have channels first on devices where kernels were timed with them: NVIDIA's GPUs. Elsewhere
/// the orders are not told apart.
bool has_timed_channels_first(const Scenario& scenario);

/// What a forecast takes for granted of the order of images, for its list of assumptions; empty: nothing.
std::string assumed_memory_format(const Scenario& scenario);

}  // namespace stepcast
