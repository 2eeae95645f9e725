#include "models/workload/workload_kind.hpp"

#include <gtest/gtest.h>

#include "models/workload/model.hpp"

namespace stepcast::workload_kind_test {
namespace {

WorkloadKind kind_of(const std::string& preset) {
  Diagnostics faults("test");
  const auto model = find_model(preset, "/workload/model", faults);
  faults.throw_if_faulty();
  return workload_kind(*model);
}

TEST(WorkloadKind, FollowsTheOperators) {
  EXPECT_EQ(kind_of("llama3-70b"), WorkloadKind::transformer);
  EXPECT_EQ(kind_of("bert-large"), WorkloadKind::transformer);
  EXPECT_EQ(kind_of("mixtral-8x7b"), WorkloadKind::mixture_of_experts);
  EXPECT_EQ(kind_of("nemotron-h-8b"), WorkloadKind::state_space);
  EXPECT_EQ(kind_of("qwen3-next-80b-a3b"), WorkloadKind::linear_attention);
  EXPECT_EQ(kind_of("deepseek-v3.2"), WorkloadKind::sparse_attention);
  EXPECT_EQ(kind_of("deepseek-v4-flash"), WorkloadKind::sparse_attention);
  EXPECT_EQ(kind_of("resnet50"), WorkloadKind::convolutional);
  EXPECT_EQ(kind_of("efficientnet-b0"), WorkloadKind::convolutional);
  EXPECT_EQ(kind_of("gnmt"), WorkloadKind::recurrent);
  EXPECT_EQ(kind_of("dlrm"), WorkloadKind::recommender);
  EXPECT_EQ(kind_of("vit-b16"), WorkloadKind::products);
}

// What convolutions do not show.
TEST(WorkloadKind, IsSaidWhereOperatorsDoNotShowIt) {
  EXPECT_EQ(kind_of("ssd300-rn50"), WorkloadKind::detection);
  EXPECT_EQ(kind_of("mask-rcnn-rn50-fpn"), WorkloadKind::detection);
  EXPECT_EQ(kind_of("stable-diffusion-2"), WorkloadKind::diffusion);
  EXPECT_EQ(kind_of("ncf"), WorkloadKind::recommender);
}

}  // namespace
}  // namespace stepcast::workload_kind_test
