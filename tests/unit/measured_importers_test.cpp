#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "calibration/importers/measured/results_builder.hpp"
#include "calibration/results/probe_results.hpp"
#include "fields/utf8.hpp"

namespace stepcast::measured_importers_test {
namespace {

using testing::HasSubstr;

struct Sample {
  const char* name;
  MeasuredReader read;
  MeasuredHints hints;
  const char* text;
  std::size_t rows;
};

constexpr const char* kNcclText = R"(# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  81032 on      node1 device  0 [0000:07:00] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid  81033 on      node1 device  1 [0000:0b:00] NVIDIA A100-SXM4-40GB
#  Rank  2 Group  0 Pid  70001 on      node2 device  0 [0000:07:00] NVIDIA A100-SXM4-40GB
#  Rank  3 Group  0 Pid  70002 on      node2 device  1 [0000:0b:00] NVIDIA A100-SXM4-40GB
NCCL version 2.28.7+cuda12.9
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    21.42    0.00    0.00       0    20.99    0.00    0.00       0
    33554432       8388608     float     sum      -1    987.1   33.99   50.99       0    981.2   34.20   51.29     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 25.57
)";

constexpr const char* kRcclText =
    R"(# nThread: 1 nGpus: 1 minBytes: 1073741824 maxBytes: 1073741824 step: 2(factor) warmupIters: 5 iters: 20 validation: 1
#   Rank  0 Pid  21 on     mi300 device  0 [0000:0c:00.0] AMD Instinct MI300X
#   Rank  1 Pid  22 on     mi300 device  1 [0000:22:00.0] AMD Instinct MI300X
#                                                       out-of-place                       in-place
#       size         count      type     time   algbw   busbw  error     time   algbw   busbw  error
  1073741824     134217728     float   9000.0  119.30   59.65  0e+00   9010.0  119.17   59.58  0e+00
)";

constexpr const char* kNcclJson = R"({"version": 1, "start_time": "2026-11-20 10:00:00",
 "args": ["./build/alltoall_perf", "-b", "8"], "env": [], "nccl_version": 22304,
 "config": {"nthreads": 1, "ngpus": 1, "iterations": 20, "validation": 1, "devices": [
  {"rank": 0, "group": 0, "pid": 1, "hostname": "n1", "device": 0, "device_hex": "0000:01:00", "device_info": "NVIDIA H100 80GB HBM3"},
  {"rank": 1, "group": 0, "pid": 2, "hostname": "n1", "device": 1, "device_hex": "0000:02:00", "device_info": "NVIDIA H100 80GB HBM3"}]},
 "results": [{"size": 1048576, "count": 131072, "type": "float", "redop": "none", "root": "    -1",
  "out_of_place": {"time": 30.1, "alg_bw": 34.8, "bus_bw": 17.4, "nwrong": 0.0},
  "out_of_place_per_iter": {"times_us": [30.0, 30.2, 31.0]},
  "in_place": {"time": 29.0, "alg_bw": 36.1, "bus_bw": 18.0, "nwrong": null}, "actual_iterations": 20}],
 "end_time": "2026-11-20 10:00:09"})";

constexpr const char* kOsuAllgather = R"(
# OSU MPI Allgather Latency Test v7.3
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                       2.31
1048576              4410.02
)";
constexpr const char* kOsuLatency = R"(# OSU MPI Latency Test v5.6.3
# Size          Latency (us)
0                       1.02
1                       1.04
4194304               350.77
)";

