// The MPI probe on a network whose bandwidth is known, against plain sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "tests/cluster/program.hpp"

namespace stepcast {
namespace {

constexpr double kPayload = 1448.0 / 1514;  // of a frame of 1,500 B: TCP's bytes ÷ those that the shaper counts

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double message_us(const Json& result, int bytes) {
  for (const Json& row : result["results"])
    if (row["kind"] == "ping_pong" && row["size_bytes"] == bytes) return median(row["samples_us"]);
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
    const double latency = message_us(mpi, 2048), plain = median(socket["2048"]);
    std::cout << rate << ": " << bandwidth << " MB/s of " << bytes_per_us * kPayload << "; 2 KiB in " << latency
              << " us, plain sockets " << plain << " us; 8 B in " << message_us(mpi, 8) << " us, plain sockets "
              << median(socket["8"]) << " us\n";
    EXPECT_NEAR(bandwidth / (bytes_per_us * kPayload), 1, 0.1) << rate;
    // At 2 KiB the wire is most of it; at 8 B MPI's own work is as long as the wire, which a plain socket does not
    // have.
    EXPECT_NEAR(latency / plain, 1, 0.1) << rate;
    for (const char* hosts : {"2", "3"})
      for (const Json& row :
           Json::parse(read_text((folder / ("mpi-" + rate + "-" + hosts + ".json")).string()))["results"])
        EXPECT_EQ(row["checked"], true);
  }
}

}  // namespace
}  // namespace stepcast
