#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "calibration/importers/models/imported_scenario.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_deepspeed_test {
namespace {

using test::catalog;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

ImportedScenario of(const std::string& config) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "ds.json";
  std::ofstream(file) << config;
  ImportTarget target;
  target.model = "llama3-8b";
  target.nodes = 2;
  return import_deepspeed(file, target, catalog());
}

// DeepSpeed's settings refuse drives below stage 3.
TEST(DeepSpeedImport, StatesGoToDrivesInStage3) {
  const auto imported = [](int stage) {
    return of(fmt::format(R"({{"train_micro_batch_size_per_gpu": 1, "bf16": {{"enabled": true}}, "zero_optimization":
      {{"stage": {}, "offload_optimizer": {{"device": "nvme", "nvme_path": "/local_nvme"}}}}}})",
                          stage));
  };
  EXPECT_EQ(imported(3).scenario["strategy"]["offload_optimizer_device"], "nvme");
  const ImportedScenario two = imported(2);
  EXPECT_FALSE(two.scenario["strategy"].contains("offload_optimizer_device"));
  EXPECT_THAT(two.notes, Contains(HasSubstr("stage 3 alone has it on drives")));
}

// The forecast of stage 3 always overlaps; a file that switches it off is no fault, and is told.
TEST(DeepSpeedImport, OverlapThatStageThreeCannotDoWithoutIsNamed) {
  const ImportedScenario third = of(R"({"zero_optimization": {"stage": 3, "overlap_comm": false}})");
  EXPECT_FALSE(third.scenario["strategy"].contains("overlap_gradients"));
  EXPECT_THAT(third.notes, Contains(HasSubstr("overlap_comm: off")));
  EXPECT_EQ(
      of(R"({"zero_optimization": {"stage": 1, "overlap_comm": false}})").scenario["strategy"]["overlap_gradients"],
      false);
}

// BF16_Optimizer cuts its states without any stage; with gradients in 16 bit, as with fp16, nothing does.
TEST(DeepSpeedImport, Bf16WithoutAStageIsShardedAllTheSame) {
  const auto sharding = [](const std::string& config) { return of(config).scenario["strategy"]["sharding"]; };
  EXPECT_EQ(sharding(R"({"bf16": {"enabled": true}, "zero_optimization": {"stage": 0}})"), "zero-1");
  EXPECT_EQ(sharding(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "bf16"}})"), "none");
  EXPECT_EQ(sharding(R"({"fp16": {"enabled": true}})"), "none");
}

TEST(DeepSpeedImport, TheEngineMayBeCompiled) {
  const auto strategy = [](const std::string& config) { return of(config).scenario["strategy"]; };
  EXPECT_EQ(strategy(R"({"zero_optimization": {"stage": 1}, "compile": {"disable": false}})")["torch_compile"], true);
  EXPECT_FALSE(
      strategy(R"({"zero_optimization": {"stage": 1}, "compile": {"disable": true}})").contains("torch_compile"));
}

TEST(DeepSpeedImport, WhatStandsInForTensorParallelismIsNotCompiled) {
  const ImportedScenario cut = of(
      R"({"zero_optimization": {"stage": 1}, "tensor_parallel": {"autotp_size": 2}, "compile": {"disable": false}})");
  EXPECT_FALSE(cut.scenario["strategy"].contains("torch_compile"));
  EXPECT_THAT(cut.notes, Contains(HasSubstr("compile: kernels are forecast as without it")));
}

// The first files: DeepSpeed reads true as stage 1.
TEST(DeepSpeedImport, StagesMayBeSwitches) {
  EXPECT_EQ(of(R"({"zero_optimization": true})").scenario["strategy"]["sharding"], "zero-1");
  EXPECT_EQ(of(R"({"zero_optimization": false})").scenario["strategy"]["sharding"], "none");
}

