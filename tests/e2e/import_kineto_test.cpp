#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"

namespace stepcast::import_kineto_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Json event(const char* kind, const char* name, double start, double length, Json arguments, int thread = 1) {
  return Json{{"ph", "X"},     {"cat", kind}, {"name", name},  {"pid", 1},
              {"tid", thread}, {"ts", start}, {"dur", length}, {"args", std::move(arguments)}};
}

/// A step of one product and one all_reduce of a group, as rank 0 of sixteen traces it.
Json trace(const std::string& device, const std::string& ranks, int members) {
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
  Json programs() const { return Json::parse(read_text(file("graph.json")))["programs"]; }
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

/// A kernel and the call that launches it.
void launch(Json& events, int correlation, const char* kernel, double called, double start, double length,
            int stream = 7, int thread = 1) {
  events.push_back(event("cuda_runtime", "cudaLaunchKernel", called, 5, {{"correlation", correlation}}, thread));
  events.push_back(
      event("kernel", kernel, start, length, {{"correlation", correlation}, {"stream", stream}, {"device", 0}}));
}

// Marks of a script's own: their steps have no number by which another rank's could be found.
TEST_F(KinetoGraph, MarksWithoutANumberAreSteps) {
  for (const char* mark : {"ProfilerStep#", "ProfilerStep#warm", "ProfilerStep#99999999999999"}) {
    Json ranks[2]{trace(kDevice, "[0, 8]", 2), trace(kDevice, "[0, 8]", 2)};
    for (int i = 0; i < 2; ++i) {
      ranks[i]["distributedInfo"]["rank"] = i;
      ranks[i]["traceEvents"][0]["name"] = mark;
      std::ofstream(file(i == 0 ? "a.json" : "b.json")) << ranks[i].dump();
    }
    const Finished done = stepcast_run({"import", "kineto", file("a.json"), file("b.json"), "-o", file("results.json"),
                                        "--graph", file("graph.json")});
    EXPECT_EQ(done.code, 0) << mark << ": " << done.err;
  }
}

TEST_F(KinetoGraph, WorkThatEarlierStepsLeftIsNoneOfTheStep) {
  Json document = trace(kDevice, "[0, 8]", 2);
  ASSERT_EQ(graph_of(document).code, 0);
  const Json whole = programs();
  document["traceEvents"].push_back(
      event("kernel", "sm90_xmma_gemm_bf16bf16_bf16f32", 1, 5, {{"correlation", 99}, {"stream", 7}, {"device", 0}}));
  const Finished late = graph_of(document);
  ASSERT_EQ(late.code, 0) << late.err;
  EXPECT_THAT(late.out, HasSubstr("before the profiler began: 1 left out"));
  EXPECT_EQ(programs(), whole);
}

TEST_F(KinetoGraph, OneThreadWaitsWhileAnotherLaunches) {
  Json document = trace(kDevice, "[0, 8]", 2);
  Json& events = document["traceEvents"];
  events = Json::array({event("user_annotation", "ProfilerStep#1", 0, 1000, Json::object())});
  // A copy of the second thread runs behind a kernel that the first launches while the second waits for the copy.
  launch(events, 2, "copy_of_gradients", 20, 140, 40, 9, 2);
  events.push_back(event("cuda_runtime", "cudaStreamSynchronize", 30, 160, {{"correlation", 3}}, 2));
  launch(events, 4, "layer_norm", 60, 70, 69);
  ASSERT_EQ(graph_of(document).code, 0);
  const Finished run = stepcast_run({"run", "--graph", file("graph.json"), "--node", "dgx-h100", "--nodes", "2"});
  EXPECT_EQ(run.code, 0) << run.err;
}

/// Microseconds of a program's operations of a name.
double time_of(const Json& program, const char* name) {
  double out = 0;
  for (const Json& operation : program["operations"])
    if (operation.value("name", "") == name) out += operation.value("duration_us", 0.0);
  return out;
}

// AMD's copies of single numbers: the host goes on when the copy has ended, however long that takes.
TEST_F(KinetoGraph, CopiesThatReturnWhenTheyAreDoneHoldTheHost) {
  Json document = trace(kDevice, "[0, 8]", 2);
  Json& events = document["traceEvents"];
  events = Json::array({event("user_annotation", "ProfilerStep#1", 0, 1000, Json::object())});
  launch(events, 2, "Cijk_Ailk_Bljk_BBH", 20, 30, 700);
  events.push_back(event("cuda_runtime", "hipMemcpyWithStream", 40, 710, {{"correlation", 3}}));
  events.push_back(
      event("gpu_memcpy", "CopyDeviceToHost", 730, 10, {{"correlation", 3}, {"stream", 7}, {"device", 0}}));
  ASSERT_EQ(graph_of(document).code, 0);
  // 40 us up to the copy's call and 260 behind the copy; not the 700 that the product takes.
  EXPECT_NEAR(time_of(programs()[0], "host"), 300, 1);
}

// A step begins while its device is behind, as DDP's wait for the last step's all_reduce: none of that is its own work.
TEST_F(KinetoGraph, AStepDoesNotWaitForTheOneBefore) {
  Json document = trace(kDevice, "[0, 8]", 2);
  Json& events = document["traceEvents"];
  events = Json::array({event("user_annotation", "ProfilerStep#1", 0, 700, Json::object())});
  events.push_back(event("kernel", "sm90_xmma_gemm_bf16", 1, 499, {{"correlation", 90}, {"stream", 9}, {"device", 0}}));
  events.push_back(event("cuda_runtime", "cudaEventSynchronize", 5, 497, {{"correlation", 91}}));
  launch(events, 2, "copy_in", 510, 515, 10, 9);
  // Of another stream, which was issued early and begins when the earlier step's kernel has ended.
  launch(events, 3, "sm90_xmma_gemm_bf16", 3, 501, 40, 7, 2);
  ASSERT_EQ(graph_of(document).code, 0);
  const Json program = programs()[0];
  EXPECT_NEAR(time_of(program, "host"), 700 - (500 - 8), 1);
  EXPECT_EQ(time_of(program, "unexplained wait"), 0);
}

// PyTorch issues all_gathers and reduce_scatters of FSDP on two streams, and NCCL runs them one after another.
TEST_F(KinetoGraph, CollectivesOfOneCommunicatorFollowOneAnother) {
  Json document = trace(kDevice, "[0, 8]", 2);
  Json& events = document["traceEvents"];
  events = Json::array({event("user_annotation", "ProfilerStep#1", 0, 700, Json::object())});
  launch(events, 2, "ncclDevKernel_AllGather_RING_LL", 10, 20, 300, 18);
  launch(events, 3, "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", 30, 321, 100, 22);
  ASSERT_EQ(graph_of(document).code, 0);
  const Json program = programs()[0];
  EXPECT_EQ(time_of(program, "unexplained wait"), 0);
  const Json& operations = program["operations"];
  const Json& gather = operations[operations.size() - 2];
  EXPECT_THAT(operations.back()["after"].dump(), HasSubstr(gather["id"].dump()));
}

/// The trace as another rank's, with another collective.
Json of_rank(Json document, int rank, const char* collective) {
  document["distributedInfo"]["rank"] = rank;
  for (Json& one : document["traceEvents"])
    if (one["args"].contains("Collective name")) one["args"]["Collective name"] = collective;
  return document;
}

TEST_F(KinetoGraph, RanksThatCallOtherCollectivesRunAsTraced) {
  const Json first = trace(kDevice, "[0, 8]", 2);
  std::ofstream(file("rank0.json")) << first.dump();
  std::ofstream(file("rank1.json")) << of_rank(first, 1, "send").dump();
  const Finished made = stepcast_run({"import", "kineto", file("rank0.json"), file("rank1.json"), "-o",
                                      file("results.json"), "--graph", file("graph.json")});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("not all traced ranks call: 2 keep the time"));
  const Finished run = stepcast_run({"run", "--graph", file("graph.json"), "--node", "dgx-h100", "--nodes", "2"});
  EXPECT_EQ(run.code, 0) << run.err;
}

