#include "models/parallelism/lowering.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/estimate.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::lowering_test {
namespace {

using test::shipped;

/// What is set of a scenario, together.
using Setting = std::vector<std::string>;

/// Settings to walk through of a scenario that ships.
struct Walk {
  std::string scenario;
  std::vector<Setting> settings;
};

std::vector<Setting> settings_of_transformers() {
  return {
      {},
      {"strategy.fused_loss=false"},
      {"strategy.fused_activation=false"},
      {"strategy.fused_norm=false"},
      {"strategy.overlap_tensor_parallel=true"},
      {"strategy.overlap_gradients=false"},
      {"strategy.sequence_parallel=false"},
      {"strategy.recompute=full"},
      {"strategy.recompute=full", "strategy.recompute_last_stage=false"},
      {"strategy.recompute=full", "strategy.recompute_layers=1"},
      {"strategy.recompute=selective"},
      {"strategy.offload_activations=true"},
      {"strategy.collective_algorithm=ring"},
      {"strategy.context_parallel=2"},
      {"strategy.context_parallel=2", "strategy.context_method=ulysses"},
      {"strategy.gradients_in_fp32=false"},
      {"strategy.optimizer=adam-8bit"},
      {"strategy.sharding=none"},
      {"strategy.order=tp-cp-ep-pp-dp"},
      {"strategy.pipeline_parallel=2"},
      {"strategy.virtual_pipeline=1", "strategy.schedule=gpipe"},
      {"strategy.virtual_pipeline=1", "strategy.stage_layers=[23, 19, 19, 19]"},
      {"strategy.data_parallel=32"},
      {"strategy.offload_optimizer=true"},
      {"strategy.tensor_parallel=4"},
      {"strategy.micro_batch=2"},
      {"strategy.recompute=modules", "strategy.recompute_modules=[\"mlp\"]"},
      {"strategy.recompute=modules", "strategy.recompute_modules=[\"norm\", \"attention_core\"]"},
      {"strategy.overlap_parameter_gather=false"},
  };
}

std::vector<Walk> walks() {
  const std::vector<Setting> of_a_cnn{{},
                                      {"strategy.compression={\"method\": \"powersgd\", \"rank\": 4}"},
                                      {"strategy.sync_batch_norm=true"},
                                      {"strategy.memory_format=channels_first"},
                                      {"strategy.micro_batch=64"},
                                      {"strategy.overlap_gradients=false"}};
  const std::string mixtral = "workload.model=mixtral-8x7b", chunks = "strategy.virtual_pipeline=4",
                    ep = "strategy.expert_parallel=8", whole = "strategy.expert_tensor_parallel=1";
  const std::vector<Setting> of_experts{{mixtral, chunks},
                                        {mixtral, chunks, ep},
                                        {mixtral, chunks, ep, "strategy.expert_dispatch=deepep"},
                                        {mixtral, chunks, ep, "strategy.expert_dispatch=all_to_all"},
                                        {mixtral, chunks, ep, "strategy.overlap_expert_parallel=true"},
                                        {mixtral, chunks, ep, whole},
                                        {mixtral, chunks, whole}};
  const std::string fp8 = "workload.precision=fp8", narrow = "strategy.fp8_dot_product_attention=true";
  const std::vector<Setting> in_eight_bit{
      {fp8}, {fp8, narrow}, {fp8, "strategy.recompute=selective"}, {fp8, narrow, "strategy.recompute=selective"}};
  const std::string fsdp = "strategy={\"framework\": \"pytorch-fsdp\", \"micro_batch\": 1}";
  const std::vector<Setting> of_kernels{{fsdp},
                                        {fsdp, "strategy.fused_rotary=true"},
                                        {fsdp, "strategy.fused_norm=true"},
                                        {fsdp, "strategy.torch_compile=true"}};
  const std::string jax = "strategy={\"framework\": \"jax\", \"micro_batch\": 1, \"tensor_parallel\": 8}";
  const std::vector<Setting> of_shards{{jax, "strategy.sharding=fsdp"},
                                       {jax, "strategy.sharding=hsdp"},
                                       {jax, "strategy.sharding=hsdp", "strategy.hsdp_shard_size=16"},
                                       {jax, "strategy.sharding=none"},
                                       {jax, "strategy.recompute=full"}};
  const std::string zero3 = "strategy={\"framework\": \"deepspeed\", \"micro_batch\": 1, \"sharding\": \"zero-3\"}",
                    offloaded = "strategy.offload_optimizer=true";
  const std::vector<Setting> of_states{{zero3},
                                       {zero3, offloaded},
                                       {zero3, offloaded, "strategy.offload_optimizer_device=nvme"},
                                       {zero3, "strategy.recompute=full"}};
  const std::string llama = "llama3-70b-h100-512.json";
  const std::vector<Setting> settings = settings_of_transformers();
  return {{llama, of_kernels},
          {llama, settings},
          {llama, of_shards},
          {llama, of_states},
          {llama, in_eight_bit},
          {llama, of_experts},
          {"bloom-176b-a100-384.json", settings},
          {"resnet50-v100-8gpus.json", of_a_cnn}};
}

/// The scenario with what is set; nothing where that is not legal for it.
std::optional<Scenario> with_setting(const std::string& name, const Setting& setting) {
  try {
    return shipped(name, setting);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Keys of the strategy that are set.
std::set<std::string> keys_of(const Setting& setting) {
  std::set<std::string> out;
  for (const std::string& one : setting)
    if (one.starts_with("strategy.")) out.insert(one.substr(9, one.find('=') - 9));
  return out;
}

/// Walks there and back again, one Lowering for all of it. Returns the keys of the strategy that were set.
std::set<std::string> follow(const Walk& walk) {
  std::set<std::string> followed;
  Lowering lowering;
  std::vector<Setting> settings = walk.settings;
  settings.insert(settings.end(), walk.settings.rbegin(), walk.settings.rend());
  int compared = 0;
  for (const Setting& setting : settings) {
    const std::optional<Scenario> scenario = with_setting(walk.scenario, setting);
    if (!scenario) continue;
    ++compared;
    followed.merge(keys_of(setting));
    EXPECT_EQ(estimate(lowering.lower(*scenario)).step_time, estimate(lower(*scenario)).step_time)
        << walk.scenario << ' ' << testing::PrintToString(setting);
  }
  EXPECT_GE(compared, 8) << walk.scenario;
  return followed;
}

// Costed layers stay from one scenario of a family to the next only while nothing that they depend on changes: whatever
// setting of the strategy does, one after another and back again, the quick way says what the slow one says.
TEST(Lowering, FollowsEverySettingOfAStrategy) {
  std::set<std::string> followed;
  for (const Walk& walk : walks()) followed.merge(follow(walk));
  // A family has one framework with its kernels of attention and formats of parameters, and updates beside collectives
  // are no family's.
  const std::set<std::string> of_no_family{"framework",           "update",      "worker",       "staleness_bound",
                                           "backup_workers",      "local_steps", "gossip_graph", "federated",
                                           "parameter_servers",   "actors",      "step_spread",  "attention_kernel",
                                           "parameters_in_16_bit"};
  for (const std::string& key : StrategySpec::fields().keys())
    EXPECT_TRUE(followed.contains(key) || of_no_family.contains(key)) << key << " is tried nowhere";
}

}  // namespace
}  // namespace stepcast::lowering_test
