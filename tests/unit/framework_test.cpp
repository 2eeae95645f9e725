#include "models/frameworks/framework.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fields/data_directory.hpp"
#include "fields/json_text.hpp"
#include "models/scenario/scenario.hpp"

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

TEST(FrameworkProfiles, AreReadOnce) { EXPECT_EQ(profile("pytorch-ddp"), profile("pytorch-ddp")); }

// PyTorch DDP: 25 MiB whatever the ranks.
TEST(GradientBucket, InBytesIsAsWritten) { EXPECT_EQ(profile("pytorch-ddp")->bucket_of(2, 512), 25_MiB); }

// Megatron: max(40 M, 1 M × ranks) parameters. 16 ranks: 40 M × 4 bytes = 160 MB; 64 ranks: 64 M × 4 = 256 MB.
TEST(GradientBucket, InParametersGrowsWithRanksAndFormat) {
  EXPECT_EQ(profile("megatron-lm")->bucket_of(4, 16), 160_MB);
  EXPECT_EQ(profile("megatron-lm")->bucket_of(4, 64), 256_MB);
  EXPECT_EQ(profile("megatron-lm")->bucket_of(2, 64), 128_MB);
}

}  // namespace
}  // namespace stepcast::framework_test
