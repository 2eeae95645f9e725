#pragma once

#include "calibration/importers/models/megatron_model.hpp"

namespace stepcast {

/// Reads experts into a model's shape: how many, how wide, of which layers, and those that every token takes. Names are
/// those of Megatron-LM, Megatron-DeepSpeed, MindSpeed-LLM and Pai-Megatron-Patch.
void read_megatron_experts(MegatronArguments& in, MegatronModel& model);

}  // namespace stepcast
