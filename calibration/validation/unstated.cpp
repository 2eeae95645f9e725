#include "calibration/validation/unstated.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "fields/diagnostics.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// The generation before 25.04, and of rows that name none.
constexpr FrameworkDefaults kNemo{
    .name = "NeMo",
    .profile = "nemo",
    .precision = "bf16",
    .recompute = "none",
    .sequence_parallel = true,
    .interleaves = true,
    // NVIDIA's Llama 2 70B LoRA of MLPerf, conf/megatron_gpt_peft_tuning_config.yaml: cp_comm_type a2a.
    .adapter_context_method = "ulysses",
    // NVIDIA's MLPerf submissions: Llama 3.1 8B in fp4 by config_common_fp8attn.sh (v5.1), Llama 2 70B LoRA by
    // FP8_DPA=1 (v5.0, config_common.sh). NeMo's own recipes leave it off; of those only adapters on H100 are in the
    // tables, where it is worth next to nothing.
    .narrow_attention = true};

/// AMD's submissions of Llama 2 70B LoRA set FP8_DPA=0.
constexpr FrameworkDefaults kNemoOnRocm = [] {
  FrameworkDefaults out = kNemo;
  out.name = "NeMo on ROCm";
  out.narrow_attention = false;
  return out;
}();

constexpr FrameworkDefaults kNemoOf2504 = [] {
  FrameworkDefaults out = kNemo;
  out.profile = "nemo-25.04";
  out.since = "25.04";
  return out;
}();

/// NVIDIA's MLPerf submissions capture whole iterations (config_common_cg.sh), under adapters layer by layer
/// (MCORE_CUDA_GRAPH=1; docs.nvidia.com/dl-cuda-graph, Llama 2 70B LoRA).
constexpr FrameworkDefaults kNemoOf2509 = [] {
  FrameworkDefaults out = kNemo;
  out.profile = "nemo-25.09";
  out.adapter_profile = "nemo-25.04";
  out.since = "25.09";
  return out;
}();

