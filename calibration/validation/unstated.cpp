#include "calibration/validation/unstated.hpp"

#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "calibration/validation/sharding_words.hpp"
#include "calibration/validation/stated_words.hpp"
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

/// PyTorch's scaled_dot_product_attention prefers FlashAttention-2 on Hopper before its release of October 2025 (2.9;
/// torchtitan pull requests 1196 and 1209 of May 2025: cuDNN on Blackwell alone), and torchtitan compiles layers and
/// not the loss before April 2025 (pull requests 755 and 1033). components/metrics.py logs max_memory_reserved.
constexpr FrameworkDefaults kTorchtitan{.name = "torchtitan",
                                        .profile = "pytorch-fsdp",
                                        .precision = "bf16",
                                        .recompute = "per-operator",
                                        .sequence_parallel = true,
                                        .attention_kernel = "flash-2",
                                        .compiles_loss = false,
                                        .memory_count = MemoryCount::reserved};

constexpr FrameworkDefaults kTorchtitanOf2504 = [] {
  FrameworkDefaults out = kTorchtitan;
  out.compiles_loss = true;
  out.since = "25.04";
  return out;
}();

constexpr FrameworkDefaults kTorchtitanOf2510 = [] {
  FrameworkDefaults out = kTorchtitanOf2504;
  out.attention_kernel = {};
  out.since = "25.10";
  return out;
}();

constexpr FrameworkDefaults kFsdp{.name = "FSDP",
                                  .profile = "pytorch-fsdp",
                                  .precision = "bf16",
                                  .recompute = "none",
                                  .recomputes_to_fit = true,
                                  .attention_kernel = "flash-2"};

constexpr FrameworkDefaults kFsdpOf2510 = [] {
  FrameworkDefaults out = kFsdp;
  out.attention_kernel = {};
  out.since = "25.10";
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
    kTorchtitanOf2510,
    kTorchtitanOf2504,
    kTorchtitan,
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
    kFsdpOf2510,
    kFsdp,
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
    FrameworkDefaults{.name = "Mesh TensorFlow",
                      .profile = "mesh-tensorflow",
                      .precision = "bf16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
    FrameworkDefaults{.name = "PaddlePaddle",
                      .profile = "paddlepaddle-fleet",
                      .precision = "fp16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
    FrameworkDefaults{.name = "PyTorch",
                      .profile = "pytorch-ddp",
                      .precision = "bf16",
                      .recompute = "none",
                      .recomputes_to_fit = true},
};

/// A program that trains by the mechanism of an entry.
struct BuiltOn {
  std::string_view name, entry;
};
// Asked before the entries: some names hold the name of one that they are not ("llm-foundry (PyTorch FSDP)").
constexpr std::array kBuiltOn{
    // One program of jitted steps, which XLA's partitioner cuts along a mesh of devices.
    BuiltOn{"Paxml", "JAX"},
    BuiltOn{"AXLearn", "JAX"},
    BuiltOn{"EasyLM", "JAX"},
    BuiltOn{"Levanter", "JAX"},
    BuiltOn{"GPT-NeoX",
            "Megatron-DeepSpeed"},  // Black et al. 2022 (arXiv 2204.06745), section 2.2: Megatron, DeepSpeed
    BuiltOn{"OneFlow", "LiBai"},    // OneFlow's library of large transformers
    BuiltOn{"llm-foundry", "pytorch-fsdp (Composer)"},
    BuiltOn{"Composer", "pytorch-fsdp (Composer)"},
    BuiltOn{"LitGPT", "FSDP"},  // litgpt/pretrain.py: FSDPStrategy
    BuiltOn{"torchtune", "FSDP"},
};

/// A program that starts whichever engine is asked for, by how states are sharded.
struct Launcher {
  std::string_view name;
  std::string_view replicated, first_stage, higher_stages, fully;  ///< entries of none, ZeRO-1, ZeRO-2 and 3, FSDP
};
// Colossal-AI: HybridParallelPlugin cuts layers as Megatron does and has ZeRO-1; LowLevelZeroPlugin and Gemini follow
// DeepSpeed's stages; TorchFSDPPlugin (colossalai/booster/plugin). PyTorch's own ZeRO-1 is ZeroRedundancyOptimizer, its
// higher stages are FSDP's SHARD_GRAD_OP and FULL_SHARD (fsdp/api.py).
constexpr std::array kLaunchers{
    Launcher{"Colossal-AI", "Megatron", "Megatron", "DeepSpeed", "FSDP"},
    Launcher{"Hugging Face", "PyTorch", "DeepSpeed", "DeepSpeed", "FSDP"},
    Launcher{"Accelerate", "PyTorch", "DeepSpeed", "DeepSpeed", "FSDP"},
    Launcher{"transformers", "PyTorch", "DeepSpeed", "DeepSpeed", "FSDP"},
    Launcher{"LLaMA-Factory", "PyTorch", "DeepSpeed", "DeepSpeed", "FSDP"},
    Launcher{"Axolotl", "PyTorch", "DeepSpeed", "DeepSpeed", "FSDP"},
    Launcher{"Lightning", "PyTorch", "DeepSpeed", "DeepSpeed", "FSDP"},
    Launcher{"PyTorch", "PyTorch", "PyTorch", "FSDP", "FSDP"},
};
constexpr std::string_view kReplicas = "DDP";

/// Whether a text names something, whatever stands between the parts of the name.
bool names(std::string_view text, std::string_view name) { return contains(squashed(text), squashed(name)); }

std::string_view engine_of(const Launcher& launcher, std::string_view sharding) {
  const std::string_view word = stated_sharding(sharding);
  if (word == "fsdp" || word == "hsdp") return launcher.fully;
  if (word == "zero-2" || word == "zero-3") return launcher.higher_stages;
  return word == "zero-1" ? launcher.first_stage : launcher.replicated;
}

/// The first entry whose words a name holds.
const FrameworkDefaults* entry_of(std::string_view framework, std::string_view release) {
  const std::string name = lower_case(framework);
  // Year and month, each of two digits, sort as text does.
  for (const FrameworkDefaults& entry : kFrameworks)
    if (contains(name, lower_case(entry.name)) && release >= entry.since) return &entry;
  return nullptr;
}

}  // namespace

const FrameworkDefaults* find_defaults(std::string_view framework, std::string_view release,
                                       std::string_view sharding) {
  for (const BuiltOn& program : kBuiltOn)
    if (names(framework, program.name)) return entry_of(program.entry, release);
  const FrameworkDefaults* found = entry_of(framework, release);
  const bool plain = found == nullptr || found->name == "PyTorch";
  if (!plain) return found;
  if (names(framework, kReplicas)) return entry_of("PyTorch", release);
  for (const Launcher& launcher : kLaunchers)
    if (names(framework, launcher.name)) return entry_of(engine_of(launcher, sharding), release);
  return found;
}

std::string no_profile(std::string_view framework) {
  std::vector<std::string> known{std::string(kReplicas)};
  for (const FrameworkDefaults& entry : kFrameworks) known.emplace_back(entry.name);
  for (const BuiltOn& program : kBuiltOn) known.emplace_back(program.name);
  for (const Launcher& launcher : kLaunchers) known.emplace_back(launcher.name);
  const std::string hint = did_you_mean(framework, known);
  return fmt::format("no profile stands for {}{}", framework, hint.empty() ? "" : ": " + hint);
}

const FrameworkDefaults& defaults_of(std::string_view framework) {
  if (const FrameworkDefaults* entry = find_defaults(framework)) return *entry;
  throw std::logic_error(fmt::format("no defaults of framework {}", framework));
}

}  // namespace stepcast
