#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/models/imported_scenario.hpp"
#include "tests/unit/imported_text.hpp"

namespace stepcast::import_accelerate_test {
namespace {

using testing::HasSubstr;

using Result = test::ImportedText;

Result import(const std::string& text, const ImportTarget& target = {}) {
  return test::import_text(import_accelerate, "accelerate.yaml", text, target);
}

constexpr const char* kFsdp = R"(compute_environment: LOCAL_MACHINE
debug: false
distributed_type: FSDP
downcast_bf16: 'no'
fsdp_config:
  fsdp_activation_checkpointing: true
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_backward_prefetch: BACKWARD_PRE
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_sharding_strategy: HYBRID_SHARD
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_sync_module_states: true
  fsdp_use_orig_params: true
  fsdp_of_tomorrow: 3
machine_rank: 0
mixed_precision: bf16
num_machines: 2
num_processes: 16
rdzv_backend: static
same_network: true
tpu_env: []
my_key: 1
)";

TEST(Accelerate, Fsdp) {
  const Result out = import(kFsdp);
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["cluster"]["nodes"], 2);
  EXPECT_EQ(out.scenario["strategy"]["sharding"], "hsdp");
  EXPECT_EQ(out.scenario["strategy"]["hsdp_shard_size"], 8);
  EXPECT_EQ(out.scenario["strategy"]["recompute"], "full");
  EXPECT_EQ(out.scenario["workload"]["precision"], "bf16");
  EXPECT_EQ(out.scenario["workload"]["global_batch"], 16);
  EXPECT_THAT(out.notes, HasSubstr("unknown keys, not used: fsdp_config.fsdp_of_tomorrow, my_key"));
  EXPECT_THAT(out.notes, HasSubstr("llama3-8b stands in"));
  EXPECT_THAT(out.notes, HasSubstr("strategy.attention_kernel native"));
}

TEST(Accelerate, MisspeltKeysAreFaults) {
  EXPECT_THAT(import("distributed_type: FSDP\nnum_processes: 8\nfsdp_confg:\n  fsdp_version: 2\n").faults,
              HasSubstr("/fsdp_confg: unknown key; did you mean \"fsdp_config\"?"));
}

// Transformers' RMS norms are kernels of their own operators; GPT-3 has other norms, and torch.compile fuses either.
TEST(Accelerate, NormsOfReplicatedModels) {
  const auto fused = [](const std::string& text, const char* model) {
    ImportTarget target;
    target.model = model;
    const Result out = import("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 8\n" + text, target);
    EXPECT_EQ(out.faults, "");
    return out.scenario["strategy"].value("fused_norm", true);
  };
  EXPECT_FALSE(fused("", "llama3-8b"));
  EXPECT_TRUE(fused("", "gpt3-175b"));
  EXPECT_TRUE(fused("dynamo_config:\n  dynamo_backend: INDUCTOR\n", "llama3-8b"));
}

TEST(Accelerate, ShardingByNumberNameOrSecondVersion) {
  const auto sharding = [](const std::string& line) {
    const Result out =
        import("distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\nfsdp_config:\n  " + line);
    EXPECT_EQ(out.faults, "") << line;
    return out.scenario["strategy"]["framework"].get<std::string>() + " " +
           out.scenario["strategy"]["sharding"].get<std::string>();
  };
  EXPECT_EQ(sharding("fsdp_sharding_strategy: 1"), "pytorch-fsdp fsdp");
  EXPECT_EQ(sharding("fsdp_sharding_strategy: SHARD_GRAD_OP"), "pytorch-fsdp zero-2");
  EXPECT_EQ(sharding("fsdp_sharding_strategy: 3"), "pytorch-ddp none");
  EXPECT_EQ(sharding("fsdp_version: 2\n  fsdp_reshard_after_forward: false"), "pytorch-fsdp zero-2");
  EXPECT_EQ(sharding("fsdp_version: 2"), "pytorch-fsdp fsdp");
  EXPECT_THAT(import("distributed_type: FSDP\nnum_processes: 8\nfsdp_config:\n  fsdp_sharding_strategy: ALL").faults,
              HasSubstr("FULL_SHARD"));
}

TEST(Accelerate, DeepSpeedInPlaceOrInAFileBesideIt) {
  const std::string head = "distributed_type: DEEPSPEED\nmixed_precision: fp16\nnum_processes: 8\ndeepspeed_config:\n";
  const Result out = import(head +
                            "  gradient_accumulation_steps: 4\n  offload_optimizer_device: cpu\n"
                            "  offload_param_device: none\n  zero3_init_flag: false\n  zero_stage: 2\n");
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["strategy"]["sharding"], "zero-2");
  EXPECT_EQ(out.scenario["strategy"]["offload_optimizer"], true);
  EXPECT_EQ(out.scenario["workload"]["precision"], "fp16");
  EXPECT_EQ(out.scenario["workload"]["global_batch"], 32);
  EXPECT_THAT(import(head + "  deepspeed_config_file: absent.json\n").faults, HasSubstr("absent.json"));
}