// Longer names before the shorter ones that they hold.
constexpr std::array kFrameworks{
    // Intel's GPT-3 on Gaudi 2 (MLPerf submissions of 2023-24): fused attention, sequence parallelism.
    FrameworkDefaults{.name = "Megatron-DeepSpeed on Gaudi",
                      .profile = "megatron-lm",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .recomputes_to_fit = true},
    // The generation behind VIA-Research/vTrain's measurements: GPT in fp16 with every layer recomputed; Megatron pads
    // GPT-2's vocabulary to 51,200 for 8-way tensor parallelism.
    FrameworkDefaults{.name = "Megatron-DeepSpeed",
                      .profile = "megatron-deepspeed",
                      .precision = "fp16",
                      .recompute = "full",
                      .vocab = 51200,
                      .memory_count = MemoryCount::device},
    // Narayanan et al. 2021 and Korthikanti et al. 2022 state everything but the format, which is fp16 in both.
    FrameworkDefaults{"Megatron-LM (2021)", "megatron-lm-2021", "fp16", "full"},
    // VIA-Research/vTrain, src/model/gpt_modeling.py: Megatron's layers, unpadded tables. It recomputes nothing on one
    // server (adapters.cpp).
    FrameworkDefaults{.name = "GPT of vTrain",
                      .profile = "vtrain-gpt",
                      .precision = "fp16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
    FrameworkDefaults{"Megatron-LM (2022)", "megatron-lm-2022", "fp16", "full"},
    // megatron/arguments.py: --make-vocab-size-divisible-by 128, times the tensor-parallel ranks; LiBai's tokenizers
    // likewise.
    FrameworkDefaults{.name = "Megatron-LM (commit of mid 2022)",
                      .profile = "megatron-lm-2022",
                      .precision = "fp16",
                      .recompute = "full",
                      .vocab_multiple = 128},
    FrameworkDefaults{.name = "Megatron-LM without flash",
                      .profile = "megatron-lm-2021",
                      .precision = "fp16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
    FrameworkDefaults{.name = "LiBai",
                      .profile = "libai",
                      .precision = "fp16",
                      .recompute = "none",
                      .vocab_multiple = 128,
                      .recomputes_to_fit = true},
    // mosaicml/llm-foundry, scripts/train/benchmarking.
    FrameworkDefaults{"pytorch-fsdp (Composer)", "llm-foundry", "bf16", "none"},
    // MooreThreads/SimuMax, docs/b200: bf16, no recomputation, sequences of 4,096 unless a name says otherwise.
    FrameworkDefaults{.name = "Megatron-LM (Megatron-Core)",
                      .profile = "megatron-lm",
                      .precision = "bf16",
                      .recompute = "none",
                      .seq_len = 4096,
                      .sequence_parallel = true,
                      .interleaves = true},
    // NVIDIA's recipes on Megatron-Core: sequence parallelism with tensor parallelism (NeMo and Megatron-Bridge docs).
    FrameworkDefaults{.name = "NeMo Megatron launcher",
                      .profile = "nemo-launcher",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .interleaves = true},
    // Megatron-Bridge of NeMo 26.06 and later dispatches tokens by kernels of its own (recipes: hybrid-EP).
    FrameworkDefaults{.name = "Megatron-Bridge",
                      .profile = "megatron-bridge-26.06",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .causal_halved = true,
                      .since = "26.06"},
    // Recipes of Megatron-Bridge state their chunks: a blank is one.
    FrameworkDefaults{.name = "Megatron-Bridge",
                      .profile = "megatron-bridge",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .causal_halved = true},
    kNemoOnRocm,
    kNemoOf2509,
    kNemoOf2504,
    kNemo,
    FrameworkDefaults{.name = "Primus",
                      .profile = "megatron-lm",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true},
    // DeepSeek-V3 (arXiv 2412.19437), section 3.2: no tensor parallelism, its own schedule and kernels.
    FrameworkDefaults{"HAI-LLM", "megatron-lm", "fp8", "none"},
    // MegaScale (arXiv 2402.15627), section 3: Megatron-LM with more overlap.
    FrameworkDefaults{.name = "MegaScale",
                      .profile = "megatron-lm",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .interleaves = true},
    FrameworkDefaults{.name = "Megatron",
                      .profile = "megatron-lm",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .interleaves = true},
    FrameworkDefaults{"InternEvo", "internevo", "bf16", "none"},
    FrameworkDefaults{
        .name = "nanotron", .profile = "nanotron", .precision = "bf16", .recompute = "none", .sequence_parallel = true},
    // Llama 3 (arXiv 2407.21783), section 3.3: interleaved pipelines, keys and values gathered over the context ranks.
    FrameworkDefaults{.name = "Meta internal",
                      .profile = "meta-4d",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .interleaves = true,
                      .context_method = "all-gather"},
    // torchtitan/components/metrics.py logs max_memory_reserved.
    FrameworkDefaults{.name = "torchtitan",
                      .profile = "pytorch-fsdp",
                      .precision = "bf16",
                      .recompute = "per-operator",
                      .sequence_parallel = true,
                      .memory_count = MemoryCount::reserved},
    FrameworkDefaults{
        .name = "T5X", .profile = "jax", .precision = "bf16", .recompute = "none", .recomputes_to_fit = true},
    // MaxText's per_device_batch_size, whatever axes a device is part of; no accumulation by itself. Its tensor axis
    // cuts the residual stream too (configs/base.yml: activation_embed), gathered and scattered around the products.
    FrameworkDefaults{.name = "MaxText",
                      .profile = "jax",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .sharding = "fsdp",
                      .recomputes_to_fit = true,
                      .batch_per_device = true},
    FrameworkDefaults{.name = "JAX",
                      .profile = "jax",
                      .precision = "bf16",
                      .recompute = "none",
                      .sharding = "fsdp",
                      .recomputes_to_fit = true},
    // NVIDIA's BERT pre-training, which the example follows: 20 of 128 tokens are predicted.
    FrameworkDefaults{.name = "euron",
                      .profile = "neuronx",
                      .precision = "bf16",
                      .recompute = "none",
                      .sequence_parallel = true,
                      .recomputes_to_fit = true,
                      .predicted_share = 20.0 / 128},
    FrameworkDefaults{
        .name = "FSDP", .profile = "pytorch-fsdp", .precision = "bf16", .recompute = "none", .recomputes_to_fit = true},
    FrameworkDefaults{.name = "DeepSpeed",
                      .profile = "deepspeed",
                      .precision = "bf16",
                      .recompute = "full",
                      .causal_halved = true,
                      .context_method = "ulysses"},
    FrameworkDefaults{.name = "FlashAttention-2",
                      .profile = "flash-attention-2",
                      .precision = "bf16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
    FrameworkDefaults{.name = "FlashAttention",
                      .profile = "flash-attention-1",
                      .precision = "bf16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
    FrameworkDefaults{.name = "PyTorch",
                      .profile = "pytorch-ddp",
                      .precision = "bf16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
};

}  // namespace

const FrameworkDefaults* find_defaults(std::string_view framework, std::string_view release) {
  const std::string name = lower_case(framework);
  // Year and month, each of two digits, sort as text does.
  for (const FrameworkDefaults& entry : kFrameworks)
    if (contains(name, lower_case(entry.name)) && release >= entry.since) return &entry;
  return nullptr;
}

std::string no_profile(std::string_view framework) {
  std::vector<std::string> names;
  names.reserve(kFrameworks.size());
  for (const FrameworkDefaults& entry : kFrameworks) names.emplace_back(entry.name);
  const std::string hint = did_you_mean(framework, names);
  return fmt::format("no profile stands for {}{}", framework, hint.empty() ? "" : ": " + hint);
}

const FrameworkDefaults& defaults_of(std::string_view framework) {
  if (const FrameworkDefaults* entry = find_defaults(framework)) return *entry;
  throw std::logic_error(fmt::format("no defaults of framework {}", framework));
}

}  // namespace stepcast
