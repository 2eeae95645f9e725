#include <fmt/format.h>

#include <algorithm>

#include "models/convergence/target.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/synchronization.hpp"
#include "planner/launch/launch.hpp"
#include "planner/launch/megatron_model.hpp"

namespace stepcast {

namespace {

/// Steps that the measured runs take where nobody says how long to train: enough to see a steady rate.
constexpr long kTrialSteps = 50;

/// The one order of ranks that Megatron-LM has beside its usual one.
constexpr std::string_view kUsualOrder = "tp-cp-ep-dp-pp", kPipelineBeforeData = "tp-cp-ep-pp-dp";

/// Layers without an indexer have entries of 128 tokens there, those with one of 4.
bool has_megatron_ratios(const CompressedAttentionShape& compressed) {
  const auto known = [](int ratio) { return ratio == 0 || ratio == 4 || ratio == 128; };
  const bool indexed = std::find(compressed.ratios.begin(), compressed.ratios.end(), 4) != compressed.ratios.end();
  return std::all_of(compressed.ratios.begin(), compressed.ratios.end(), known) &&
         compressed.indexed_ratio == (indexed ? 4 : 0);
}

/// What --recompute-modules calls a module; empty where it has none.
std::string_view megatron_module(RecomputeModule module, const Scenario& s) {
  switch (module) {
    case RecomputeModule::attention_core:
      return "core_attn";
    case RecomputeModule::attention:
      return s.model->transformer->has_latents() ? "mla_up_proj" : "";
    case RecomputeModule::mlp:
      return "mlp";
    case RecomputeModule::norm:
      return "layernorm";
    case RecomputeModule::moe:
      return "moe";
  }
  return "";
}

/// `Et*26|t*27|t*26mL`: layers of every chunk, in model order, and an m for each block of multi-token prediction, which
/// stand before the loss (Megatron-Core, pipeline_parallel_layer_layout.py, which counts both).
std::string pipeline_layout(const std::vector<int>& layers, int predictions) {
  std::string out = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i > 0) out += '|';
    if (layers[i] > 0) out += fmt::format("t*{}", layers[i]);
  }
  return out + std::string(static_cast<std::size_t>(predictions), 'm') + "L";
}

void add_pipeline(Arguments& out, const Scenario& s) {
  const Degrees& d = s.degrees;
  out.value("--pipeline-model-parallel-size", d.pp);
  if (d.pp == 1) return;
  const auto [low, high] = std::minmax_element(s.stage_layers.begin(), s.stage_layers.end());
  if (*low != *high) {
    out.value("--pipeline-model-parallel-layout", pipeline_layout(s.stage_layers, s.model->transformer->mtp_layers));
  } else if (d.vpp > 1) {
    out.value("--num-layers-per-virtual-pipeline-stage", *low);
  }
}

const char* context_method(ContextMethod method) {
  switch (method) {
    case ContextMethod::ulysses:
      return "a2a";
    case ContextMethod::all_gather:
      return "all_gather";
    default:
      return "p2p";
  }
}

bool has_distributed_optimizer(const Scenario& s) {
  return s.sharding != Sharding::none && s.sharding != Sharding::zero3;
}

/// Moments in 16 bit are the precision-aware optimizer's, which is a distributed one (arguments.py asserts it).
bool has_narrow_moments(const Scenario& s) {
  return s.spec.strategy.optimizer == OptimizerKind::adam_16bit && has_distributed_optimizer(s);
}

bool by_muon(const Scenario& s) { return s.spec.strategy.optimizer == OptimizerKind::muon; }

/// Muon shards its states matrix by matrix, by an optimizer of its own. That takes all replicas for one group, and bf16
/// (Megatron-LM: core/optimizer/muon.py, layer_wise_optimizer.py).
bool has_muon(const Scenario& s) {
  const bool whole =
      s.sharding == Sharding::none || (s.sharding == Sharding::zero1 && s.shard_size == s.degrees.dp * s.degrees.cp);
  return by_muon(s) && whole && s.precision != Precision::fp16;
}

