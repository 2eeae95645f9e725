#include "calibration/validation/expert_recipes.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

/// Megatron-Bridge, src/megatron/bridge/perf_recipes: qwen/common.py (_enable_hybridep_full_iteration_mxfp8) and the
/// recipes of qwen/{b200,b300,gb200,gb300} that call it; gpt_oss/common.py
/// (_apply_gpt_oss_120b_full_iter_fp8mx_configs) and those of gpt_oss/{gb200,gb300};
/// gpt_oss_120b_pretrain_64gpu_gb200_bf16_config. Before 26.06 the recipes of Qwen3 had none of it
/// (scripts/performance/configs/qwen/qwen3_workload_base_configs.py); those of gpt-oss in 16 bit with a batch of 1,280
/// did (moe_a2a_overlap, gpt_oss_workload_base_configs.py), first seen in 26.02.
constexpr std::array kRecipes{
    ExpertRecipe{"qwen3-235b-a22b", "mxfp8", "gb200 gb300", "26.06", 0, true},
    ExpertRecipe{"qwen3-235b-a22b", "mxfp8", "b200-sxm-180gb b300-sxm-270gb", "26.06", 256, true},
    ExpertRecipe{"qwen3-30b-a3b", "mxfp8", "gb200 gb300", "26.06", 0, true},
    ExpertRecipe{"gpt-oss-120b", "mxfp8", "gb200 gb300", "26.06", 0, true},
    ExpertRecipe{"gpt-oss-120b", "bf16", "gb200", "26.02", 0, false},
    // deepseek/common.py (_enable_deepseek_full_iteration_mxfp8) and the recipes of deepseek/{b300,gb200,gb300}.
    ExpertRecipe{"deepseek-v3", "mxfp8", "gb200 gb300 b300-sxm-270gb", "26.06", 256, true},
    // deepseek/gb200/deepseek_v4.py, which switches overlap_moe_expert_parallel_comm off.
    ExpertRecipe{"deepseek-v4-flash", "mxfp8", "gb200 gb300", "26.08", 128, true, false},
    // Megatron-Bridge's of Qwen3 235B on H100, in every release.
    ExpertRecipe{"qwen3-235b-a22b", "", "h100-sxm-80gb", "25.09", 256, false},
};

struct DispatchRecipe {
  std::string_view model, precision, accelerators, since;
};

/// moe_flex_dispatcher_backend of Megatron-Bridge's scripts/performance/configs (qwen, gpt_oss, kimi, deepseek,
/// nemotronh) and, of 26.06 and later, of src/megatron/bridge/perf_recipes. Presets of 25.11 and before have none;
/// Qwen3 235B has it neither on H100 nor, but in mxfp8 of 26.06, on B200. Blank: any.
constexpr std::array kDispatches{
    DispatchRecipe{"qwen3-235b-a22b", "", "gb200 gb300", "26.02"},
    DispatchRecipe{"qwen3-235b-a22b", "", "b300-sxm-270gb", "26.06"},
    DispatchRecipe{"qwen3-235b-a22b", "mxfp8", "b200-sxm-180gb", "26.06"},
    DispatchRecipe{"qwen3-30b-a3b", "", "gb200 gb300 b200-sxm-180gb b300-sxm-270gb", "26.02"},
    DispatchRecipe{"qwen3-30b-a3b", "", "h100-sxm-80gb", "26.04"},  // with expert_parallel 16, as tables from then on
    DispatchRecipe{"gpt-oss-120b", "", "b300-sxm-270gb", "26.02.01"},  // with expert_parallel 8, alike
    DispatchRecipe{"gpt-oss-120b", "mxfp8", "gb200 gb300", "26.06"},
    DispatchRecipe{"kimi-k2", "", "gb200 gb300", "26.02"},
    DispatchRecipe{"deepseek-v3", "", "gb200 gb300 b200-sxm-180gb b300-sxm-270gb h100-sxm-80gb", "26.02"},
    DispatchRecipe{"deepseek-v4-flash", "", "gb200 gb300 b300-sxm-270gb", "26.08"},
    DispatchRecipe{"deepseek-v4-pro", "", "gb300", "26.08"},
    DispatchRecipe{"nemotron-3-nano", "", "gb200 gb300 b200-sxm-180gb b300-sxm-270gb h100-sxm-80gb", "26.02"},
    DispatchRecipe{"nemotron-3-super", "", "gb200 gb300 b200-sxm-180gb b300-sxm-270gb", "26.02"},
    DispatchRecipe{"nemotron-3-ultra", "", "gb200 gb300 b200-sxm-180gb b300-sxm-270gb h100-sxm-80gb", "26.06"},
};

/// expert_tensor_parallel_size 1 in Megatron-Bridge's scripts/performance/configs/{deepseek,qwen,kimi,nemotronh} and in
/// column etp_size of NeMo's scripts/performance/recommended_model_configs, where Llama 4's is its tensor_parallel and
/// Mixtral 8x7B's is left open.
constexpr std::string_view kWholeExperts =
    "deepseek-v3 kimi-k2 mixtral-8x22b nemotron-3-nano nemotron-3-super nemotron-3-ultra qwen3-30b-a3b qwen3-235b-a22b";

bool holds(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

}  // namespace

const ExpertRecipe* find_expert_recipe(std::string_view model, std::string_view precision, std::string_view accelerator,
                                       long gpus, std::string_view release) {
  for (const ExpertRecipe& recipe : kRecipes)
    if (model == recipe.model && holds(precision, recipe.precision) && holds(recipe.accelerators, accelerator) &&
        gpus >= recipe.least_gpus && release >= recipe.since)
      return &recipe;
  return nullptr;
}

bool dispatches_once(std::string_view model, std::string_view precision, std::string_view accelerator,
                     std::string_view release) {
  return std::any_of(kDispatches.begin(), kDispatches.end(), [&](const DispatchRecipe& recipe) {
    return model == recipe.model && holds(precision, recipe.precision) && holds(recipe.accelerators, accelerator) &&
           release >= recipe.since;
  });
}

// src/megatron/bridge/recipes/nemotronh: mtp_num_layers 2 and mtp_use_repeated_layer, so one block's weights twice;
// DeepSeek-V3's and Kimi K2's layouts (Et*4|…tmL) hold one, which the tables of models state; recipes of Qwen3-Next and
// Qwen3.5 have mtp_num_layers 1, which the 22.5 GFLOP a token of Qwen3.5 35B's card show (19.2 without), and those of
// DeepSeek-V4 as many as its configuration, 1, which the 91.0 of Flash show.
int unstated_predictions(std::string_view model) {
  if (model == "qwen3-next-80b-a3b" || model == "qwen3.5-35b-a3b") return 1;
  if (model == "deepseek-v4-flash" || model == "deepseek-v4-pro") return 1;
  return model == "nemotron-3-super" || model == "nemotron-3-ultra" || model == "nemotron-3.5-lightning" ? 2 : 0;
}

bool keeps_experts_whole(std::string_view model) { return !model.empty() && holds(kWholeExperts, model); }

}  // namespace stepcast