// 16 devices, 4 of which share a layer: 4 replicas × 2 × 3 rounds.
TEST(DeepSpeedImport, TensorAndSequenceParallelRanksShareABatch) {
  const Json tensor = of(R"({"tensor_parallel": {"autotp_size": 4}, "train_micro_batch_size_per_gpu": 2,
      "gradient_accumulation_steps": 3, "zero_optimization": {"stage": 1}})")
                          .scenario;
  EXPECT_EQ(tensor["strategy"]["tensor_parallel"], 4);
  EXPECT_EQ(tensor["strategy"]["framework"], "megatron-deepspeed");
  EXPECT_EQ(tensor["workload"]["global_batch"], 24);
  for (const char* stage : {"0", "2", "3"})
    EXPECT_EQ(
        of(std::string(R"({"tensor_parallel": {"autotp_size": 2}, "zero_optimization": {"stage": )") + stage + "}}")
            .scenario["strategy"]["tensor_parallel"],
        2)
        << stage;
  const Json sequence = of(R"({"sequence_parallel_size": 8, "train_micro_batch_size_per_gpu": 1,
      "zero_optimization": {"stage": 3}})")
                            .scenario;
  EXPECT_EQ(sequence["strategy"]["context_parallel"], 8);
  EXPECT_EQ(sequence["strategy"]["context_method"], "ulysses");
  EXPECT_EQ(sequence["workload"]["global_batch"], 2);
}

// deepspeed.initialize builds a mesh of both sizes: they have to be the devices. Alone, it reads neither for it.
TEST(DeepSpeedImport, AMeshIsOfAllDevices) {
  const auto mesh = [](int replicas) {
    return of(R"({"sequence_parallel_size": 4, "train_batch_size": 8, "data_parallel_size": )" +
              std::to_string(replicas) + "}");
  };
  EXPECT_EQ(mesh(4).scenario["strategy"]["context_parallel"], 4);
  EXPECT_THAT(mesh(4).notes, testing::Not(Contains(HasSubstr("data_parallel_size"))));
  try {
    mesh(8);
    FAIL() << "a mesh of 32 devices on 16";
  } catch (const InputError& error) {
    ASSERT_EQ(error.faults().size(), 1U);
    EXPECT_EQ(error.faults()[0].pointer, "/data_parallel_size");
    EXPECT_THAT(error.faults()[0].message, HasSubstr("found 8, but 16 devices, of which 4 share a sample"));
  }
  EXPECT_EQ(of(R"({"train_batch_size": 32, "data_parallel_size": 8})").scenario["workload"]["global_batch"], 32);
}

TEST(DeepSpeedImport, CommentsMayBeginWithAHash) {
  EXPECT_EQ(of("{ # the batch\n \"train_batch_size\": 32, // and its step\n \"wandb\": {\"group\": \"a # b\"} }")
                .scenario["workload"]["global_batch"],
            32);
}

TEST(DeepSpeedImport, AutocastSaysThePrecision) {
  EXPECT_EQ(of(R"({"torch_autocast": {"enabled": true, "dtype": "bfloat16"}})").scenario["workload"]["precision"],
            "bf16");
}

// transformers fills "auto" in from the Trainer's own arguments.
TEST(DeepSpeedImport, APrecisionLeftToTheTrainerIsNamed) {
  const auto precision = [](const std::string& config) {
    const ImportedScenario out = of(config);
    EXPECT_THAT(out.notes, Contains(AllOf(HasSubstr("--bf16 or --fp16"), HasSubstr("is assumed")))) << config;
    return out.scenario["workload"]["precision"];
  };
  EXPECT_EQ(precision(R"({"fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"}})"), "bf16");
  EXPECT_EQ(precision(R"({"fp16": {"enabled": "auto"}})"), "fp16");
  EXPECT_EQ(of(R"({"fp16": {"enabled": "auto"}, "bf16": {"enabled": true}})").scenario["workload"]["precision"],
            "bf16");
  EXPECT_EQ(of(R"({"fp16": {"enabled": true}, "bf16": {"enabled": "auto"}})").scenario["workload"]["precision"],
            "fp16");
}

TEST(DeepSpeedImport, WhatZeroPlusPlusAndMicsChangeIsNamed) {
  const ImportedScenario out = of(R"({"zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8,
    "zero_quantized_weights": true, "zero_quantized_gradients": true, "mics_shard_size": 8}})");
  for (const char* key :
       {"zero_hpz_partition_size 8", "zero_quantized_weights", "zero_quantized_gradients", "mics_shard_size 8"})
    EXPECT_THAT(out.notes, Contains(AllOf(HasSubstr(key), HasSubstr("not modelled"))));
}

