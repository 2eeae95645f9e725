#include "models/convergence/target.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/scenario/memory_format.hpp"
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

/// Parallel dimensions, and how they run, where a script has to arrange for them.
void add_parallelism(Json& out, const Scenario& s) {
  const Degrees& d = s.degrees;
  const StrategySpec& strategy = s.spec.strategy;
  if (d.tp > 1) out["tensor_parallel"] = d.tp;
  if (d.tp > 1 && strategy.sequence_parallel) out["sequence_parallel"] = true;
  if (d.pp > 1) {
    out["pipeline_parallel"] = d.pp;
    out["pipeline_schedule"] = name_of(s.schedule);
    out["stage_layers"] = s.stage_layers;
  }
  if (d.vpp > 1) out["virtual_pipeline"] = d.vpp;
  if (d.cp > 1) {
    out["context_parallel"] = d.cp;
    out["context_method"] = name_of(s.context_method);
  }
  if (d.ep > 1) out["expert_parallel"] = d.ep;
  if (d.tp * d.pp * d.cp * d.ep > 1) out["rank_order"] = strategy.order;
}

/// ZeRO-1 is DDP whose optimizer holds a share of the states on each rank (torch.distributed.optim).
void add_sharding(Json& out, const Scenario& s) {
  out["sharding_strategy"] = fsdp_strategy(s.sharding);
  if (s.sharding == Sharding::zero1) out["zero_redundancy_optimizer"] = true;
  if (s.sharding == Sharding::hsdp) out["shard_group"] = s.shard_size;
}

void add_format(Json& out, Precision precision) {
  if (precision == Precision::bf16 || below_16_bit(precision)) out["bf16"] = {{"enabled", true}};
  if (precision == Precision::fp16) out["fp16"] = {{"enabled", true}};
}

/// Ulysses' ranks share samples: deepspeed.initialize builds its mesh where both sizes are given, and counts as many
/// replicas for the batch (deepspeed/__init__.py, runtime/config.py). Replicas of a pipeline are its own topology's.
void add_sequence_ranks(Json& out, const Degrees& d) {
  if (d.cp == 1) return;
  out["sequence_parallel_size"] = d.cp;
  if (d.pp == 1) out["data_parallel_size"] = d.dp;
}

}  // namespace

Json deepspeed_config(const Scenario& s) {
  Json out{{"train_batch_size", s.spec.workload.global_batch},
           {"train_micro_batch_size_per_gpu", s.degrees.micro_batch},
           {"gradient_accumulation_steps", s.degrees.micro_batches}};
  add_sequence_ranks(out, s.degrees);
  add_format(out, s.precision);
  if (s.spec.strategy.gradients_in_fp32 && s.precision != Precision::fp32)
    out["communication_data_type"] = *s.spec.strategy.gradients_in_fp32 ? "fp32"
                                     : s.precision == Precision::fp16   ? "fp16"
                                                                        : "bf16";
  Json& zero =
      out["zero_optimization"] = {{"stage", zero_stage(s.sharding)}, {"overlap_comm", synchronization_plan(s).overlap}};
  if (s.framework->bucket > Bytes(0)) zero["reduce_bucket_size"] = static_cast<long>(s.framework->bucket.value() / 2);
  if (offloads_to_drives(s))
    zero["offload_optimizer"] = {{"device", "nvme"}, {"nvme_path", "/local_nvme"}, {"pin_memory", true}};
  else if (s.spec.strategy.offload_optimizer)
    zero["offload_optimizer"] = {{"device", "cpu"}, {"pin_memory", true}};
  const bool full = s.spec.strategy.recompute == Recompute::full;
  if (full) out["activation_checkpointing"] = {{"partition_activations", false}};
  return out;
}