constexpr const char* kFio = R"(fio: this platform does not support process shared mutexes, forcing use of threads.
{"fio version" : "fio-3.33", "timestamp" : 1700000000, "global options" : {"ioengine" : "libaio", "direct" : "1"},
 "jobs" : [{"jobname" : "seq", "error" : 0, "job options" : {"rw" : "read", "bs" : "1m", "iodepth" : "32", "numjobs" : "4"},
   "read" : {"io_bytes" : 10737418240, "bw_bytes" : 3221225472, "iops" : 3072.0, "runtime" : 3334,
     "clat_ns" : {"min" : 100, "max" : 900000, "mean" : 10400.5, "stddev" : 20.1, "percentile" : {"50.000000" : 9000, "99.000000" : 20000}}},
   "write" : {"io_bytes" : 0, "bw_bytes" : 0, "iops" : 0.0, "runtime" : 0}},
  {"jobname" : "mixed", "error" : 0, "job options" : {"rw" : "randrw", "bs" : "4k"},
   "read" : {"io_bytes" : 4096, "bw_bytes" : 100000, "iops" : 25.0, "runtime" : 10},
   "write" : {"io_bytes" : 4096, "bw_bytes" : 90000, "iops" : 22.0, "runtime" : 10}}]})";

constexpr const char* kNvidiaSmi =
    R"(timestamp, index, name, power.draw [W], power.limit [W], utilization.gpu [%], clocks.current.sm [MHz], temperature.gpu
2026/11/20 10:00:00.000, 0, NVIDIA H100 80GB HBM3, 71.20 W, 700.00 W, 0 %, 1980 MHz, 31
2026/11/20 10:00:00.000, 1, NVIDIA H100 80GB HBM3, 70.10 W, 700.00 W, 0 %, 1980 MHz, 30
2026/11/20 10:00:01.000, 0, NVIDIA H100 80GB HBM3, 412.00 W, 700.00 W, 98 %, 1755 MHz, 44
2026/11/20 10:00:01.000, 1, NVIDIA H100 80GB HBM3, [N/A], 700.00 W, 98 %, 1755 MHz, 43
)";

constexpr const char* kDmon = R"(#Entity   POWER   GPUTL   SMCLK
ID        W               MHz
GPU 0     71.3    0       1980
GPU 1     70.0    0       1980
GPU 0     401.9   97      1755
)";
constexpr const char* kDcgmCsv = R"(timestamp,gpu,DCGM_FI_DEV_POWER_USAGE,DCGM_FI_DEV_GPU_UTIL
1700000000.0,0,70.5,0
1700000001.0,0,390.1,99
)";

constexpr const char* kPrometheus = R"({"status":"success","data":{"resultType":"matrix","result":[
 {"metric":{"__name__":"DCGM_FI_DEV_POWER_USAGE","gpu":"0","Hostname":"n1","modelName":"NVIDIA A100-SXM4-80GB"},
  "values":[[1700000000.5,"65.2"],[1700000015.5,"301.0"]]},
 {"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","gpu":"0","Hostname":"n1"},"values":[[1700000000.5,"0"],[1700000015.5,"99"]]}]}})";

constexpr const char* kIpmi = R"(
    Instantaneous power reading:                   412 Watts
    Minimum during sampling period:                200 Watts
    IPMI timestamp:                           Fri Nov 20 10:00:00 2026
    Instantaneous power reading:                   980 Watts
)";
constexpr const char* kRedfish = R"(timestamp,PowerConsumedWatts
2026-11-20T10:00:00Z,1020
2026-11-20T10:00:10Z,6120
)";

const std::vector<Sample>& samples() {
  static const std::vector<Sample> kSamples{
      {"nccl.txt", read_nccl_tests, {}, kNcclText, 4},
      {"all_gather.txt", read_nccl_tests, {}, kRcclText, 2},
      {"nccl.json", read_nccl_tests, {}, kNcclJson, 2},
      {"osu.txt", read_osu, {.ranks = 16, .per_node = 8}, kOsuAllgather, 2},
      {"latency.txt", read_osu, {}, kOsuLatency, 3},
      {"fio.json", read_fio, {}, kFio, 3},
      {"smi.csv", read_nvidia_smi, {}, kNvidiaSmi, 2},
      {"dmon.txt", read_dcgm, {}, kDmon, 2},
      {"dcgm.csv", read_dcgm, {.state = "gemm"}, kDcgmCsv, 1},
      {"prometheus.json", read_prometheus, {}, kPrometheus, 1},
      {"ipmi.txt", read_ipmi, {}, kIpmi, 1},
      {"redfish.csv", read_ipmi, {}, kRedfish, 1},
  };
  return kSamples;
}

