// The MPI probe on a network whose bandwidth is known, against plain sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/cluster/program.hpp"
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

TEST(Namespaces, TheProbeFindsTheBandwidthThatWasConfiguredAndTheLatencyOfPlainSockets) {
  const ScratchFolder folder;
  const Finished run = run_program(STEPCAST_SOURCE_DIR "/tests/cluster/measure.sh",
                                   {STEPCAST_BUILD_DIR "/bin", (folder / "").string(), "2,3", "100mbit", "250mbit"},
                                   {"STEPCAST_CLUSTER=sctest"});
  if (run.code == 77) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  for (const auto& [rate, bytes_per_us] : {std::pair<std::string, double>{"100mbit", 12.5}, {"250mbit", 31.25}}) {
    const Json mpi = Json::parse(read_text((folder / ("mpi-" + rate + "-2.json")).string()));
    const Json socket = Json::parse(read_text((folder / ("socket-" + rate + ".json")).string()));
    const double bandwidth = (524288 - 131072) / (message_us(mpi, 524288) - message_us(mpi, 131072));
    const double latency = message_us(mpi, 2048), plain = median_of(socket["2048"]);
    std::cout << rate << ": " << bandwidth << " MB/s of " << bytes_per_us * kPayload << "; 2 KiB in " << latency
              << " us, plain sockets " << plain << " us; 8 B in " << message_us(mpi, 8) << " us, plain sockets "
              << median_of(socket["8"]) << " us\n";
    EXPECT_NEAR(bandwidth / (bytes_per_us * kPayload), 1, 0.1) << rate;
    // At 2 KiB the wire is most of it; at 8 B MPI's own work is as long as the wire, which a plain socket does not
    // have.
    EXPECT_NEAR(latency / plain, 1, 0.1) << rate;
    for (const char* hosts : {"2", "3"}) {
      const Json results = Json::parse(read_text((folder / ("mpi-" + rate + "-" + hosts + ".json")).string()));
      for (const Json& row : results["results"]) EXPECT_EQ(row["checked"], true);
    }
  }
}

// A data-parallel training loop with known computation, its gradients in buckets, summed beside the backward pass or
// after it: 24 settings on two numbers of hosts, by a fit of messages and sums measured just before and after.
TEST(Namespaces, StepsOfATrainingLoopAreAsPredicted) {
  const ScratchFolder folder;
  const Finished run =
      run_program(STEPCAST_SOURCE_DIR "/tests/cluster/train.sh",
                  {STEPCAST_BUILD_DIR "/bin", (folder / "").string(), "2,3", "100mbit"}, {"STEPCAST_CLUSTER=sctrain"});
  if (run.code == 77) GTEST_SKIP() << run.err;
  ASSERT_EQ(run.code, 0) << run.err;
  const auto file = [&](const std::string& name) { return (folder / (name + ".json")).string(); };
  std::vector<std::string> fit{"calibrate", "fit"};
  for (const char* name : {"before-2", "after-2", "before-3", "after-3"}) fit.push_back(file(name));
  for (const std::string& word : shaped_hosts("0.1")) fit.push_back(word);
  for (const std::string& word : {std::string("--refits"), std::string("3"), std::string("-o"), file("calibration")})
    fit.push_back(word);
  const Finished fitted = stepcast_run(fit);
  ASSERT_EQ(fitted.code, 0) << fitted.err;
  double sum = 0;
  for (const char* hosts : {"2", "3"}) {
    const Json measured = Json::parse(read_text(file(std::string("training-") + hosts)));
    ASSERT_EQ(measured["results"].size(), 12U);
    for (const Json& row : measured["results"]) EXPECT_EQ(row["checked"], true);
    sum += training_error(measured, file("calibration"), "0.1");
  }
  std::cout << "mean error " << sum / 2 << " %\n";
  EXPECT_LT(sum / 2, 10);
}

}  // namespace
}  // namespace stepcast