TEST(DeepSpeedImport, ApexIsFp16) {
  EXPECT_EQ(of(R"({"amp": {"enabled": true, "opt_level": "O1"}})").scenario["workload"]["precision"], "fp16");
  EXPECT_EQ(of(R"({"amp": {"enabled": true, "opt_level": "O0"}})").scenario["workload"]["precision"], "fp32");
}

TEST(DeepSpeedImport, OtherOptimizersAreNamed) {
  EXPECT_THAT(of(R"({"optimizer": {"type": "OneBitAdam"}})").notes, Contains(HasSubstr("reductions of 1 bit")));
  EXPECT_THAT(of(R"({"optimizer": {"type": "Shampoo"}})").notes,
              Contains(HasSubstr("its states and update are taken")));
  const auto optimizer = [&](const std::string& type) {
    const Json config{{"optimizer", {{"type", type}}}};
    return of(config.dump()).scenario.at("strategy").value("optimizer", "");
  };
  EXPECT_EQ(optimizer("SGD"), "sgd");
  EXPECT_EQ(optimizer("Lion"), "lion");
  EXPECT_EQ(optimizer("Adafactor"), "adafactor");
  EXPECT_EQ(optimizer("PagedAdamW8bit"), "adam-8bit");
  EXPECT_EQ(optimizer("FusedLamb"), "");
  EXPECT_EQ(optimizer("Muon"), "muon");
  const auto cut = of(R"({"zero_optimization": {"stage": 3}, "optimizer": {"type": "Muon"}})");
  EXPECT_FALSE(cut.scenario.at("strategy").contains("optimizer"));
  EXPECT_THAT(cut.notes, Contains(HasSubstr("optimizer \"Muon\" beside sharding zero-3: its states")));
  const auto on_host = of(
      R"({"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, "optimizer": {"type": "Lion"}})");
  EXPECT_FALSE(on_host.scenario.at("strategy").contains("optimizer"));
  EXPECT_THAT(on_host.notes, Contains(HasSubstr("optimizer lion in host memory: processors are forecast")));
  for (const std::string& note : of(R"({"optimizer": {"type": "FusedAdam"}})").notes)
    EXPECT_THAT(note, testing::Not(HasSubstr("optimizer")));
}

TEST(DeepSpeedImport, GradientsAreKeptInTheTypeThatItNames) {
  const ImportedScenario out = of(R"({"bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}})");
  EXPECT_EQ(out.scenario["strategy"]["gradients_in_fp32"], true);
  const ImportedScenario both = of(R"({"bf16": {"enabled": true}, "communication_data_type": "bf16",
      "data_types": {"grad_accum_dtype": "fp32"}})");
  EXPECT_EQ(both.scenario["strategy"]["gradients_in_fp32"], false);
  EXPECT_THAT(both.notes, Contains(HasSubstr("kept in it, too")));
}

// Plain data parallelism would stand in for the stage that was meant.
TEST(DeepSpeedImport, MisspeltKeysAreFaults) {
  const auto faults = [](const std::string& text) -> std::string {
    try {
      of(text);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(faults(R"({"bf16": {"enabled": true}, "zero_optimisation": {"stage": 3}})"),
              HasSubstr("/zero_optimisation: unknown key; did you mean \"zero_optimization\"?"));
  EXPECT_THAT(faults(R"({"zero_optimization": {"stage": 1, "overlapcomm": false}})"),
              HasSubstr("/zero_optimization/overlapcomm: unknown key; did you mean \"overlap_comm\"?"));
  EXPECT_THAT(faults(R"({"zero_optimization": {"stag": 3}})"), HasSubstr("did you mean \"stage\"?"));
  EXPECT_THAT(faults(R"({"bf16": {"enable": true}})"), HasSubstr("/bf16/enable: unknown key"));
  EXPECT_THAT(faults(R"({"tensor_parallel": {"autotp_sise": 8}})"), HasSubstr("/tensor_parallel/autotp_sise"));
  EXPECT_EQ(faults(R"({"fp16": {"enabled": true}, "fp32": {}, "zero_optimization": {"stage": 2, "stage2_x": 1}})"), "");
}

}  // namespace
}  // namespace stepcast::import_deepspeed_test
