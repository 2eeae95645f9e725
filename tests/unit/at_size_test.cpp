#include "models/scenario/at_size.hpp"

#include <gtest/gtest.h>

namespace stepcast::at_size_test {
namespace {

TEST(AtSize, LetsDataParallelismFollowAnew) {
  const Json scenario{{"cluster", {{"nodes", 4}}},
                      {"workload", {{"global_batch", 64}}},
                      {"strategy", {{"tensor_parallel", 8}, {"data_parallel", 4}}}};
  const Json expected{
      {"cluster", {{"nodes", 8}}}, {"workload", {{"global_batch", 128}}}, {"strategy", {{"tensor_parallel", 8}}}};
  EXPECT_EQ(at_size(scenario, 8, 128), expected);
}

TEST(AtSize, TakesScenariosWithoutAStrategy) {
  const Json bare{{"cluster", {{"nodes", 1}}}, {"workload", {{"global_batch", 8}}}};
  EXPECT_EQ(at_size(bare, 1, 8), bare);
}

// 96 samples on 6 nodes are 16 a node; 100 on 6 are 66.7 on 4.
TEST(AtSize, KeepsTheSamplesOfANodeWhereTheyAreWhole) {
  ScenarioSpec spec;
  spec.cluster.nodes = 6;
  spec.workload.global_batch = 96;
  EXPECT_EQ(batch_at_size(spec, 4), 64);
  spec.workload.global_batch = 100;
  EXPECT_EQ(batch_at_size(spec, 4), std::nullopt);
}

}  // namespace
}  // namespace stepcast::at_size_test
