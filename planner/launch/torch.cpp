#include "models/convergence/target.hpp"
#include "planner/launch/launch.hpp"

namespace stepcast {

namespace {

int zero_stage(Sharding sharding) {
  switch (sharding) {
    case Sharding::none:
      return 0;
    case Sharding::zero1:
      return 1;
    case Sharding::zero2:
      return 2;
    default:
      return 3;
  }
}

const char* fsdp_strategy(Sharding sharding) {
  switch (sharding) {
    case Sharding::none:
    case Sharding::zero1:
      return "NO_SHARD";
    case Sharding::zero2:
      return "SHARD_GRAD_OP";
    case Sharding::hsdp:
      return "HYBRID_SHARD";
    default:
      return "FULL_SHARD";
  }
}

void add_format(Json& out, Precision precision) {
  if (precision == Precision::bf16 || below_16_bit(precision)) out["bf16"] = {{"enabled", true}};
  if (precision == Precision::fp16) out["fp16"] = {{"enabled", true}};
}

}  // namespace

Json deepspeed_config(const Scenario& s) {
  Json out{{"train_batch_size", s.spec.workload.global_batch},
           {"train_micro_batch_size_per_gpu", s.degrees.micro_batch},
           {"gradient_accumulation_steps", s.degrees.micro_batches}};
  add_format(out, s.precision);
  Json& zero = out["zero_optimization"] = {
      {"stage", zero_stage(s.sharding)},
      {"overlap_comm", s.spec.strategy.overlap_gradients.value_or(s.framework->overlap_gradients)}};
  if (s.framework->bucket > Bytes(0)) zero["reduce_bucket_size"] = static_cast<long>(s.framework->bucket.value() / 2);
  if (s.spec.strategy.offload_optimizer) zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  const bool full = s.spec.strategy.recompute == Recompute::full;
  if (full) out["activation_checkpointing"] = {{"partition_activations", false}};
  return out;
}

Json torch_config(const Scenario& s) {
  Json out{{"global_batch", s.spec.workload.global_batch},
           {"micro_batch_per_device", s.degrees.micro_batch},
           {"gradient_accumulation_steps", s.degrees.micro_batches},
           {"precision", std::string(name_of(s.precision))},
           {"activation_checkpointing", std::string(name_of(s.spec.strategy.recompute))}};
  if (s.model->is_transformer()) out["seq_len"] = s.seq_len;
  if (s.degrees.tp > 1) out["tensor_parallel"] = s.degrees.tp;
  if (s.degrees.pp > 1) out["pipeline_parallel"] = s.degrees.pp;
  if (s.degrees.cp > 1) out["context_parallel"] = s.degrees.cp;
  out["sharding_strategy"] = fsdp_strategy(s.sharding);
  if (s.sharding == Sharding::hsdp) out["shard_group"] = s.shard_size;
  if (s.framework->bucket > Bytes(0)) out["bucket_cap_mb"] = s.framework->bucket.in(1_MiB);
  out["torch_compile"] = s.spec.strategy.torch_compile;
  out["cpu_offload_optimizer"] = s.spec.strategy.offload_optimizer;
  if (const std::optional<double> steps = steps_to_train(s)) out["steps"] = static_cast<long>(*steps);
  return out;
}

}  // namespace stepcast