TEST(MeasuredImporters, ReadWhatTheToolsPrint) {
  for (const Sample& sample : samples()) {
    ResultsBuilder results("test");
    Diagnostics diagnostics(sample.name);
    sample.read(sample.text, sample.name, sample.hints, results, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << sample.name << ": "
                                  << (diagnostics.ok() ? "" : diagnostics.faults().front().text());
    EXPECT_EQ(results.rows(), sample.rows) << sample.name;
    EXPECT_NO_THROW(check_probe_results(results.document({sample.name}))) << sample.name;
  }
}

TEST(MeasuredImporters, PutRanksOnTheirNodes) {
  ResultsBuilder results("test");
  Diagnostics diagnostics("nccl.txt");
  read_nccl_tests(kNcclText, "nccl.txt", {}, results, diagnostics);
  const Json document = results.document({});
  const Json& row = document["results"][2];
  EXPECT_EQ(row["op"], "all_reduce");
  EXPECT_EQ(row["ranks"], 4);
  EXPECT_EQ(row["nodes"], 2);
  EXPECT_EQ(row["calls_per_sample"], 20);
  EXPECT_EQ(document["versions"]["nccl"], "2.28.7+cuda12.9");
  EXPECT_EQ(document["environment"]["accelerator"], "NVIDIA A100-SXM4-40GB");
}

TEST(MeasuredImporters, OsuCountsOneRanksShare) {
  ResultsBuilder results("test");
  Diagnostics diagnostics("osu.txt");
  read_osu(kOsuAllgather, "osu.txt", {.ranks = 16, .per_node = 8}, results, diagnostics);
  EXPECT_EQ(results.document({})["results"][0]["size_bytes"], 16);
}

TEST(MeasuredImporters, RefuseWrongDataAndFilesOfOtherKinds) {
  std::string wrong = kNcclText;
  wrong.replace(wrong.find("50.99       0"), 13, "50.99       3");
  ResultsBuilder results("test");
  Diagnostics diagnostics("nccl.txt");
  read_nccl_tests(wrong, "nccl.txt", {}, results, diagnostics);
  ASSERT_FALSE(diagnostics.ok());
  EXPECT_THAT(diagnostics.faults().front().text(), HasSubstr("3 wrong elements"));
  for (const Sample& sample : samples()) {
    ResultsBuilder none("test");
    Diagnostics other(sample.name);
    sample.read("Dear diary,\nnothing was measured today.\n", sample.name, sample.hints, none, other);
    EXPECT_EQ(other.faults().size(), 1u) << sample.name;
  }
}

/// Inputs that are nearly right: no crash, and what is accepted keeps to the format.
TEST(MeasuredImporters, SurviveMutations) {
  std::mt19937_64 random(11);
  for (const Sample& sample : samples()) {
    for (int round = 0; round < 400; ++round) {
      std::string text = sample.text;
      for (int edits = 1 + static_cast<int>(random() % 6); edits > 0 && !text.empty(); --edits) {
        const std::size_t at = random() % text.size();
        switch (random() % 5) {
          case 0:
            text[at] = static_cast<char>(random() % 255 + 1);
            break;
          case 1:
            text.erase(at, random() % 40);
            break;
          case 2:
            text.insert(at, text.substr(random() % text.size(), random() % 60));
            break;
          case 3:
            text.insert(at, std::vector<std::string>{"-1", "1e308", "nan", "99999999999999999999", "[", "}", "\"", "0",
                                                     ",", "# size", "\n"}[random() % 11]);
            break;
          default:
            text.resize(at);
        }
      }
      if (!is_utf8(text)) continue;  // refused before it is read
      ResultsBuilder results("test");
      Diagnostics diagnostics(sample.name);
      ASSERT_NO_THROW(sample.read(text, sample.name, sample.hints, results, diagnostics)) << sample.name << "\n"
                                                                                          << text;
      if (!diagnostics.ok() || results.empty()) continue;
      ASSERT_NO_THROW(check_probe_results(Json::parse(results.document({}).dump()))) << sample.name << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace stepcast::measured_importers_test
