#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/e2e/process.hpp"
#include "tests/unit/chakra_bytes.hpp"

namespace stepcast::graph_run_test {
namespace {

using test::collective;
using test::message;
using test::node;
using test::trace;
using testing::HasSubstr;

/// Raw hosts of one rank: 25 GB/s, 1 µs for each of the two links that a message passes, and nothing else takes time.
const std::vector<std::string> kStar{"--node", "single-gpu-star"};
constexpr std::uint64_t kMillisecond = 25'000'000;  ///< bytes that a link carries in one

class GraphRun : public testing::Test {
 protected:
  /// Imports traces of ranks 0, 1, … and returns the graph file.
  std::string graph(const std::vector<std::vector<std::string>>& ranks) {
    std::vector<std::string> arguments{"import", "chakra"};
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      arguments.push_back(
          test::write_bytes(folder_ / ("t." + std::to_string(rank) + ".et"), trace(ranks[rank])).string());
    const std::string out = (folder_ / "graph.json").string();
    arguments.insert(arguments.end(), {"-o", out});
    const Finished imported = stepcast_run(arguments);
    EXPECT_EQ(imported.code, 0) << imported.err;
    return out;
  }

  Json run(const std::string& graph, std::vector<std::string> more = kStar) {
    more.insert(more.begin(), {"run", "--graph", graph, "--json"});
    const Finished finished = stepcast_run(more);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.json();
  }