/// Distributed optimizer, or Megatron-FSDP where gradients or parameters are cut, too.
void add_sharding(Arguments& out, const Scenario& s) {
  if (!has_distributed_optimizer(s) || by_muon(s)) return;
  out.flag("--use-distributed-optimizer");
  if (by_megatron_fsdp(s)) {
    out.flag("--use-megatron-fsdp");
    out.value("--data-parallel-sharding-strategy",
              s.sharding == Sharding::zero2 ? "optim_grads" : "optim_grads_params");
    // Fused accumulation adds to a gradient that is whole; NVIDIA's own examples of Megatron-FSDP leave it out
    // (Megatron-LM: examples/megatron_fsdp, docs/source/api-guide/custom_fsdp.md).
    out.flag("--no-gradient-accumulation-fusion");
    // The one format that Megatron-FSDP saves (arguments.py asserts it).
    out.value("--ckpt-format", "fsdp_dtensor");
  }
  const int replicas = s.degrees.dp * s.degrees.cp;
  if (s.sharding == Sharding::hsdp) out.value("--num-distributed-optimizer-instances", replicas / s.shard_size);
}

void add_parallelism(Arguments& out, const Scenario& s) {
  const Degrees& d = s.degrees;
  out.value("--tensor-model-parallel-size", d.tp);
  if (s.spec.strategy.sequence_parallel) out.flag("--sequence-parallel");
  const bool chunks = s.spec.strategy.overlap_tensor_parallel.value_or(s.framework->overlap_tensor_parallel);
  if (s.spec.strategy.sequence_parallel && chunks && s.framework->tensor_parallel_exposed < 1)
    out.flag("--tp-comm-overlap");
  add_pipeline(out, s);
  if (d.cp > 1) {
    out.value("--context-parallel-size", d.cp);
    out.value("--cp-comm-type", context_method(s.context_method));
  }
  if (d.ep > 1) out.value("--expert-model-parallel-size", d.ep);
  if (d.etp < d.tp) out.value("--expert-tensor-parallel-size", d.etp);
  if (s.spec.strategy.order == kPipelineBeforeData) out.flag("--use-tp-pp-dp-mapping");
  add_sharding(out, s);
  // What the forecast overlaps; parameters in shards it always gathers ahead.
  const SynchronizationPlan plan = synchronization_plan(s);
  if (plan.overlap) out.flag("--overlap-grad-reduce");
  if (plan.gather_under_forward || plan.sharded_parameters) out.flag("--overlap-param-gather");
  if (s.spec.strategy.offload_optimizer && has_distributed_optimizer(s)) {
    out.flag("--optimizer-cpu-offload");
    out.flag("--use-precision-aware-optimizer");  // whose code it runs (arguments.py asserts it)
  }
  if (s.spec.strategy.optimizer == OptimizerKind::sgd) out.value("--optimizer", "sgd");
  // The second name is of the optimizer that shards, instead of --use-distributed-optimizer.
  if (by_muon(s)) out.value("--optimizer", s.sharding == Sharding::none ? "muon" : "dist_muon");
  if (has_narrow_moments(s)) {
    out.flag("--use-precision-aware-optimizer");
    for (const char* moment : {"--exp-avg-dtype", "--exp-avg-sq-dtype"}) out.value(moment, "bf16");
  }
}

void add_recompute(Arguments& out, const Scenario& s) {
  switch (s.spec.strategy.recompute) {
    case Recompute::none:
    case Recompute::per_operator:
      return;
    case Recompute::selective:
      return out.value("--recompute-granularity", "selective");
    case Recompute::modules: {
      std::vector<std::string_view> modules;
      for (const RecomputeModule module : s.spec.strategy.recompute_modules)
        if (const std::string_view name = megatron_module(module, s); !name.empty()) modules.push_back(name);
      if (modules.empty()) return;
      out.value("--recompute-granularity", "selective");
      return out.value("--recompute-modules", fmt::format("{}", fmt::join(modules, " ")));
    }
    case Recompute::full:
      out.value("--recompute-granularity", "full");
      out.value("--recompute-method", s.spec.strategy.recompute_layers ? "block" : "uniform");
      return out.value("--recompute-num-layers", s.spec.strategy.recompute_layers.value_or(1));
  }
}

