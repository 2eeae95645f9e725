#pragma once

#include <string>
#include <vector>

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// A fault for each of the options that nobody asked for whose name speaks of experts, of latents, of widths of heads
/// or of dense layers: the model would be another one. Options known to change no shape, those that are read where a
/// model has their part, and those that say that there is none, are left to the note on unknown options.
void refuse_unread_sizes(MegatronArguments& in, const std::vector<std::string>& unread);

}  // namespace stepcast