TEST_F(KinetoGraph, AFolderIsItsTraces) {
  const std::filesystem::path traces = folder_ / "traces";
  std::filesystem::create_directory(traces);
  const auto import = [&] {
    return stepcast_run(
        {"import", "kineto", traces.string(), "-o", file("results.json"), "--graph", file("graph.json")});
  };
  EXPECT_THAT(import().err, HasSubstr("is a folder without a trace"));
  const Json first = trace(kDevice, "[0, 8]", 2);
  std::ofstream(traces / "a.pt.trace.json") << first.dump();
  std::ofstream(traces / "b.pt.trace.json") << of_rank(first, 1, "allreduce").dump();
  std::ofstream(traces / "notes.txt") << "of the run";
  const Finished made = import();
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(programs().size(), 2U);
}

TEST_F(KinetoGraph, RanksBetweenTracedOnesRepeatTheNearestBelow) {
  const Json first = trace(kDevice, "[0, 8]", 2);
  std::ofstream(file("rank0.json")) << first.dump();
  std::ofstream(file("rank8.json")) << of_rank(first, 8, "allreduce").dump();
  ASSERT_EQ(stepcast_run({"import", "kineto", file("rank8.json"), file("rank0.json"), "-o", file("results.json"),
                          "--graph", file("graph.json")})
                .code,
            0);
  EXPECT_EQ(programs()[0]["ranks"], Json({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(programs()[1]["ranks"], Json({8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST_F(KinetoGraph, LongGroupsAreTheirEvenRanksOrThoseOfTheHead) {
  const Finished shortened = graph_of(trace(kDevice, "[0, 2, 4, ..., 14]", 8));
  ASSERT_EQ(shortened.code, 0) << shortened.err;
  EXPECT_THAT(groups().dump(), HasSubstr("[0,2,4,6,8,10,12,14]"));
  Json document = trace(kDevice, "", 8);
  document["distributedInfo"]["pg_config"] = {{{"pg_name", "0"}, {"ranks", Json::array()}},
                                              {{"pg_name", "1"}, {"ranks", {0, 2, 4, 6, 8, 10, 12, 14}}}};
  ASSERT_EQ(graph_of(document).code, 0);
  EXPECT_THAT(groups().dump(), HasSubstr("[1,3,5,7,9,11,13,15]"));
}

TEST_F(KinetoGraph, QuotedTimesAreTimes) {
  Json document = trace(kDevice, "[0, 8]", 2);
  ASSERT_EQ(graph_of(document).code, 0);
  const Json plain = programs();
  for (Json& one : document["traceEvents"])
    for (const char* key : {"ts", "dur"}) one[key] = one[key].dump();
  ASSERT_EQ(graph_of(document).code, 0);
  EXPECT_EQ(programs(), plain);
}

TEST_F(KinetoGraph, MarksTellWhichCollectiveAKernelIsOf) {
  Json document = trace(kDevice, "[0, 8]", 2);
  Json& events = document["traceEvents"];
  events = Json::array({event("user_annotation", "ProfilerStep#1", 0, 3000, Json::object())});
  launch(events, 2, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", 20, 40, 100);
  events.push_back(event("user_annotation", "nccl:coalesced", 15, 15, Json::object()));
  launch(events, 3, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", 220, 240, 100);
  events.push_back(event("user_annotation", "nccl:_all_gather_base", 215, 15, Json::object()));
  launch(events, 4, "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", 420, 440, 100);
  launch(events, 5, "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 620, 640, 100);
  const Finished made = graph_of(document);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("do not tell of which collective: 1 taken for all_reduce"));
  std::vector<std::string> kinds;
  const Json made_of = programs();
  for (const Json& operation : made_of[0]["operations"])
    if (operation.contains("collective")) kinds.push_back(operation["collective"]);
  EXPECT_THAT(kinds, testing::ElementsAre("send_recv", "all_gather", "all_reduce", "all_to_all"));
}

TEST_F(KinetoGraph, OperatorsOfTheProcessorAreNoWorkOfADevice) {
  Json document = trace(kDevice, "[0, 8]", 2);
  document["traceEvents"] = {event("user_annotation", "ProfilerStep#1", 0, 3000, Json::object()),
                             event("cpu_op", "aten::mm", 100, 50, Json::object())};
  const Finished made = graph_of(document);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("has no kernels of a device"));
  EXPECT_THAT(made.out, Not(HasSubstr("traced on aws")));
  EXPECT_FALSE(Json::parse(read_text(file("results.json")))["environment"].contains("accelerator"));
}

TEST_F(KinetoGraph, GlooBesideADeviceIsSaidToBeTheHosts) {
  Json document = trace(kDevice, "[0, 8]", 2);
  document["traceEvents"].push_back(event("user_annotation", "gloo:all_reduce", 100, 50, Json::object(), 5));
  EXPECT_THAT(graph_of(document).out, HasSubstr("operations of Gloo beside a device: 1 count as the host's time"));
}

TEST_F(KinetoGraph, KernelsOfAutogradsProfilerAreADevices) {
  const Json document = {
      {{"name", "aten::mm"}, {"ph", "X"}, {"ts", 10}, {"dur", 30}, {"tid", 1}, {"pid", "CPU functions"}},
      {{"name", "volta_sgemm"}, {"ph", "X"}, {"ts", 20}, {"dur", 500}, {"tid", 0}, {"pid", "CUDA functions"}}};
  const Finished made = graph_of(document);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, Not(HasSubstr("has no kernels of a device")));
  EXPECT_THAT(programs().dump(), HasSubstr("volta_sgemm"));
  EXPECT_THAT(programs().dump(), Not(HasSubstr("aten::mm")));
}

TEST_F(KinetoGraph, AProcessOfSeveralDevicesIsNoRank) {
  Json document = trace(kDevice, "[0, 8]", 2);
  launch(document["traceEvents"], 9, "sm90_xmma_gemm_bf16bf16_bf16f32", 25, 40, 1000);
  document["traceEvents"].back()["args"]["device"] = 1;
  const Finished refused = graph_of(document);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("its kernels ran on 2 devices of one process"));
}

TEST_F(KinetoGraph, AJobThatTellsNoSizeIsAsLargeAsItsLargestGroup) {
  Json document = trace(kDevice, "[0, 1]", 2);
  document.erase("distributedInfo");
  const Finished made = graph_of(document);
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_EQ(programs()[0]["ranks"], Json({0, 1}));
}

TEST_F(KinetoGraph, TracesOfXlaAreRefused) {
  Json document = trace(kDevice, "[0, 8]", 2);
  document["traceEvents"].push_back(event("", "tsl::fusion", 1, 5, {{"hlo_module", "jit_step"}}));
  const Finished refused = graph_of(document);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("are of XLA's profiler"));
}

TEST_F(KinetoGraph, ACutTraceIsNamedSo) {
  const std::string whole = trace(kDevice, "[0, 8]", 2).dump();
  std::ofstream(file("cut.json")) << whole.substr(0, whole.size() / 2);
  const Finished cut = stepcast_run({"import", "kineto", file("cut.json"), "-o", file("results.json")});
  EXPECT_EQ(cut.code, 2);
  EXPECT_THAT(cut.err, HasSubstr("the file ends before the trace does"));
}

}  // namespace
}  // namespace stepcast::import_kineto_test