/// Where the strategy differs from what Megatron-LM fuses and sums by itself.
void add_kernels(Arguments& out, const Scenario& s) {
  const StrategySpec& strategy = s.spec.strategy;
  if (strategy.fused_loss.value_or(s.framework->fused_loss)) out.flag("--cross-entropy-loss-fusion");
  if (strategy.attention_kernel == AttentionKernel::unfused) out.value("--attention-backend", "unfused");
  if (strategy.attention_kernel == AttentionKernel::flash_2) out.value("--attention-backend", "flash");
  if (!strategy.fused_activation.value_or(true))
    out.flag(s.model->transformer->gated_mlp ? "--no-bias-swiglu-fusion" : "--no-bias-gelu-fusion");
  if (!strategy.fused_rotary.value_or(true)) out.flag("--no-rope-fusion");
  if (strategy.gradients_in_fp32.value_or(s.framework->gradients_in_fp32))
    out.flag("--accumulate-allreduce-grads-in-fp32");
  else if (s.precision != Precision::fp16 && s.precision != Precision::fp32)
    out.flag("--grad-reduce-in-bf16");
}

/// What is not in 8 or 4 bit stays in bf16.
void add_format(Arguments& out, Precision precision) {
  if (precision == Precision::bf16 || below_16_bit(precision)) out.flag("--bf16");
  if (precision == Precision::fp16) out.flag("--fp16");
  if (precision == Precision::fp8) out.value("--fp8-format", "hybrid");
  if (precision == Precision::mxfp8) {
    out.value("--fp8-format", "e4m3");
    out.value("--fp8-recipe", "mxfp8");
  }
  if (precision == Precision::fp4) out.value("--fp4-format", "e2m1");
}

/// Keys of a strategy that the arguments have words for where other settings have none, or that
/// beyond_megatron_arguments has words of its own for. No
/// option takes norms apart: --no-persist-layer-norm chooses another fused kernel (core/fusions/fused_layer_norm.py).
std::set<std::string> told_by_megatron(const Scenario& s) {
  std::set<std::string> out{"expert_tensor_parallel",
                            "expert_dispatch",
                            "recompute_modules",
                            "recompute_last_stage",
                            "overlap_tensor_parallel",
                            "overlap_expert_parallel",
                            "overlap_gradients",
                            "overlap_parameter_gather",
                            "fused_loss",
                            "fused_activation",
                            "fused_rotary",
                            "fp8_dot_product_attention",
                            "offload_activations",
                            "collective_algorithm"};
  if (s.sharding == Sharding::hsdp) out.insert("hsdp_shard_size");
  return out;
}

}  // namespace

bool by_megatron_fsdp(const Scenario& s) { return has_distributed_optimizer(s) && s.sharding != Sharding::zero1; }

