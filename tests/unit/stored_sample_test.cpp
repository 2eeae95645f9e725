// What a sample of the training data is, and what reading one costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/storage/input_pipeline.hpp"
#include "models/storage/storage.hpp"
#include "report/predict.hpp"
#include "report/run_outlook.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::stored_sample_test {
namespace {

using test::shipped;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Llama 3's 128,256 tokens take 32 bits each; GPT-2's 50,257 take 16.
TEST(StoredSample, IsASequenceOfTokensForAllThatReadsIt) {
  for (const auto& [name, bytes] :
       {std::pair("llama3-70b-h100-512.json", 4.0), std::pair("gpt3-175b-a100-1024.json", 2.0)}) {
    const Scenario s = shipped(name);
    const Bytes sample(bytes * s.seq_len);
    EXPECT_EQ(stored_sample(s), sample) << name;
    EXPECT_EQ(input_pipeline(s).sample, sample) << name;
    const double of_device = static_cast<double>(s.spec.workload.global_batch) / s.devices();
    EXPECT_DOUBLE_EQ(input_per_device(s).value(), (sample * of_device).value()) << name;
    EXPECT_EQ(copied_per_device(s), input_per_device(s)) << name;
  }
}

TEST(StoredSample, IsWhatTheScenarioStates) {
  const Scenario s = shipped("llama3-70b-h100-512.json", {"workload.input.sample_kB=7"});
  EXPECT_EQ(stored_sample(s), 7_kB);
}

// A reader of small files waits for opening each, 11 us, and for the drive's first bytes: 100 us of a PM1733.
TEST(SmallFiles, WaitForTheDrivesFirstRead) {
  const Scenario s =
      shipped("resnet50-v100-8nodes.json",
              {"cluster.node=dgx-a100-40gb", "workload.input.samples_per_file=1", "workload.input.workers=1",
               "workload.input.page_cache=false", "workload.input.source=local"});
  const InputPipeline pipeline = input_pipeline(s);
  for (const InputLimit& limit : pipeline.limits)
    if (limit.stage == InputStage::requests) {
      EXPECT_NEAR(limit.samples_per_s, pipeline.readers / 111e-6, 1);
      return;
    }
  FAIL() << "small files cost nothing";
}

// 16 nodes behind 1 Gb/s, and a file system of which the catalogue states no rate.
TEST(UnknownStorage, IsNoFasterThanTheNics) {
  const std::vector<std::string> terms{"cluster.storage=fsx-lustre-persistent2-250", "workload.input.page_cache=false",
                                       "workload.input.sample_kB=100000", "run.checkpoint.size_GB=100"};
  const Prediction p = predict_analytic(shipped("systems/elephas.json", terms), test::catalog());
  EXPECT_NEAR(p.outlook->checkpoint.stall.value(), 50, 0.01);
  const InputOutlook& input = p.outlook->input;
  EXPECT_EQ(input.bound, "storage");
  EXPECT_NEAR(*input.samples_per_s, 20, 1e-6);
  EXPECT_THAT(input.advice, Not(Contains(HasSubstr("larger files"))));
  EXPECT_THAT(p.assumptions, Contains(HasSubstr("input is read as fast as NICs carry it, 2 GB/s over 16 nodes: the "
                                                "catalogue has no rates of fsx-lustre-persistent2-250")));
  EXPECT_THAT(p.assumptions, Contains(HasSubstr("one data-centre NVMe drive a node through its NICs, 125 MB/s written "
                                                "and 125 MB/s read")));
}

// BLOOM's file system is known by the rate of its checkpoints alone, 57.5 GB/s.
TEST(UnknownStorage, ReadsAsFastAsItWrites) {
  const std::vector<std::string> terms{"cluster.storage=bloom-gpfs-checkpoint", "workload.input.page_cache=false",
                                       "workload.input.sample_kB=100000", "run.checkpoint.size_GB=1150"};
  const Prediction p = predict_analytic(shipped("bloom-176b-a100-384.json", terms), test::catalog());
  ASSERT_TRUE(p.outlook->input.samples_per_s);
  EXPECT_NEAR(*p.outlook->input.samples_per_s, 575, 1e-6);
  EXPECT_THAT(p.assumptions,
              Contains("input is read as fast as bloom-gpfs-checkpoint writes: it states no rate of reading"));
  EXPECT_THAT(p.assumptions,
              Contains("checkpoints are read as fast as bloom-gpfs-checkpoint writes: it states no rate of reading"));
}

// Several samples of 100 MB in a file of 100 MB are none.
TEST(SmallFiles, NeedNoShardsOfTheirSize) {
  const Scenario scenario =
      shipped("resnet50-v100-8nodes.json", {"workload.input.sample_kB=100000", "workload.input.samples_per_file=1"});
  EXPECT_THAT(input_advice(scenario, input_pipeline(scenario), 1e9), Not(Contains(HasSubstr("shards"))));
}

}  // namespace
}  // namespace stepcast::stored_sample_test
