#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_fio_test {
namespace {

using test::import_measured;
using testing::AllOf;
using testing::HasSubstr;

std::string job(const std::string& name, int group, double mean) {
  return fmt::format(
      R"({{"jobname": "{}", "groupid": {}, "error": 0, "job options": {{"rw": "write", "numjobs": "2"}},
      "read": {{"bw_bytes": 0}}, "write": {{"io_bytes": 4000, "bw_bytes": 1000000000, "iops": 953.5, "runtime": 10000,
      "clat_ns": {{"min": 1000, "max": 90000, "mean": {}, "stddev": 5.0, "N": 1000, "percentile": {{"50.000000": 18000}}}}}}}})",
      name, group, mean);
}

std::string file(const std::string& jobs) {
  return R"({"fio version": "fio-3.36", "timestamp": 1718099010, "jobs": [)" + jobs + "]}";
}

// Without group_reporting each process of numjobs is an entry of its own.
TEST(Fio, JobsOfOneNameAndGroupCountTogether) {
  const auto import =
      import_measured(read_fio, file(job("w", 0, 20000) + "," + job("w", 0, 40000) + "," + job("w", 1, 20000)));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  const Json& both = import.rows[0];
  EXPECT_EQ(both["jobs"], 2);
  EXPECT_EQ(both["bandwidth_MBps"], 2000);
  EXPECT_EQ(both["iops"], 1907);
  EXPECT_EQ(both["size_bytes"], 8000);
  EXPECT_EQ(both["latency_us"]["mean"], 30);
  EXPECT_FALSE(both["latency_us"].contains("p50"));
  EXPECT_EQ(import.rows[1]["latency_us"]["p50"], 18);
  EXPECT_EQ(import.date, "2024-06-11T09:43:30Z");
}

TEST(Fio, OtherLayoutsSayWhichIsRead) {
  EXPECT_THAT(import_measured(read_fio, R"({"fio version": "fio-3.36", "client_stats": []})").faults,
              HasSubstr("/client_stats"));
}

// --output-format=normal,json, warnings before it, and what a signal says behind it.
TEST(Fio, TextAroundTheDocumentIsPassedOver) {
  const auto import = import_measured(read_fio, "w: (g=0): rw=write, bs={4k}\nfio-3.36\n" + file(job("w", 0, 1000)) +
                                                    "\nfio: terminating on signal 2\n{}\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 1U);
  EXPECT_THAT(import_measured(read_fio, "fio: warning\nfio: warning\n{\n \"jobs\": [\n  { bad }\n ]\n}\n").faults,
              HasSubstr("line 5"));
}

// 7,116 KiB in 25,788 ms are 275.9 KiB/s; bw is written whole.
TEST(Fio, OldVersionsCountInKibibytesAndMicroseconds) {
  const auto import = import_measured(read_fio, R"({"fio version": "fio-2.2.10", "jobs": [{"jobname": "r", "groupid": 0,
      "error": 0, "read": {"io_bytes": 7116, "bw": 275, "iops": 68.99, "runtime": 25788,
      "clat": {"min": 50, "max": 6000, "mean": 14000.5, "stddev": 2.5, "percentile": {"99.000000": 900}}}}]})",
                                      {.pattern = "random"});
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["size_bytes"], 7116 * 1024);
  EXPECT_DOUBLE_EQ(import.rows[0]["bandwidth_MBps"].get<double>(), 275 * 1024 / 1e6);
  EXPECT_DOUBLE_EQ(import.rows[0]["latency_us"]["mean"].get<double>(), 14000.5);
  EXPECT_DOUBLE_EQ(import.rows[0]["latency_us"]["p99"].get<double>(), 900);
}

