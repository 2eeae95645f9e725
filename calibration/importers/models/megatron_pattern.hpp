#pragma once

#include <string>

#include "calibration/importers/models/megatron_arguments.hpp"

namespace stepcast {

/// Letters of the layers that --hybrid-layer-pattern names, without those of multi-token prediction behind slashes and
/// bars where pipeline stages end; empty where no option does. Letters of layers that have no description here are
/// faults.
std::string megatron_layer_pattern(MegatronArguments& in);

/// Layers of a decoder: as many as the pattern has letters, which --num-layers may not contradict, else what that says
/// (get_hybrid_total_layer_count in megatron/core/models/hybrid/hybrid_layer_allocation.py).
int megatron_layers(MegatronArguments& in, const std::string& pattern);

}  // namespace stepcast
