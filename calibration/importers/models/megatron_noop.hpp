#pragma once

#include <set>
#include <string>
#include <vector>

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// Layers, from 0, that MindSpeed-LLM's --noop-layers counts among `layers` and that do nothing: they fill stages up.
/// Those that the model does not have, and all of them at once, are faults.
std::set<int> megatron_noop_layers(MegatronArguments& in, int layers);

/// One character a layer, without those that do nothing.
std::string without_noop_layers(const std::string& letters, const std::set<int>& noops);

/// Takes them out of the layers of each chunk, which are in model order.
void leave_out_noop_layers(std::vector<int>& of_chunks, const std::set<int>& noops);

}  // namespace stepcast
