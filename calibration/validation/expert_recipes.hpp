#pragma once

#include <string_view>

namespace stepcast {

/// What NVIDIA's recipes set for a mixture of experts and the tables of their results do not print.
struct ExpertRecipe {
  std::string_view model;      ///< as the rows name it
  std::string_view precision;  ///< the same
  std::string_view accelerators;
  std::string_view since;        ///< first release that sets it, as containers are numbered
  long least_gpus = 0;           ///< the recipes of fewer do not set it
  bool whole_iteration = false;  ///< captured as one CUDA graph, with experts' products fused and attention in 8 bit
  bool overlaps = true;          ///< experts' all_to_alls run beside another micro-batch's computation
};

/// models/frameworks/profiles: of recipes that capture whole iterations.
inline constexpr std::string_view kWholeIterationProfile = "megatron-bridge-26.06-graphs";

/// The recipe of a run, which overlaps experts' all_to_alls (strategy.overlap_expert_parallel), captures whole
/// iterations, or both; null where none does either.
const ExpertRecipe* find_expert_recipe(std::string_view model, std::string_view precision, std::string_view accelerator,
                                       long gpus, std::string_view release);

/// Whether NVIDIA's recipe dispatches tokens by DeepEP or HybridEP (strategy.expert_dispatch):
/// moe_flex_dispatcher_backend.
bool dispatches_once(std::string_view model, std::string_view precision, std::string_view accelerator,
                     std::string_view release);

/// Blocks of multi-token prediction that Megatron-Bridge's recipe of a model trains and no table states.
int unstated_predictions(std::string_view model);

/// Whether NVIDIA's recipes of a model put whole experts on tensor-parallel ranks (strategy.expert_tensor_parallel 1).
bool keeps_experts_whole(std::string_view model);

}  // namespace stepcast
