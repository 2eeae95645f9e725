#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_osu_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

const MeasuredHints kSixteen{.ranks = 16, .per_node = 8};

std::string table(const std::string& title, const std::string& row = "1048576  1234.55") {
  return "\n# OSU " + title + " v7.4\n# Datatype: MPI_CHAR.\n# Size       Avg Latency(us)\n" + row + "\n";
}

// osu_reduce_scatter.c gives each rank size / numprocs, osu_allgather.c and osu_alltoall.c size for each.
TEST(Osu, SizesAreThoseOfTheWholeBuffer) {
  const auto size_of = [](const char* title) {
    const auto import = import_measured(read_osu, table(title), kSixteen);
    EXPECT_EQ(import.faults, "") << title;
    return import.rows[0]["size_bytes"].get<std::int64_t>();
  };
  EXPECT_EQ(size_of("MPI Reduce_scatter Latency Test"), 1048576);
  EXPECT_EQ(size_of("MPI Allreduce Latency Test"), 1048576);
  EXPECT_EQ(size_of("MPI Allgather Latency Test"), 16 * 1048576);
  EXPECT_EQ(size_of("MPI-CUDA All-to-All Personalized Exchange Latency Test"), 16 * 1048576);
  EXPECT_EQ(size_of("NCCL-CUDA Allreduce Latency Test"), 1048576);
}

TEST(Osu, OnlyTestsOfSingleBlockingCallsAreTaken) {
  for (const char* title :
       {"MPI Allgatherv Latency Test", "MPI Gather Latency Test", "MPI Multi Latency Test", "MPI_Put Latency Test",
        "MPI Non-blocking Allreduce Latency Test", "MPI-CUDA Bandwidth Test", "MPI Multi-threaded Latency Test"}) {
    const auto import = import_measured(read_osu, table(title), kSixteen);
    EXPECT_THAT(import.faults, HasSubstr(title));
    EXPECT_TRUE(import.rows.empty()) << title;
  }
}

TEST(Osu, WrongDataIsAFault) {
  const std::string title = "MPI Allreduce Latency Test";
  EXPECT_EQ(import_measured(read_osu, table(title, "4  23.63  Pass"), kSixteen).faults, "");
  EXPECT_THAT(import_measured(read_osu, table(title, "4  23.63  Fail"), kSixteen).faults, HasSubstr("line 5"));
}

TEST(Osu, TypesAreThoseOfTheTable) {
  const auto type = [](const std::string& text) {
    return import_measured(read_osu, text, kSixteen).rows[0]["data_type"];
  };
  EXPECT_EQ(type(table("MPI Allreduce Latency Test")), "int8");
  EXPECT_EQ(type("# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_FLOAT.\n4  23.6\n"), "float32");
  EXPECT_EQ(type("# OSU MPI Allreduce Latency Test v5.9\n4  23.6\n"), "float32");
  EXPECT_THAT(
      import_measured(read_osu, "# OSU MPI Allreduce Latency Test v7.4\n# Datatype: MPI_LONG_DOUBLE.\n4 2\n", kSixteen)
          .faults,
      HasSubstr("line 2: found the type \"MPI_LONG_DOUBLE\""));
}

TEST(Osu, EqualBlocksAreAReduceScatter) {
  const auto import = import_measured(read_osu, table("MPI Reduce_scatter_block Latency Test"), kSixteen);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["op"], "reduce_scatter");
}

TEST(Osu, OtherTablesBesideAreLeftOut) {
  const auto import =
      import_measured(read_osu, table("MPI Latency Test", "8  1.5") + table("MPI Bandwidth Test", "8  12000.0"));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["kind"], "ping_pong");
  EXPECT_THAT(import.warnings.dump(), HasSubstr("MPI Bandwidth Test v7.4"));
}

TEST(Osu, LinesMayHaveATimeAndTitlesAnOldVersion) {
  const auto import = import_measured(
      read_osu, "2026-11-01T12:00:00Z # OSU MPI Latency Test (Version 2.2)\n2026-11-01T12:00:01.5Z 8\t1.50\n");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["samples_us"], Json({1.5}));
}

TEST(Osu, RcclIsReadAsNcclIs) {
  const auto import = import_measured(read_osu, "# OSU RCCL Allreduce Latency Test v7.4\n4  23.6\n", kSixteen);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["op"], "all_reduce");
}

}  // namespace
}  // namespace stepcast::import_osu_test
