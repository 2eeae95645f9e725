#include "models/frameworks/framework.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fields/data_directory.hpp"
#include "fields/json_text.hpp"
#include "models/frameworks/check_framework.hpp"
#include "models/scenario/default_scenario.hpp"
#include "models/scenario/framework_constants.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::framework_test {
namespace {

using testing::HasSubstr;
using namespace literals;

std::shared_ptr<const FrameworkProfile> profile(const std::string& id) {
  Diagnostics diagnostics("test");
  auto out = find_framework(id, "/strategy/framework", diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

TEST(FrameworkProfiles, AllAreReadableAndNameOnlyKnownShardings) {
  ASSERT_GE(framework_ids().size(), 10U);
  for (const std::string& id : framework_ids()) {
    const auto read = profile(id);
    for (const std::string& sharding : read->shardings)
      EXPECT_TRUE(parse_enum<Sharding>(sharding)) << id << ": " << sharding;
  }
}

TEST(FrameworkProfiles, EveryFigureHasASourceAndEvidence) {
  for (const std::string& id : framework_ids()) {
    const auto p = profile(id);
    for (const char* figure : {"shardings", "overlap_gradients", "memory_efficiency", "host_per_layer_forward_us",
                               "step_overhead_ms", "optimizer_bytes_per_parameter", "gradients_in_fp32"}) {
      EXPECT_TRUE(p->sources.contains(figure)) << id << ": no source of " << figure;
      EXPECT_TRUE(p->evidence.contains(figure)) << id << ": no evidence of " << figure;
    }
  }
}

// What torch.compile compiles runs PyTorch's own kernels where it does not.
TEST(FrameworkProfiles, ThoseThatCompileHavePyTorchsKernels) {
  for (const std::string& id : framework_ids())
    EXPECT_TRUE(profile(id)->compiled_memory_efficiency == 0 || profile(id)->kernels_by_element) << id;
}

Json profile_json(const std::string& id) {
  Diagnostics diagnostics("test");
  return read_json(data_directory("models/frameworks/profiles") / (id + ".json"), diagnostics);
}

// "taken over from ID" is what a figure's source says that was measured with another framework alone.
TEST(FrameworkProfiles, WhatIsTakenOverIsWhatTheOtherHas) {
  int taken_over = 0;
  for (const std::string& id : framework_ids()) {
    const Json own = profile_json(id), sources = own.value("sources", Json::object());
    for (const auto& [figure, source] : sources.items()) {
      const std::string text = source.get<std::string>(), words = "taken over from ";
      if (!text.starts_with(words)) continue;
      const std::string from = text.substr(words.size(), text.find_first_of(":;,", words.size()) - words.size());
      EXPECT_EQ(own.at(figure), profile_json(from).at(figure)) << id << ": " << figure << " of " << from;
      ++taken_over;
    }
  }
  EXPECT_GT(taken_over, 50);
}

TEST(FrameworkProfiles, UnknownIdIsAFaultWithTheNearest) {
  Diagnostics diagnostics("test");
  EXPECT_EQ(find_framework("pytorch-dpp", "/strategy/framework", diagnostics), nullptr);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_EQ(diagnostics.faults()[0].suggestion, "did you mean \"pytorch-ddp\"?");
}

TEST(FrameworkProfiles, OfferWhatThereIs) {
  FrameworkProfile own = *profile("megatron-lm");
  own.shardings = {"none", "zero-4"};
  own.expert_dispatches.clear();
  own.exchange.updates.clear();
  Diagnostics diagnostics("test");
  check_framework(own, diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 3U);
  EXPECT_EQ(diagnostics.faults()[0].text(), "test: /shardings/1: found \"zero-4\"; did you mean \"zero-1\"?");
  EXPECT_EQ(diagnostics.faults()[1].pointer, "/expert_dispatches");
  EXPECT_EQ(diagnostics.faults()[2].pointer, "/exchange/updates");
}

// A catalogue of one's own gets no further than a calibration file.
TEST(FrameworkProfiles, ConstantsMoveWhatAFitMoves) {
  Diagnostics diagnostics("test");
  const FrameworkProfile own = *profile("megatron-lm");
  EXPECT_EQ(with_constants(own, {{"step_overhead_ms", 7}}, diagnostics).step_overhead, 7_ms);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(with_constants(own, {{"shardings", Json::array()}}, diagnostics).shardings, own.shardings);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_EQ(diagnostics.faults()[0].pointer, "/shardings");
  EXPECT_THAT(diagnostics.faults()[0].suggestion, HasSubstr("memory_efficiency"));
}

TEST(FrameworkProfiles, AreReadOnce) { EXPECT_EQ(profile("pytorch-ddp"), profile("pytorch-ddp")); }

Json on_node(const char* node, const char* framework) {
  Json document{{"cluster", {{"node", node}, {"nodes", 2}}},
                {"workload", {{"model", "bert-large"}, {"global_batch", 64}}},
                {"strategy", {{"micro_batch", 1}}}};
  if (framework != nullptr) document["strategy"]["framework"] = framework;
  return document;
}

/// Fault of a framework on a node, "" where it runs.
std::string fault_on(const char* node, const char* framework) {
  try {
    (void)resolve(on_node(node, framework), "test", {}, test::catalog());
    return {};
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 1U) << error.what();
    return error.what();
  }
}

TEST(FrameworkProfiles, RunOnTheAcceleratorsOfTheirMakers) {
  EXPECT_THAT(fault_on("dgx-h100", "neuronx"), HasSubstr("neuronx does not train on accelerators of NVIDIA"));
  EXPECT_THAT(fault_on("mi325x-platform-8", "tensorflow-tpu"), HasSubstr("did you mean \"pytorch-ddp\"?"));
  EXPECT_THAT(fault_on("tpu-v4-host", "megatron-lm"), HasSubstr("did you mean \"jax\"?"));
  EXPECT_THAT(fault_on("aws-trn1.32xlarge", "pytorch-ddp"), HasSubstr("did you mean \"neuronx\"?"));
  for (const char* node : {"dgx-h100", "mi325x-platform-8", "hls-gaudi2"}) EXPECT_EQ(fault_on(node, "megatron-lm"), "");
  for (const char* node : {"dgx-h100", "mi325x-platform-8", "tpu-v4-host"}) EXPECT_EQ(fault_on(node, "jax"), "");
  EXPECT_EQ(fault_on("aws-trn1.32xlarge", "neuronx"), "");
}

// Where none is named, and where a strategy is sought, too.
TEST(FrameworkProfiles, EveryMakersAcceleratorHasADefault) {
  for (const auto& [node, expected] : std::vector<std::pair<const char*, const char*>>{
           {"dgx-h100", "pytorch-ddp"}, {"tpu-v4-host", "jax"}, {"aws-trn1.32xlarge", "neuronx"}}) {
    EXPECT_EQ(resolve(on_node(node, nullptr), "test", {}, test::catalog()).framework->id, expected);
    EXPECT_EQ(default_scenario("bert-large", node, 2, test::catalog())["strategy"]["framework"], expected);
  }
}

TEST(FrameworkProfiles, SayWhatTheyAreUsualFor) {
  const auto usual = [](const char* maker) {
    return std::vector{default_framework(maker, Spread::replicated), default_framework(maker, Spread::sharded),
                       default_framework(maker, Spread::cut)};
  };
  for (const char* maker : {"NVIDIA", "AMD", "Intel", "Acme"})
    EXPECT_THAT(usual(maker), testing::ElementsAre("pytorch-ddp", "pytorch-fsdp", "megatron-lm")) << maker;
  EXPECT_THAT(usual("Google"), testing::Each("jax"));
  EXPECT_THAT(usual("AWS"), testing::Each("neuronx"));
  EXPECT_THAT(usual(""), testing::Each("pytorch-cpu")) << "processors";
}

// Of somebody's own accelerator no profile says anything.
TEST(FrameworkProfiles, AnUnknownMakersAcceleratorRunsAnything) {
  EXPECT_EQ(default_framework("Acme"), "pytorch-ddp");
  EXPECT_FALSE(profile("megatron-lm")->runs_on("Acme"));
}

// PyTorch DDP: 25 MiB whatever the ranks.
TEST(GradientBucket, InBytesIsAsWritten) { EXPECT_EQ(profile("pytorch-ddp")->bucket_of(2, 512), 25_MiB); }

// Megatron: max(40 M, 1 M × ranks) parameters. 16 ranks: 40 M × 4 bytes = 160 MB; 64 ranks: 64 M × 4 = 256 MB.
TEST(GradientBucket, InParametersGrowsWithRanksAndFormat) {
  EXPECT_EQ(profile("megatron-lm")->bucket_of(4, 16), 160_MB);
  EXPECT_EQ(profile("megatron-lm")->bucket_of(4, 64), 256_MB);
  EXPECT_EQ(profile("megatron-lm")->bucket_of(2, 64), 128_MB);
}

TEST(DefaultFramework, IsOneThatOffersWhatIsStated) {
  const auto taken = [](const Json& strategy, const char* node = "dgx-h100") {
    return resolve(Json{{"cluster", {{"node", node}, {"nodes", 2}}},
                        {"workload", {{"model", "llama3-8b"}, {"global_batch", 64}}},
                        {"strategy", strategy}},
                   "test", {}, test::catalog())
        .framework->id;
  };
  EXPECT_EQ(taken({{"sharding", "zero-1"}}), "pytorch-ddp");
  EXPECT_EQ(taken({{"sharding", "fsdp"}}), "pytorch-fsdp");
  EXPECT_EQ(taken({{"tensor_parallel", 8}}), "megatron-lm");
  EXPECT_EQ(taken({{"pipeline_parallel", 2}, {"sharding", "zero-1"}}), "megatron-lm");
  EXPECT_EQ(taken({{"sharding", "fsdp"}}, "tpu-v5p-host"), "jax");
}

}  // namespace
}  // namespace stepcast::framework_test