TEST(Accelerate, MegatronAndDegrees) {
  const Result megatron = import(
      "distributed_type: MEGATRON_LM\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nmegatron_lm_config:\n"
      "  megatron_lm_gradient_clipping: 1.0\n  megatron_lm_num_micro_batches: 2\n  megatron_lm_pp_degree: 2\n"
      "  megatron_lm_recompute_activations: true\n  megatron_lm_sequence_parallelism: true\n"
      "  megatron_lm_tp_degree: 2\n  megatron_lm_use_distributed_optimizer: true\n");
  EXPECT_EQ(megatron.faults, "");
  EXPECT_EQ(megatron.scenario["strategy"]["tensor_parallel"], 2);
  EXPECT_EQ(megatron.scenario["strategy"]["pipeline_parallel"], 2);
  EXPECT_EQ(megatron.scenario["strategy"]["sharding"], "zero-1");
  EXPECT_EQ(megatron.scenario["workload"]["global_batch"], 4);
  const Result degrees = import(
      "distributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 16\nparallelism_config:\n"
      "  parallelism_config_dp_replicate_size: 2\n  parallelism_config_dp_shard_size: 4\n"
      "  parallelism_config_tp_size: 2\n");
  EXPECT_EQ(degrees.faults, "");
  EXPECT_EQ(degrees.scenario["strategy"]["sharding"], "hsdp");
  EXPECT_EQ(degrees.scenario["strategy"]["hsdp_shard_size"], 4);
}

TEST(Accelerate, WhatYamlTakesForTruthValues) {
  const Result out = import("distributed_type: NO\nmixed_precision: no\nnum_processes: 8\n");
  EXPECT_EQ(out.faults, "");
  EXPECT_EQ(out.scenario["workload"]["precision"], "fp32");
  EXPECT_EQ(out.scenario["strategy"]["framework"], "pytorch-ddp");
}

TEST(Accelerate, ProcessesFillNodes) {
  EXPECT_THAT(import("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 12\n").faults,
              HasSubstr("12 processes fill no whole number of dgx-h100"));
  ImportTarget two;
  two.nodes = 2;
  const Result taken = import("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 3\n", two);
  EXPECT_EQ(taken.scenario["cluster"]["nodes"], 2);
  EXPECT_THAT(taken.notes, HasSubstr("3 processes, on 16 devices"));
}

// Machines that start fewer processes than they have devices are parts of them, and the network between them counts.
TEST(Accelerate, FewerProcessesAreAPartOfAMachine) {
  const Result two = import("distributed_type: MULTI_GPU\nmixed_precision: bf16\nnum_processes: 8\nnum_machines: 2\n");
  EXPECT_EQ(two.scenario["cluster"], Json::parse(R"({"node": "dgx-h100-4-of-8", "nodes": 2})"));
  EXPECT_THAT(two.notes, HasSubstr("4 processes a node, dgx-h100 has 8 devices: dgx-h100-4-of-8"));
  EXPECT_EQ(import("distributed_type: FSDP\nnum_processes: 1\n").scenario["cluster"]["node"], "dgx-h100-1-of-8");
}

TEST(Accelerate, ProcessorsAreNoDevices) {
  EXPECT_THAT(import("distributed_type: MULTI_CPU\nnum_processes: 4\n").faults,
              HasSubstr("/distributed_type: training on processors"));
  EXPECT_THAT(import("distributed_type: 'NO'\nuse_cpu: true\n").faults, HasSubstr("/use_cpu: training on processors"));
}

TEST(Accelerate, AFileBesideThatIsNowhereIsNamed) {
  EXPECT_THAT(import("distributed_type: DEEPSPEED\nnum_processes: 8\ndeepspeed_config:\n  deepspeed_config_file: "
                     "no/such.json\n")
                  .faults,
              HasSubstr("/deepspeed_config/deepspeed_config_file: found \"no/such.json\""));
}

TEST(Accelerate, OtherFiles) {
  EXPECT_EQ(import("# written by hand\n---\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_processes: 8\n").faults,
            "");
  EXPECT_THAT(import("distributed_type: FSDP\n\tnum_processes: 8\n").faults, HasSubstr("line 2: is indented by tabs"));
  EXPECT_THAT(import("").faults, HasSubstr("expected keys with values"));
  EXPECT_THAT(import("a: 1\n").faults, HasSubstr("/distributed_type: missing"));
  EXPECT_THAT(import("distributed_type: FSDP\n  b: 2\n").faults, HasSubstr("line 2"));
  EXPECT_THAT(import("distributed_type: SOMETHING\n").faults, HasSubstr("MULTI_GPU"));
  EXPECT_THAT(import("distributed_type: FSDP\nfsdp_config: [1]\nnum_processes: 8\n").faults,
              HasSubstr("/fsdp_config: found an array"));
}

}  // namespace
}  // namespace stepcast::import_accelerate_test
