#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_ucc_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

const MeasuredHints kEight{.ranks = 8, .per_node = 8};

std::string table(const std::string& collective, const std::string& rows, const std::string& memory = "cuda",
                  const std::string& rates = "                  Bus Bandwidth, GB/s") {
  return "Collective:             " + collective + "\nMemory type:            " + memory +
         "\nDatatype:               bfloat16\nReduction:              sum\nInplace:                1\nWarmup:\n  small "
         "  "
         "              100\nIterations:\n  small                 1000\n\n       Count        Size                "
         "Time, us" +
         rates + "\n                                 avg         min         max\n" + rows + "Total time: 12.5 ms\n";
}

TEST(Ucc, ARowIsTheMeanOfItsRanks) {
  const auto import = import_measured(
      read_ucc,
      table("Allreduce",
            "      524288     1048576       30.50       29.10       31.20       60.16       63.05       58.81\n"),
      kEight);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  const Json& row = import.rows[0];
  EXPECT_EQ(row["op"], "all_reduce");
  EXPECT_EQ(row["size_bytes"], 1048576);
  EXPECT_EQ(row["samples_us"], Json({30.5}));
  EXPECT_EQ(row["data_type"], "bfloat16");
  EXPECT_EQ(row["in_place"], true);
  EXPECT_EQ(row["across_ranks"], "mean");
}

TEST(Ucc, SizesAreThoseOfTheWholeBuffer) {
  const auto size_of = [](const char* collective) {
    const auto import =
        import_measured(read_ucc, table(collective, "  512 1024 30.50 29.10 31.20\n", "host", ""), kEight);
    EXPECT_EQ(import.faults, "") << collective;
    return import.rows[0]["size_bytes"].get<int>();
  };
  EXPECT_EQ(size_of("Allgather"), 8 * 1024);
  EXPECT_EQ(size_of("Reduce_scatter"), 1024);
  EXPECT_EQ(size_of("Bcast"), 1024);
}

// 262,144 bytes to each of 8 in 76.46 us are 7 x 262,144 / 76.46 = 24.0 GB/s; 2,097,152 bytes to all of them as well.
TEST(Ucc, RatesTellWhatSizesOfAnAlltoallAre) {
  for (const char* row :
       {"   65536      262144       76.46       72.62       82.30       24.00       25.27       22.30\n",
        "  524288     2097152       76.46       72.62       82.30       24.00       25.27       22.30\n"}) {
    const auto import = import_measured(read_ucc, table("Alltoall", row), kEight);
    EXPECT_EQ(import.faults, "") << row;
    EXPECT_EQ(import.rows[0]["size_bytes"], 2097152) << row;
  }
  // Of 64 ranks, as NVIDIA's cloudai logs one.
  EXPECT_THAT(
      import_measured(read_ucc,
                      table("Alltoall", "  8388608  33554432  47292.5  47000.0  47500.0  44.70  44.9  44.5\n"), kEight)
          .faults,
      HasSubstr("are no alltoall of 8 ranks"));
  EXPECT_THAT(
      import_measured(read_ucc, table("Alltoall", "  65536 262144 76.46 72.62 82.30\n", "cuda", ""), kEight).faults,
      HasSubstr("measure with -F"));
}

TEST(Ucc, BarriersHaveNoSizes) {
  const auto import = import_measured(
      read_ucc, table("Barrier", "         N/A         N/A        4.50        4.10        5.20\n", "host", ""), kEight);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["op"], "barrier");
  EXPECT_EQ(import.rows[0]["samples_us"], Json({4.5}));
}

TEST(Ucc, OtherCollectivesAreLeftOut) {
  const std::string row = "  512 1024 30.50 29.10 31.20\n", gather = table("Gather", row, "host", "");
  const auto beside = import_measured(read_ucc, gather + table("Bcast", row, "host", ""), kEight);
  EXPECT_EQ(beside.faults, "");
  EXPECT_EQ(beside.rows.size(), 1U);
  EXPECT_THAT(beside.warnings.dump(), HasSubstr("Gather"));
  EXPECT_THAT(import_measured(read_ucc, gather, kEight).faults, HasSubstr("\"Gather\" is no collective"));
}

// What launchers print at the end.
TEST(Ucc, WordsBelowATableAreNoRows) {
  const auto import = import_measured(
      read_ucc, table("Bcast", "  512 1024 30.50 29.10 31.20\n", "host", "") + "2 total processes killed\n", kEight);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 1U);
}

TEST(Ucc, ACutRowIsAFault) {
  EXPECT_THAT(import_measured(read_ucc, table("Bcast", "  512 1024 30.50 29.10 31\n", "host", ""), kEight).faults,
              HasSubstr("line 13"));
}

TEST(Ucc, FaultsNameTheirLines) {
  const std::string row = "  512 1024 30.50 29.10 31.20\n";
  EXPECT_THAT(import_measured(read_ucc, table("Bcast", row + " 1024 2048 31.50 30.1\n", "host", ""), kEight).faults,
              HasSubstr("line 14: found \"1024 2048 31.50 30.1\""));
  EXPECT_THAT(
      import_measured(read_ucc, table("Bcast", row, "host", "") + table("Reduce", row, "cuda", ""), kEight).faults,
      HasSubstr("found memory of type \"cuda\" after \"host\""));
  EXPECT_THAT(import_measured(read_ucc, table("Bcast", row, "host", "")).faults, HasSubstr("--ranks"));
  EXPECT_THAT(import_measured(read_ucc, "nothing\n", kEight).faults, HasSubstr("no table of ucc_perftest"));
}

}  // namespace
}  // namespace stepcast::import_ucc_test