// fio 2.2.10 states no options of its jobs, only the depth of their queues.
TEST(Fio, WhatAJobDidIsStatedOrAskedFor) {
  const auto job_with = [](const std::string& more) {
    return R"({"fio version": "fio-2.2.10", "jobs": [{"jobname": "test", "groupid": 0, "error": 0, "latency_depth": 32,)" +
           more + R"("write": {"io_bytes": 37500272, "bw": 62499, "iops": 15624.7, "runtime": 600008}}]})";
  };
  EXPECT_THAT(import_measured(read_fio, job_with("")).faults,
              AllOf(HasSubstr("/jobs/0/job options/rw: missing"), HasSubstr("--pattern")));
  const auto random = import_measured(read_fio, job_with(""), {.pattern = "random"});
  EXPECT_EQ(random.faults, "");
  EXPECT_EQ(random.rows[0]["pattern"], "random_write");
  EXPECT_EQ(random.rows[0]["queue_depth"], 32);
  EXPECT_THAT(random.warnings.dump(), HasSubstr("states no options"));
  EXPECT_THAT(import_measured(read_fio, job_with(R"("job options": {"rw": "write"},)"), {.pattern = "random"}).faults,
              HasSubstr("found \"write\", which is sequential, but --pattern says random"));
}

std::string with_percentiles(const std::string& percentiles) {
  return R"({"fio version": "fio-3.1", "jobs": [{"jobname": "r", "groupid": 0, "error": 0, "job options": {"rw": "read"},
      "read": {"io_bytes": 1048576, "io_kbytes": 1024, "bw": 1024, "runtime": 1000,
      "clat_ns": {"mean": 2000, "percentile": {)" +
         percentiles + "}}}}]}";
}

// fio 2.1.4 to 3.1 fill the list of percentiles up to twenty entries.
TEST(Fio, FilledUpPercentilesAreNoKeysGivenTwice) {
  const auto import = import_measured(
      read_fio, with_percentiles(R"("50.000000": 1000, "99.000000": 3000, "0.00": 0, "0.00": 0, "0.00": 0)"));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["latency_us"]["p99"], 3);
  EXPECT_THAT(import_measured(read_fio, with_percentiles(R"("50.000000": 1000, "50.000000": 3000)")).faults,
              HasSubstr("/jobs/0/read/clat_ns/percentile/50.000000: this key is given twice"));
}

// fio 3.1 has bytes that were moved, and no rate in them yet.
TEST(Fio, ARateMayBeInKibibytesAlone) {
  const auto import = import_measured(read_fio, R"({"fio version": "fio-3.1", "jobs": [{"jobname": "r", "groupid": 0,
      "error": 0, "job options": {"rw": "read"}, "read": {"io_bytes": 1048576, "io_kbytes": 1024, "bw": 1024, "runtime": 1000}}]})");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["size_bytes"], 1048576);
  EXPECT_DOUBLE_EQ(import.rows[0]["bandwidth_MBps"].get<double>(), 1.048576);
}

std::string report(double timestamp, int elapsed, double bytes) {
  return fmt::format(
      R"({{"fio version": "fio-3.36", "timestamp": {}, "jobs": [{{"jobname": "w", "elapsed": {}, "error": 0, "job options": {{"rw": "write"}},
      "write": {{"io_bytes": {}, "bw_bytes": 1000, "runtime": 1000}}}}]}})",
      timestamp, elapsed, bytes);
}

TEST(Fio, OfTheReportsOfOneRunTheLastCounts) {
  const auto one =
      import_measured(read_fio, report(1000, 10, 1) + "\n" + report(1010, 20, 2) + "\n" + report(1021, 31, 3));
  EXPECT_EQ(one.faults, "");
  ASSERT_EQ(one.rows.size(), 1U);
  EXPECT_EQ(one.rows[0]["size_bytes"], 3);
  const auto two = import_measured(read_fio, "[" + report(1000, 10, 1) + ",\n" + report(1015, 10, 2) + "]");
  EXPECT_EQ(two.faults, "");
  EXPECT_EQ(two.rows.size(), 2U);
}

TEST(Fio, ReadsAndWritesCountedTogetherAreRefused) {
  EXPECT_THAT(import_measured(read_fio, R"({"jobs": [{"jobname": "m", "mixed": {"bw_bytes": 5}}]})").faults,
              HasSubstr("/jobs/0/mixed: counts reads and writes together"));
}

}  // namespace
}  // namespace stepcast::import_fio_test