std::vector<std::string> beyond_megatron_arguments(const Scenario& s) {
  const StrategySpec& strategy = s.spec.strategy;
  const TransformerShape& shape = *s.model->transformer;
  std::vector<std::string> out;
  const auto add_if = [&](bool beyond, std::string what) {
    if (beyond) out.push_back(std::move(what));
  };
  const WorkloadSpec& workload = s.spec.workload;
  add_if(workload.adapter_rank > 0,
         fmt::format("adapters of rank {} on a frozen model ({}): Megatron-LM's own scripts train all parameters, "
                     "Megatron-Bridge's peft does not",
                     workload.adapter_rank, name_of(adapter_targets(s))));
  if (workload.frozen_weights) out.push_back(fmt::format("frozen weights in {}", name_of(*workload.frozen_weights)));
  add_if(workload.document_len > 0,
         fmt::format("sequences packed of documents of {} tokens, each attending to itself", workload.document_len));
  add_if(shape.projects_embeddings(), fmt::format("embeddings {} wide", shape.embedding_size));
  add_if(shape.hidden_groups > 0, "layers that share their weights");
  add_if(shape.positions == PositionKind::alibi, "ALiBi: Megatron-LM has no such positions");
  add_if(shape.compressed_attention && !has_megatron_ratios(*shape.compressed_attention),
         "entries of compressed attention that stand for other numbers of tokens than 4, of which an indexer picks, "
         "and 128");
  add_if(shape.window > 0 && shape.window_kind == WindowKind::chunked, "attention within chunks of a window");
  add_if(shape.v_head_dim > 0 && !shape.is_latent(), "values of another size than keys");
  add_if(
      shape.global_heads > 0 || shape.global_head_dim > 0 || shape.global_kv_heads > 0 || shape.global_keys_are_values,
      "heads of another size in layers that see past the window");
  add_if(shape.shared_kv_layers > 0, "layers that take their keys and values from earlier ones");
  add_if(shape.per_layer_embedding > 0, "embeddings that each layer has of its own");
  add_if(shape.linear_attention && shape.linear_attention->kind != LinearAttentionKind::gated_delta,
         "linear attention of another kind than the gated delta rule");
  add_if(shape.has_half('M') && shape.ssm_conv != 4, fmt::format("a convolution over {} tokens", shape.ssm_conv));
  add_if(s.degrees.pp > 1 && (s.schedule == PipelineSchedule::gpipe || s.schedule == PipelineSchedule::zero_bubble),
         fmt::format("schedule {}", name_of(s.schedule)));
  add_if(strategy.order != kUsualOrder && strategy.order != kPipelineBeforeData,
         fmt::format("ranks in the order {}", strategy.order));
  add_if(s.sharding == Sharding::zero3,
         "sharding zero-3, which Megatron-DeepSpeed takes from DeepSpeed's configuration");
  add_if(strategy.recompute == Recompute::per_operator, "recompute per operator");
  if (strategy.recompute == Recompute::modules)
    for (const RecomputeModule module : strategy.recompute_modules)
      add_if(megatron_module(module, s).empty(), fmt::format("recompute of {}", name_of(module)));
  add_if(strategy.recompute_layers && strategy.recompute != Recompute::full,
         fmt::format("recompute {} of some layers", name_of(strategy.recompute)));
  add_if(!strategy.recompute_last_stage, "a last stage that recomputes nothing");
  add_if(strategy.offload_optimizer && !has_distributed_optimizer(s),
         "an optimizer in host memory, which Megatron-LM has with its distributed optimizer (sharding zero-1) only");
  const OptimizerKind optimizer = optimizer_of(s);
  const bool known =
      optimizer == OptimizerKind::adam || optimizer == OptimizerKind::sgd || has_narrow_moments(s) || has_muon(s);
  const bool in_groups = has_distributed_optimizer(s) && s.precision != Precision::fp16;
  const char* beside = !by_muon(s) ? "" : in_groups ? " beside hsdp_shard_size" : " in fp16";
  add_if(!known, fmt::format("optimizer {}{}", name_of(optimizer), beside));
  add_if(strategy.parameters_in_16_bit, "parameters in 16 bit alone");
  if (const auto kernel = strategy.attention_kernel;
      kernel == AttentionKernel::flash_1 || kernel == AttentionKernel::flash_triton)
    out.push_back(fmt::format("attention by {}", name_of(*kernel)));
  add_if(strategy.offload_activations, "activations in host memory");
  add_if(strategy.torch_compile, "torch.compile");
  for (std::string& words : words_beside(s, told_by_megatron(s))) out.push_back(std::move(words));
  add_if(strategy.collective_algorithm != CollectiveAlgorithm::automatic,
         fmt::format("collectives by {} (NCCL_ALGO)", name_of(strategy.collective_algorithm)));
  add_if(strategy.collective_protocol != CollectiveProtocol::automatic,
         fmt::format("collectives by {} (NCCL_PROTO)", name_of(strategy.collective_protocol)));
  return out;
}

std::vector<std::string> megatron_arguments(const Scenario& scenario) {
  Arguments out;
  add_megatron_model(out, scenario);
  add_parallelism(out, scenario);
  add_recompute(out, scenario);
  out.value("--micro-batch-size", scenario.degrees.micro_batch);
  out.value("--global-batch-size", scenario.spec.workload.global_batch);
  add_format(out, scenario.precision);
  add_kernels(out, scenario);
  if (scenario.spec.strategy.overlap_expert_parallel) {
    out.flag("--overlap-moe-expert-parallel-comm");
    out.flag("--delay-wgrad-compute");
  }
  if (scenario.spec.strategy.fp8_dot_product_attention) out.flag("--fp8-dot-product-attention");
  const std::optional<double> steps = steps_to_train(scenario);
  out.value("--train-iters", steps ? static_cast<long>(*steps) : kTrialSteps);
  return out.take();
}

}  // namespace stepcast
