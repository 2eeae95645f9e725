#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::import_kineto_test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A step of one product and one all_reduce of a group, as rank 0 of sixteen traces it.
Json trace(const std::string& device, const std::string& ranks, int members) {
  const auto event = [](const char* kind, const char* name, double start, double length, Json arguments) {
    return Json{{"ph", "X"}, {"cat", kind}, {"name", name},  {"pid", 1},
                {"tid", 1},  {"ts", start}, {"dur", length}, {"args", std::move(arguments)}};
  };
  Json events = Json::array();
  events.push_back(event("user_annotation", "ProfilerStep#1", 0, 3000, Json::object()));
  events.push_back(event("cuda_runtime", "cudaLaunchKernel", 10, 5, {{"correlation", 1}}));
  events.push_back(
      event("kernel", "sm90_xmma_gemm_bf16bf16_bf16f32", 20, 1000, {{"correlation", 1}, {"stream", 7}, {"device", 0}}));
  events.push_back(event("cuda_runtime", "cudaLaunchKernel", 16, 5, {{"correlation", 2}}));
  Json group{{"correlation", 2},
             {"stream", 20},
             {"device", 0},
             {"Collective name", "allreduce"},
             {"In msg nelems", 65536},
             {"Out msg nelems", 65536},
             {"Group size", members},
             {"dtype", "BFloat16"},
             {"Process Group Name", "1"}};
  if (!ranks.empty()) group["Process Group Ranks"] = ranks;
  events.push_back(event("kernel", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1100, 500, std::move(group)));
  events.push_back(event("cuda_runtime", "cudaDeviceSynchronize", 30, 1600, {{"correlation", 3}}));
  Json devices = Json::array();
  for (int i = 0; i < 8; ++i) devices.push_back({{"id", i}, {"name", device}});
  return {{"schemaVersion", 1},
          {"distributedInfo", {{"backend", "nccl"}, {"rank", 0}, {"world_size", 16}}},
          {"deviceProperties", std::move(devices)},
          {"traceEvents", std::move(events)}};
}

class KinetoGraph : public testing::Test {
 protected:
  Finished graph_of(const Json& document) {
    std::ofstream(file("trace.json")) << document.dump();
    return stepcast_run(
        {"import", "kineto", file("trace.json"), "-o", file("results.json"), "--graph", file("graph.json")});
  }
  std::string file(const char* name) const { return (folder_ / name).string(); }
  Json groups() const { return Json::parse(read_text(file("graph.json")))["groups"]; }

  ScratchFolder folder_;
};

constexpr const char* kDevice = "NVIDIA H100 80GB HBM3";

TEST_F(KinetoGraph, GroupsAreOfTheRanksThatTheTraceLists) {
  const Finished apart = graph_of(trace(kDevice, "[0, 8]", 2));
  ASSERT_EQ(apart.code, 0) << apart.err;
  EXPECT_THAT(groups().dump(), HasSubstr("[0,8]"));
  EXPECT_THAT(groups().dump(), HasSubstr("[7,15]"));
  EXPECT_THAT(apart.out, Not(HasSubstr("taken to be neighbours")));
  const Finished unlisted = graph_of(trace(kDevice, "", 2));
  ASSERT_EQ(unlisted.code, 0) << unlisted.err;
  EXPECT_THAT(groups().dump(), HasSubstr("[0,1]"));
  EXPECT_THAT(unlisted.out, HasSubstr("groups of 2 ranks are taken to be neighbours"));
}

TEST_F(KinetoGraph, GuessesNoNodeByTheBeginningOfAName) {
  EXPECT_THAT(graph_of(trace(kDevice, "[0, 8]", 2)).out, HasSubstr("traced on aws-p5.48xlarge"));
  const Finished superchip = graph_of(trace("NVIDIA GH200 480GB", "[0, 8]", 2));
  EXPECT_THAT(superchip.out, Not(HasSubstr("h200 (by")));
  const Finished desktop = graph_of(trace("NVIDIA GeForce RTX 4090", "[0, 8]", 2));
  EXPECT_THAT(desktop.out, Not(HasSubstr("4000")));
}

/// The same trace with the categories of PyTorch before 2.
Json with_old_categories(Json document) {
  for (Json& event : document["traceEvents"]) {
    if (event["cat"] == "cuda_runtime") event["cat"] = "Runtime";
    if (event["cat"] == "kernel") event["cat"] = "Kernel";
    if (event["cat"] == "user_annotation") event["cat"] = "Operator";
  }
  return document;
}

TEST_F(KinetoGraph, OldCategoriesAreReadAndUnknownOnesNamed) {
  Json document = trace(kDevice, "[0, 8]", 2);
  ASSERT_EQ(graph_of(document).code, 0);
  const std::string now = read_text(file("graph.json"));
  document = with_old_categories(std::move(document));
  ASSERT_EQ(graph_of(document).code, 0);
  EXPECT_EQ(read_text(file("graph.json")), now);
  document["traceEvents"].back()["cat"] = "Wormhole";
  EXPECT_THAT(graph_of(document).out, HasSubstr("category \"wormhole\" is not known: 1 event left out"));
}

TEST_F(KinetoGraph, OneTraceOfEachRank) {
  std::ofstream(file("again.json")) << trace(kDevice, "[0, 8]", 2).dump();
  std::ofstream(file("trace.json")) << trace(kDevice, "[0, 8]", 2).dump();
  const Finished twice =
      stepcast_run({"import", "kineto", file("trace.json"), file("again.json"), "-o", file("results.json")});
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.err, HasSubstr("/distributedInfo/rank: is rank 0, and so is"));
}

}  // namespace
}  // namespace stepcast::import_kineto_test