  ScratchFolder folder_;
};

TEST_F(GraphRun, OfFourStagesTakesTheirSum) {
  // Each stage computes 100 µs and hands 25 MB on: 1 ms on the wire and 2 µs on the way. 4 × 100 + 3 × 1,002 µs.
  std::vector<std::vector<std::string>> ranks(4);
  for (int rank = 0; rank < 4; ++rank) {
    if (rank > 0) ranks[rank].push_back(message(1, {}, test::kReceive, rank - 1, rank, kMillisecond));
    ranks[rank].push_back(node(2, test::kCompute, {}, 100));
    if (rank > 0) ranks[rank].back() = node(2, test::kCompute, {1}, 100);
    if (rank < 3) ranks[rank].push_back(message(3, {2}, test::kSend, rank, rank + 1, kMillisecond));
  }
  const Json report = run(graph(ranks));
  EXPECT_NEAR(report["step_time_s"].get<double>(), 3406e-6, 1e-9);
  EXPECT_EQ(report["rank_classes"].size(), 4U);
  EXPECT_NEAR(report["rank_classes"][0]["compute_s"].get<double>(), 100e-6, 1e-12);
  EXPECT_NEAR(report["rank_classes"][0]["exposed_communication_s"].get<double>(), 1002e-6, 1e-9);
  EXPECT_NEAR(report["critical_path"][0]["time_s"].get<double>(), 3 * 1002e-6, 1e-9);
}

TEST_F(GraphRun, MessagesIntoOneRankShareItsLink) {
  // Ranks 0 and 1 each send 25 MB to rank 2 at once: its NIC takes them in 2 ms together, after 2 µs.
  const Json report = run(graph(
      {{message(1, {}, test::kSend, 0, 2, kMillisecond)},
       {message(1, {}, test::kSend, 1, 2, kMillisecond)},
       {message(1, {}, test::kReceive, 0, 2, kMillisecond), message(2, {}, test::kReceive, 1, 2, kMillisecond)}}));
  EXPECT_NEAR(report["step_time_s"].get<double>(), 2002e-6, 1e-9);
}

TEST_F(GraphRun, ACollectiveWaitsForItsLastMemberAndTakesWhatTheCommandSays) {
  // Rank 1 comes 150 µs after rank 0; both leave together.
  const std::string file = graph({{node(1, test::kCompute, {}, 50), collective(2, {1}, 0, kMillisecond)},
                                  {node(1, test::kCompute, {}, 200), collective(2, {1}, 0, kMillisecond)}});
  const Json table = stepcast_run({"collective", "--op", "all_reduce", "--cluster", "single-gpu-star", "--ranks", "2",
                                   "--sizes", std::to_string(kMillisecond), "--json"})
                         .json();
  const double alone = table["rows"][0]["time_us"].get<double>() * 1e-6;
  const Json report = run(file);
  EXPECT_NEAR(report["step_time_s"].get<double>(), 200e-6 + alone, 1e-3 * alone);
  EXPECT_NEAR(report["rank_classes"][0]["idle_s"].get<double>(), 150e-6, 1e-9);
}

TEST_F(GraphRun, FoldsRanksThatDoTheSame) {
  const std::vector<std::string> one{node(1, test::kCompute, {}, 30), collective(2, {1}, 0, 1 << 20)};
  const std::string all = graph({one, one, one, one, one, one, one, one});
  const Json separate = run(all, {"--node", "dgx-a100-80gb", "--nodes", "1"});
  const Json repeated = run(graph({one}), {"--node", "dgx-a100-80gb", "--nodes", "1"});
  EXPECT_EQ(repeated["rank_classes"].size(), 1U);
  EXPECT_EQ(repeated["ranks"], 8);
  EXPECT_NEAR(separate["step_time_s"].get<double>(), repeated["step_time_s"].get<double>(), 1e-9);
}

TEST_F(GraphRun, OfThePyTorchTraceRunsOnAnyCluster) {
  const std::string out = (folder_ / "pytorch.json").string();
  const Finished imported =
      stepcast_run({"import", "chakra", STEPCAST_SOURCE_DIR "/tests/data/chakra/pytorch-rank0.et.gz", "-o", out});
  ASSERT_EQ(imported.code, 0) << imported.err;
  EXPECT_THAT(imported.out,
              HasSubstr("3664 operations in 1 program for any number of ranks: 5 all_reduce, 2 broadcast, "
                        "1209 compute, 2448 host compute"));
  const Json two = run(out, {"--node", "dgx-a100-80gb", "--nodes", "2"});
  const Json eight = run(out, {"--node", "aws-g5.48xlarge", "--nodes", "8"});
  // Kernels of one stream run one after another: at least as long as all of them. The collectives hide behind them on
  // either cluster, and take longer over fewer and slower NICs.
  EXPECT_GT(two["step_time_s"].get<double>(), 292828e-6);
  EXPECT_LT(two["communication"]["all_reduce"]["time_s"].get<double>(),
            eight["communication"]["all_reduce"]["time_s"].get<double>());
  EXPECT_EQ(two["ranks"], 16);
  EXPECT_EQ(two["communication"]["all_reduce"]["count"], 5);
}

TEST_F(GraphRun, WritesATraceWhoseStreamsNeverOverlap) {
  const std::string out = (folder_ / "trace.json").string();
  const std::vector<std::string> one{node(1, test::kCompute, {}, 30), collective(2, {1}, 0, 1 << 20),
                                     node(3, test::kCompute, {1}, 40)};
  run(graph({one, one}), {"--node", "single-gpu-star", "--trace", out});
  std::map<std::pair<int, int>, double> free_from;
  int slices = 0;
  const Json written = Json::parse(read_text(out));
  for (const Json& event : written["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++slices;
    double& from = free_from[{event["pid"], event["tid"]}];
    EXPECT_GE(event["ts"].get<double>(), from - 1e-4);
    from = event["ts"].get<double>() + event["dur"].get<double>();
  }
  EXPECT_EQ(slices, 3);
}

TEST_F(GraphRun, SaysWhatCannotRun) {
  const std::vector<std::string> one{node(1, test::kCompute, {}, 30), collective(2, {1}, 0, 1 << 20)};
  const std::string file = graph({one, one, one});
  const auto refused = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"run", "--graph"});
    const Finished finished = stepcast_run(words);
    EXPECT_EQ(finished.code, 2) << finished.err;
    return finished.err;
  };
  EXPECT_THAT(refused({file}), HasSubstr("no cluster to run on"));
  EXPECT_THAT(refused({file, "--node", "dgx-a101"}), HasSubstr("did you mean"));
  EXPECT_THAT(refused({file, "--node", "single-gpu-star", "--nodes", "2"}),
              HasSubstr("has 3 ranks, the cluster 2 devices"));
  EXPECT_THAT(refused({"nowhere.json", "--node", "dgx-a100-80gb"}), HasSubstr("nowhere.json: cannot be read"));
  EXPECT_THAT(refused({file, "--node", "dgx-a100-80gb", "--model", "gpt2"}), HasSubstr("belong to scenarios"));
  const std::string work = (folder_ / "work.json").string();
  write_file(
      work, R"({"format_version": 1, "programs": [{"operations": [{"id": 1, "kind": "compute", "work_GFLOPs": 1}]}]})");
  EXPECT_THAT(refused({work, "--node", "single-gpu-star"}), HasSubstr("no model of a device"));
}

