#include <algorithm>

#include "models/convergence/target.hpp"
#include "planner/launch/launch.hpp"

namespace stepcast {

namespace {

/// Steps that the measured runs take where nobody says how long to train: enough to see a steady rate.
constexpr long kTrialSteps = 50;

class Arguments {
 public:
  void flag(const char* name) { out_.emplace_back(name); }
  template <class T>
  void value(const char* name, const T& v) {
    out_.push_back(fmt::format("{} {}", name, v));
  }
  std::vector<std::string> take() { return std::move(out_); }

 private:
  std::vector<std::string> out_;
};

void add_model(Arguments& out, const Scenario& s) {
  const TransformerShape& shape = *s.model->transformer;
  if (shape.encoder_layers > 0) {
    out.value("--encoder-num-layers", shape.encoder_layers);
    out.value("--decoder-num-layers", shape.layers - shape.encoder_layers);
    out.value("--decoder-seq-length", static_cast<int>(shape.target_tokens(s.seq_len)));
  } else {
    out.value("--num-layers", shape.layers);
  }
  out.value("--hidden-size", shape.hidden);
  out.value("--ffn-hidden-size", shape.ffn_hidden);
  out.value("--num-attention-heads", shape.heads);
  if (shape.head_dim > 0) out.value("--kv-channels", shape.head_dim);
  if (shape.kv() != shape.heads) {
    out.flag("--group-query-attention");
    out.value("--num-query-groups", shape.kv());
  }
  out.value("--seq-length", s.seq_len);
  out.value("--max-position-embeddings", std::max(shape.max_positions, s.seq_len));
  switch (shape.positions) {
    case PositionKind::learned:
      out.value("--position-embedding-type", "learned_absolute");
      break;
    case PositionKind::rotary:
      out.value("--position-embedding-type", "rope");
      break;
    case PositionKind::alibi:
    case PositionKind::none:
      out.value("--position-embedding-type", "none");
      break;
  }
  out.value("--normalization", shape.norm == NormKind::rms_norm ? "RMSNorm" : "LayerNorm");
  if (shape.gated_mlp) out.flag("--swiglu");
  if (!shape.biases) out.flag("--disable-bias-linear");
  if (shape.qkv_bias) out.flag("--add-qkv-bias");
  if (!shape.tied_embeddings) out.flag("--untie-embeddings-and-output-weights");
  out.value("--attention-dropout", shape.dropout);
  out.value("--hidden-dropout", shape.dropout);
  if (!shape.layer_pattern.empty()) {
    out.flag("--is-hybrid-model");
    out.value("--hybrid-layer-pattern", shape.layer_pattern);
  }
  if (shape.has_half('M')) {
    out.value("--mamba-num-heads", shape.ssm_heads);
    out.value("--mamba-head-dim", shape.ssm_head_dim);
    out.value("--mamba-state-dim", shape.ssm_state);
    out.value("--mamba-num-groups", shape.ssm_groups);
  }
  if (shape.experts > 0) {
    out.value("--num-experts", shape.experts);
    out.value("--moe-router-topk", shape.top_k);
    if (shape.moe_ffn_hidden > 0) out.value("--moe-ffn-hidden-size", shape.moe_ffn_hidden);
    if (shape.shared_expert_ffn > 0) out.value("--moe-shared-expert-intermediate-size", shape.shared_expert_ffn);
    if (shape.moe_latent > 0) out.value("--moe-latent-size", shape.moe_latent);
    out.flag("--moe-grouped-gemm");
    out.value("--moe-token-dispatcher-type", "alltoall");
  }
}

/// `Et*26|t*27|t*26L`: layers of every chunk, in model order (Megatron-Core, pipeline_model_parallel_layout).
std::string pipeline_layout(const std::vector<int>& layers) {
  std::string out = "E";
  for (std::size_t i = 0; i < layers.size(); ++i) out += fmt::format("{}t*{}", i > 0 ? "|" : "", layers[i]);
  return out + "L";
}

void add_pipeline(Arguments& out, const Scenario& s) {
  const Degrees& d = s.degrees;
  out.value("--pipeline-model-parallel-size", d.pp);
  if (d.pp == 1) return;
  const auto [low, high] = std::minmax_element(s.stage_layers.begin(), s.stage_layers.end());
  if (*low != *high) {
    out.value("--pipeline-model-parallel-layout", pipeline_layout(s.stage_layers));
  } else if (d.vpp > 1) {
    out.value("--num-layers-per-virtual-pipeline-stage", *low);
  }
}

void add_parallelism(Arguments& out, const Scenario& s) {
  const Degrees& d = s.degrees;
  out.value("--tensor-model-parallel-size", d.tp);
  if (s.spec.strategy.sequence_parallel) out.flag("--sequence-parallel");
  const bool chunks = s.spec.strategy.overlap_tensor_parallel.value_or(s.framework->overlap_tensor_parallel);
  if (d.tp > 1 && chunks && s.framework->tensor_parallel_exposed < 1) out.flag("--tp-comm-overlap");
  add_pipeline(out, s);
  if (d.cp > 1) out.value("--context-parallel-size", d.cp);
  if (d.ep > 1) out.value("--expert-model-parallel-size", d.ep);
  if (d.etp < d.tp) out.value("--expert-tensor-parallel-size", d.etp);
  if (s.sharding == Sharding::zero1) out.flag("--use-distributed-optimizer");
  if (s.sharding == Sharding::fsdp || s.sharding == Sharding::hsdp || s.sharding == Sharding::zero2) {
    out.flag("--use-distributed-optimizer");
    out.flag("--use-megatron-fsdp");
    out.value("--data-parallel-sharding-strategy",
              s.sharding == Sharding::zero2 ? "optim_grads" : "optim_grads_params");
  }
  if (s.spec.strategy.overlap_gradients.value_or(s.framework->overlap_gradients)) out.flag("--overlap-grad-reduce");
  const bool sharded = s.sharding != Sharding::none;
  if (sharded && s.spec.strategy.overlap_parameter_gather.value_or(s.framework->overlap_parameter_gather))
    out.flag("--overlap-param-gather");
  if (s.spec.strategy.offload_optimizer) out.flag("--optimizer-cpu-offload");
}

void add_recompute(Arguments& out, const Scenario& s) {
  switch (s.spec.strategy.recompute) {
    case Recompute::none:
    case Recompute::per_operator:
      return;
    case Recompute::selective:
    case Recompute::modules:
      return out.value("--recompute-granularity", "selective");
    case Recompute::full:
      out.value("--recompute-granularity", "full");
      out.value("--recompute-method", "uniform");
      return out.value("--recompute-num-layers", 1);
  }
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

}  // namespace

std::vector<std::string> megatron_arguments(const Scenario& scenario) {
  Arguments out;
  add_model(out, scenario);
  add_parallelism(out, scenario);
  add_recompute(out, scenario);
  out.value("--micro-batch-size", scenario.degrees.micro_batch);
  out.value("--global-batch-size", scenario.spec.workload.global_batch);
  add_format(out, scenario.precision);
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
