#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_rccl_records_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

/// A record of 16 processes with a device each on two nodes; bus bandwidth is 2·15/16 of the algorithm's.
std::string record(const std::string& name, int in_place, const std::string& wrong, double busbw = 18.75) {
  return fmt::format(
      R"({{"numCycle":0, "name":"{}", "nodes":2, "ranks":16, "ranksPerNode":8, "gpusPerRank":1, "size":1000000, )"
      R"("type":"bfloat16", "redop":"sum", "inPlace":{}, "time":100.0, "algBw":10.0, "busBw":{}, "wrong":"{}"}})",
      name, in_place, busbw, wrong);
}

TEST(RcclRecords, TellTheirCollectiveAndTheirRanks) {
  const auto list = import_measured(
      read_nccl_tests, "[\n" + record("AllReduce", 0, "0") + ",\n" + record("AllReduce", 1, "N/A") + "\n]\n");
  EXPECT_EQ(list.faults, "");
  ASSERT_EQ(list.rows.size(), 2U);
  EXPECT_EQ(list.rows[0]["op"], "all_reduce");
  EXPECT_EQ(list.rows[0]["size_bytes"], 1000000);
  EXPECT_EQ(list.rows[0]["ranks"], 16);
  EXPECT_EQ(list.rows[0]["ranks_per_node"], 8);
  EXPECT_EQ(list.rows[0]["data_type"], "bfloat16");
  EXPECT_EQ(list.rows[0]["samples_us"], Json({100.0}));
  EXPECT_EQ(list.rows[0]["checked"], true);
  EXPECT_EQ(list.rows[0]["in_place"], false);
  EXPECT_EQ(list.rows[1]["in_place"], true);
  EXPECT_EQ(list.rows[1]["checked"], false);
  const auto lines =
      import_measured(read_nccl_tests, record("AllReduce", 0, "0") + "\n" + record("AllReduce", 1, "N/A"));
  EXPECT_EQ(lines.rows, list.rows);
}

TEST(RcclRecords, OfOneProcessCountItsDevices) {
  const auto import = import_measured(
      read_nccl_tests, R"({"#wrong":"0","algBw":10.0,"busBw":15.0,"gpus":4,"inPlace":0,"name":"AllReduce",)"
                       R"("redop":"sum","size":1000,"time":0.1,"type":"float"})");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["ranks"], 4);
  EXPECT_EQ(import.rows[0]["nodes"], 1);
}

TEST(RcclRecords, AreReadAsCsv) {
  const std::string header =
      "numCycle,name,nodes,ranks,ranksPerNode,gpusPerRank,size,type,redop,inPlace,time,algBw,busBw,wrong\n";
  const auto import =
      import_measured(read_nccl_tests, header +
                                           "0,\"AllGather\",1,8,8,1,800,\"half\",\"\",1,8.0,0.1,0.0875,\"0\"\n"
                                           "0,\"AlltoAllv\",1,8,8,1,800,\"half\",\"\",1,8.0,0.1,0.0875,\"0\"\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["op"], "all_gather");
  EXPECT_EQ(import.rows[0]["in_place"], true);
  EXPECT_THAT(import.warnings.dump(), HasSubstr("1 records of \\\"AlltoAllv\\\" were left out"));
}

TEST(RcclRecords, FaultsSayWhichRecord) {
  EXPECT_THAT(import_measured(read_nccl_tests, "[" + record("AllReduce", 0, "7") + "]").faults,
              HasSubstr("/0: 7 wrong elements in all_reduce"));
  EXPECT_THAT(import_measured(read_nccl_tests, "[" + record("AllReduce", 0, "0", 10) + "]").faults,
              HasSubstr("/0: busBw is 1 of algBw, of all_reduce on 16 ranks it would be 1.875"));
  EXPECT_THAT(import_measured(read_nccl_tests, record("AllReduce", 0, "0") + "\n{\"busBw\"").faults,
              HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace stepcast::import_rccl_records_test
