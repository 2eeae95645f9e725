// PyTorch over gloo on shaped hosts, traced: import, fit and replay, and the same training on twice the ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "tests/cluster/program.hpp"
#include "tests/cluster/rounds.hpp"
#include "tests/cluster/training_prediction.hpp"

namespace stepcast {
namespace {

/// The shaped hosts as a scenario, which `import kineto --node` takes; what it trains does not matter.
Json shaped_scenario(int nodes) {
  Json fabric{
      {"preset", "single-switch"}, {"nics_per_node", 1}, {"nic_bandwidth_Gbps", 0.1}, {"network", "ethernet_tcp"}};
  return {{"format_version", 1},
          {"cluster", {{"node", "rental-epyc-7502p-128gb"}, {"nodes", nodes}, {"fabric", std::move(fabric)}}},
          {"workload", {{"model", "resnet50"}, {"global_batch", 64}}},
          {"strategy", {{"framework", "pytorch-cpu"}}}};
}

/// Length of a step of a rank in ms, by the profiler's mark.
double length_ms(const std::string& file, const std::string& step) {
  const Json trace = Json::parse(read_text(file));
  const Json& events = trace.is_array() ? trace : trace["traceEvents"];
  for (const Json& event : events)
    if (event.value("name", "") == step && event.contains("dur")) return event["dur"].get<double>() * 1e-3;
  ADD_FAILURE() << "no " << step << " in " << file;
  return 1;
}

class TorchOverGloo : public ::testing::Test {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

  /// File of the trainings on so many hosts that were disturbed least.
  [[nodiscard]] std::string stillest(const std::string& hosts, const std::string& name) const {
    return file(rounds_.stillest(hosts) + "/" + hosts + "/" + name);
  }

  /// Trains on two, three and four hosts, until rounds agree; 77 where that is not possible.
  Finished train() {
    Finished run{0, "", ""};
    for (int i = 0; rounds_.wanted() && run.code == 0; ++i) {
      const std::string round = std::to_string(i);
      run = run_program(STEPCAST_SOURCE_DIR "/tests/cluster/train_torch.sh", {file(round), "2,3,4", "100mbit"},
                        {"STEPCAST_CLUSTER=sctorch"});
      for (const char* hosts : {"2", "3", "4"})
        if (run.code == 0)
          rounds_.add(hosts, median_of(Json::parse(read_text(file(round + "/" + hosts + "/steps.json")))["traced_ms"]),
                      round);
    }
    return run;
  }

  /// Median of the steps on so many hosts.
  [[nodiscard]] double measured_ms(const std::string& hosts) const { return rounds_.shortest(hosts); }

  Finished stepcast(const std::vector<std::string>& words) {
    Finished run = stepcast_run(words);
    EXPECT_EQ(run.code, 0) << run.err;
    return run;
  }

  /// gloo's all_reduce of two and three hosts, fitted.
  void fit() {
    std::vector<std::string> words{"calibrate", "fit", stillest("2", "sums.json"), stillest("3", "sums.json")};
    for (const std::string& word : shaped_hosts("0.1")) words.push_back(word);
    for (const char* word : {"--library", "gloo", "--refits", "3", "-o"}) words.emplace_back(word);
    words.push_back(file("gloo.calib.json"));
    stepcast(words);
  }

  /// The mean of the ranks: they run in step, so the mean is its length, where each rank's own end is another's delay.
  [[nodiscard]] double traced_ms(int step) const {
    const std::string mark = "ProfilerStep#" + std::to_string(step);
    return (length_ms(stillest("2", "rank0.json"), mark) + length_ms(stillest("2", "rank1.json"), mark)) / 2;
  }

  /// A step traced on two ranks, run on so many.
  double predicted_ms(int step, int ranks) {
    std::ofstream(file("lab.json")) << shaped_scenario(4).dump();
    stepcast({"import", "kineto", stillest("2", "rank0.json"), stillest("2", "rank1.json"), "--step",
              std::to_string(step), "--ranks", std::to_string(ranks), "--graph", file("step.json"), "--node",
              file("lab.json"), "--calibration", file("gloo.calib.json"), "-o", file("operators.json")});
    return 1e3 *
           stepcast({"run", "--graph", file("step.json"), file("lab.json"), "--set",
                     "cluster.nodes=" + std::to_string(ranks), "--calibration", file("gloo.calib.json"), "--json"})
               .json()["step_time_s"]
               .get<double>();
  }

  ScratchFolder folder_;
  Rounds rounds_;  ///< by hosts: median step in ms and the round's folder
};

TEST_F(TorchOverGloo, ItsTraceReplaysAndForetellsTwiceTheRanks) {
  const Finished run = train();
  if (run.code == 77) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  fit();
  const double measured = measured_ms("4");
  // Steps that the profiler marked 3 to 8; the last one holds the end of the trace.
  double replay_errors = 0, changed = 0;
  for (int step = 3; step <= 8; ++step) {
    const double traced = traced_ms(step), replayed = predicted_ms(step, 2), foretold = predicted_ms(step, 4);
    std::cout << "step " << step << ": " << traced << " ms traced on two ranks, " << replayed << " ms replayed; "
              << foretold << " ms predicted of four, " << measured << " ms measured\n";
    replay_errors += std::abs(replayed / traced - 1) / 6;
    changed += foretold / measured / 6;
  }
  EXPECT_FALSE(Json::parse(read_text(file("operators.json")))["results"].empty());
  std::cout << "replay " << 100 * replay_errors << " % off in the mean; four ranks " << 100 * (changed - 1) << " %\n";
  EXPECT_LT(replay_errors, 0.03);
  EXPECT_NEAR(changed, 1, 0.1);
}

}  // namespace
}  // namespace stepcast
