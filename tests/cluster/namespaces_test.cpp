// The MPI probe on a network whose bandwidth is known, against plain sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cluster/program.hpp"
#include "tests/cluster/rounds.hpp"
#include "tests/cluster/training_prediction.hpp"

namespace stepcast {
namespace {

constexpr double kPayload = 1448.0 / 1514;  // of a frame of 1,500 B: TCP's bytes ÷ those that the shaper counts

double message_us(const Json& result, int bytes) {
  for (const Json& row : result["results"])
    if (row["kind"] == "ping_pong" && row["size_bytes"] == bytes) return median_of(row["samples_us"]);
  ADD_FAILURE() << "no message of " << bytes << " B";
  return 1;
}

/// Runs a script of this folder on a cluster in rounds, each into a folder of its own, until `add` has enough of them;
/// 77 where that is not possible.
Finished measure_in_rounds(const ScratchFolder& folder, const std::string& script,
                           const std::vector<std::string>& words, Rounds& rounds,
                           const std::function<void(const std::string& round)>& add) {
  Finished run{0, "", ""};
  for (int i = 0; rounds.wanted() && run.code == 0; ++i) {
    const std::string round = (folder / std::to_string(i)).string();
    std::filesystem::create_directory(round);
    std::vector<std::string> all{STEPCAST_BUILD_DIR "/bin", round};
    all.insert(all.end(), words.begin(), words.end());
    run = run_program(STEPCAST_SOURCE_DIR "/tests/cluster/" + script, all, {"STEPCAST_CLUSTER=sctest"});
    if (run.code == 0) add(round);
  }
  return run;
}

Json result(const std::string& round, const std::string& name) {
  return Json::parse(read_text(round + "/" + name + ".json"));
}

TEST(Namespaces, TheProbeFindsTheBandwidthThatWasConfiguredAndTheLatencyOfPlainSockets) {
  const ScratchFolder folder;
  Rounds rounds;
  const std::vector<std::pair<std::string, double>> rates{{"100mbit", 12.5}, {"250mbit", 31.25}};  // bytes per us
  const auto add = [&](const std::string& round) {
    for (const auto& [rate, bytes_per_us] : rates) {
      const Json mpi = result(round, "mpi-" + rate + "-2"), socket = result(round, "socket-" + rate);
      for (const int bytes : {4096, 131072, 524288})
        rounds.add(rate + std::to_string(bytes), message_us(mpi, bytes), round);
      rounds.add("plain" + rate, median_of(socket["4096"]), round);
      for (const char* hosts : {"2", "3"}) {
        const Json all = result(round, "mpi-" + rate + "-" + hosts);
        for (const Json& row : all["results"]) EXPECT_EQ(row["checked"], true);
      }
    }
  };
  const Finished run = measure_in_rounds(folder, "measure.sh", {"2,3", "100mbit", "250mbit"}, rounds, add);
  if (run.code == 77) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  for (const auto& [rate, bytes_per_us] : rates) {
    const double bandwidth = (524288 - 131072) / (rounds.shortest(rate + "524288") - rounds.shortest(rate + "131072"));
    const double latency = rounds.shortest(rate + "4096"), plain = rounds.shortest("plain" + rate);
    std::cout << rate << ": " << bandwidth << " MB/s of " << bytes_per_us * kPayload << "; 4 KiB in " << latency
              << " us, plain sockets " << plain << " us\n";
    EXPECT_NEAR(bandwidth / (bytes_per_us * kPayload), 1, 0.1) << rate;
    // At both rates the wire takes twice as long as MPI's own work, which a plain socket does not have. A message of 2
    // KiB at 250mbit does not wait for the wire on a processor that takes its time: the shaper then refills while MPI
    // works.
    EXPECT_NEAR(latency / plain, 1, 0.1) << rate;
  }
}

/// Sum of a result file's median steps in µs.
double steps_us(const Json& measured) {
  double sum = 0;
  for (const Json& row : measured["results"]) sum += median_of(row["samples_us"]);
  return sum;
}

// A data-parallel training loop with known computation, its gradients in buckets, summed beside the backward pass or
// after it: 24 settings on two numbers of hosts, by a fit of messages and sums measured just before and after.
TEST(Namespaces, StepsOfATrainingLoopAreAsPredicted) {
  const ScratchFolder folder;
  Rounds rounds;
  const auto add = [&](const std::string& round) {
    for (const char* hosts : {"2", "3"})
      rounds.add(hosts, steps_us(result(round, std::string("training-") + hosts)), round);
  };
  const Finished run = measure_in_rounds(folder, "train.sh", {"2,3", "100mbit"}, rounds, add);
  if (run.code == 77) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string calibration = (folder / "calibration.json").string();
  std::vector<std::string> fit{"calibrate", "fit"};
  for (const char* when : {"/before-", "/after-"})
    for (const char* hosts : {"2", "3"}) fit.push_back(rounds.stillest(hosts) + when + hosts + ".json");
  for (const std::string& word : shaped_hosts("0.1")) fit.push_back(word);
  for (const std::string& word : {std::string("--refits"), std::string("3"), std::string("-o"), calibration})
    fit.push_back(word);
  const Finished fitted = stepcast_run(fit);
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  double sum = 0;
  for (const char* hosts : {"2", "3"}) {
    const Json measured = result(rounds.stillest(hosts), std::string("training-") + hosts);
    ASSERT_EQ(measured["results"].size(), 12U);
    for (const Json& row : measured["results"]) EXPECT_EQ(row["checked"], true);
    sum += training_error(measured, calibration, "0.1");
  }
  std::cout << "mean error " << sum / 2 << " %\n";
  EXPECT_LT(sum / 2, 10);
}

}  // namespace
}  // namespace stepcast