std::vector<std::string> beyond_deepspeed_config(const Scenario& s) {
  Json parallel = Json::object();
  add_parallelism(parallel, s);
  parallel.erase("context_parallel");  // sequence_parallel_size
  std::vector<std::string> out;
  if (const int rank = s.spec.workload.adapter_rank; rank > 0)
    out.push_back(fmt::format("adapters of rank {} on a frozen model ({})", rank, name_of(adapter_targets(s))));
  if (const auto& packed = s.spec.workload.frozen_weights)
    out.push_back(fmt::format("frozen weights in {}", name_of(*packed)));
  for (const auto& [key, value] : parallel.items())
    out.push_back(fmt::format("{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
  for (std::string& words : words_beside(s, {"overlap_gradients", "offload_activations"}))
    out.push_back(std::move(words));
  const Recompute recompute = s.spec.strategy.recompute;
  if (recompute != Recompute::none) out.push_back(fmt::format("recompute {}", name_of(recompute)));
  if (const auto layers = s.spec.strategy.recompute_layers)
    out.push_back(fmt::format("recompute of {} layers of each stage", *layers));
  if (const OptimizerKind optimizer = optimizer_of(s); optimizer != usual_optimizer(*s.model))
    out.push_back(fmt::format("optimizer {}", name_of(optimizer)));
  if (s.spec.strategy.parameters_in_16_bit) out.emplace_back("parameters in 16 bit alone");
  if (const auto kernel = s.spec.strategy.attention_kernel)
    out.push_back(fmt::format("attention by {}", name_of(*kernel)));
  if (s.spec.strategy.torch_compile) out.emplace_back("torch.compile");
  if (s.spec.strategy.offload_activations) out.emplace_back("activations in host memory");
  return out;
}

Json torch_config(const Scenario& s) {
  Json out{{"global_batch", s.spec.workload.global_batch},
           {"micro_batch_per_device", s.degrees.micro_batch},
           {"gradient_accumulation_steps", s.degrees.micro_batches},
           {"precision", std::string(name_of(s.precision))},
           {"activation_checkpointing", std::string(name_of(s.spec.strategy.recompute))}};
  if (s.model->is_transformer()) out["seq_len"] = s.seq_len;
  if (s.spec.workload.adapter_rank > 0) {
    out["adapter_rank"] = s.spec.workload.adapter_rank;
    out["adapter_targets"] = std::string(name_of(adapter_targets(s)));
  }
  if (const auto& packed = s.spec.workload.frozen_weights) out["frozen_weights"] = std::string(name_of(*packed));
  if (s.spec.workload.document_len > 0) out["document_len"] = s.spec.workload.document_len;
  add_parallelism(out, s);
  add_sharding(out, s);
  if (s.framework->bucket > Bytes(0)) out["bucket_cap_mb"] = s.framework->bucket.in(1_MiB);
  if (s.spec.strategy.recompute == Recompute::modules) {
    Json& modules = out["checkpointed_modules"] = Json::array();
    for (const RecomputeModule module : s.spec.strategy.recompute_modules) modules.push_back(name_of(module));
  }
  if (s.spec.strategy.recompute_layers) out["checkpointed_layers"] = *s.spec.strategy.recompute_layers;
  if (s.spec.strategy.gradients_in_fp32) out["gradients_in_fp32"] = *s.spec.strategy.gradients_in_fp32;
  if (s.spec.strategy.optimizer) out["optimizer"] = std::string(name_of(*s.spec.strategy.optimizer));
  if (s.spec.strategy.parameters_in_16_bit) out["parameters_in_16_bit"] = true;
  if (s.spec.strategy.attention_kernel)
    out["attention_kernel"] = std::string(name_of(*s.spec.strategy.attention_kernel));
  if (s.spec.strategy.fused_loss) out["fused_loss"] = *s.spec.strategy.fused_loss;
  out["torch_compile"] = s.spec.strategy.torch_compile;
  if (has_memory_format(*s.model) && !s.spec.strategy.torch_compile)
    out["memory_format"] = std::string(name_of(memory_format(s)));
  out["cpu_offload_optimizer"] = s.spec.strategy.offload_optimizer;
  if (const std::optional<double> steps = steps_to_train(s)) out["steps"] = static_cast<long>(*steps);
  std::set<std::string> told{"recompute_modules", "fused_loss", "memory_format"};
  if (s.sharding == Sharding::hsdp) told.insert("hsdp_shard_size");
  out.update(strategy_beside(s, told));
  return out;
}

}  // namespace stepcast