TEST_F(GraphRun, TimesWorkByTheDevice) {
  const std::string work = (folder_ / "work.json").string();
  write_file(work, R"({"format_version": 1, "programs": [{"operations": [
      {"id": 1, "kind": "compute", "work_GFLOPs": 1000}, {"id": 2, "kind": "memory", "memory_bytes": 2e9, "after": [1]}]}]})");
  const double a100 = run(work, {"--node", "dgx-a100-80gb"})["step_time_s"];
  const double h100 = run(work, {"--node", "dgx-h100"})["step_time_s"];
  // 1 TFLOP at no more than 312 TFLOP/s and 2 GB at no more than 2.039 TB/s; an H100 is quicker at both.
  EXPECT_GT(a100, 1.0 / 312 + 2.0 / 2039);
  EXPECT_LT(a100, 2 * (1.0 / 312 + 2.0 / 2039));
  EXPECT_LT(h100, a100);
}

/// What a scenario's step is written down as runs as long as the scenario's own step.
class StepExported : public testing::TestWithParam<std::string> {};

TEST_P(StepExported, RunsAsLongAsTheScenario) {
  const ScratchFolder folder;
  const std::string prefix = (folder / "step").string(), graph = (folder / "graph.json").string();
  const std::string scenario = scenario_file(GetParam());
  const Finished exported = stepcast_run({"run", scenario, "--json", "--export-chakra", prefix});
  ASSERT_EQ(exported.code, 0) << exported.err;
  std::vector<std::string> import{"import", "chakra"};
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(prefix).parent_path()))
    if (entry.path().extension() == ".et") import.push_back(entry.path().string());
  import.insert(import.end(), {"--process-groups", prefix + ".groups.json", "-o", graph});
  const Finished imported = stepcast_run(import);
  ASSERT_EQ(imported.code, 0) << imported.err;
  const Finished again = stepcast_run({"run", scenario, "--graph", graph, "--json"});
  ASSERT_EQ(again.code, 0) << again.err;
  const double step = exported.json()["step_time_s"];
  EXPECT_NEAR(again.json()["step_time_s"].get<double>(), step, 0.01 * step);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, StepExported,
                         testing::Values("gpt3-175b-a100-1024", "internlm-7b-a100-1024", "llama3-70b-h100-512",
                                         "resnet50-v100-8nodes", "qwen3-235b-gb300-288"),
                         [](const auto& test) { return test_name_of(test.param); });

/// No graph has a kind for tokens that reach a node once: the all_to_all that stands for them says so.
TEST_F(GraphRun, ExportedTokensThatLeaveOnceAreNamed) {
  const std::string graph = (folder_ / "graph.json").string();
  const auto exported = [&](const std::string& dispatch) {
    const Finished done = stepcast_run({"run", scenario_file("qwen3-235b-gb300-288"), "--set",
                                        "strategy.expert_dispatch=" + dispatch, "--json", "--export-graph", graph});
    EXPECT_EQ(done.code, 0) << done.err;
    std::ostringstream text;
    text << std::ifstream(graph).rdbuf();
    return text.str();
  };
  const std::string once = exported("deepep");
  EXPECT_NE(once.find("all_to_all, a token once to each"), std::string::npos);
  EXPECT_NE(once.find("tokens go to their experts by DeepEP or HybridEP"), std::string::npos);
  EXPECT_EQ(exported("all_to_all").find("a token once"), std::string::npos);
}

}  // namespace
}  // namespace stepcast::graph_run_test
