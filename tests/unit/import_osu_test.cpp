#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_osu_test {
namespace {

using test::import_measured;
using testing::AllOf;
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

TEST(Osu, OnlyTestsOfSingleCallsAreTaken) {
  const std::pair<const char*, const char*> reasons[]{
      {"MPI Allgatherv Latency Test", "no times of single blocking calls"},
      {"MPI Gather Latency Test", "no times of single blocking calls"},
      {"MPI Multi-threaded Latency Test", "no times of single blocking calls"},
      {"MPI_Put Latency Test", "one-sided calls"},
      {"MPI_Put Bandwidth Test", "one-sided calls"},
      {"MPI-CUDA Bandwidth Test", "rates of many messages"},
      {"MPI Bi-Directional Bandwidth Test", "rates of many messages"},
      {"MPI Multiple Bandwidth / Message Rate Test", "rates of many messages"},
      {"MPI Multi Latency Test", "several pairs"}};
  for (const auto& [title, reason] : reasons) {
    const auto import = import_measured(read_osu, table(title), kSixteen);
    EXPECT_THAT(import.faults, AllOf(HasSubstr(title), HasSubstr(reason)));
    EXPECT_TRUE(import.rows.empty()) << title;
  }
}

// With two ranks osu_multi_lat is osu_latency.
TEST(Osu, OnePairIsAPingPong) {
  const auto import = import_measured(read_osu, table("MPI Multi Latency Test", "8  1.5"), {.ranks = 2});
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["kind"], "ping_pong");
}

// Without a word they are two nodes; as many ranks a node as the pair has, or more, are one.
TEST(Osu, APairIsOfOneNodeWhereRanksShareIt) {
  const auto pair = [](const MeasuredHints& hints) {
    return import_measured(read_osu, table("MPI Latency Test", "8  1.5"), hints);
  };
  EXPECT_EQ(pair({.ranks = 2, .per_node = 8}).rows[0]["nodes"], 1);
  EXPECT_EQ(pair({.ranks = 2, .per_node = 1}).rows[0]["nodes"], 2);
  const auto assumed = pair({.ranks = 2});
  EXPECT_EQ(assumed.rows[0]["nodes"], 2);
  EXPECT_THAT(assumed.warnings.dump(), HasSubstr("taken as one between two nodes"));
}

constexpr const char* kNonBlocking = R"(
# OSU MPI Non-blocking Allreduce Latency Test v7.5
# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait

# Datatype: MPI_FLOAT.
# Size           Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)
1024                   30.10             17.20             16.40             21.50
)";

TEST(Osu, OfNonBlockingCallsTheBareCommunicationCounts) {
  const auto import = import_measured(read_osu, kNonBlocking, kSixteen);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["op"], "all_reduce");
  EXPECT_EQ(import.rows[0]["samples_us"], Json({16.4}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("libraries may choose other algorithms"));
  // -f of version 5: more columns before it.
  const auto full = import_measured(read_osu,
                                    "# OSU MPI Non-blocking All-to-All Latency Test v5.8\n"
                                    "# Size  Overall(us)  Compute(us)  Coll. Init(us)  MPI_Test(us)  MPI_Wait(us)  "
                                    "Pure Comm.(us)  Overlap(%)\n8 40.5 20.1 1.2 0.3 17.5 19.75 12.0\n",
                                    kSixteen);
  EXPECT_EQ(full.faults, "");
  EXPECT_EQ(full.rows[0]["samples_us"], Json({19.75}));
  // The header of a barrier has lost its mark in some versions.
  for (const char* mark : {"#", " "}) {
    const auto barrier = import_measured(read_osu,
                                         std::string("# OSU MPI Non-blocking Barrier Latency Test v7.3\n") + mark +
                                             "     Overall(us)       Compute(us)    Pure Comm.(us)        Overlap(%)\n"
                                             "  20.1 10.5 9.75 8.0\n",
                                         kSixteen);
    EXPECT_EQ(barrier.faults, "") << mark;
    EXPECT_EQ(barrier.rows[0]["samples_us"], Json({9.75})) << mark;
  }
}

TEST(Osu, BlockingCallsGoBeforeNonBlockingOnes) {
  const auto import =
      import_measured(read_osu, kNonBlocking + table("MPI Allreduce Latency Test", "1024  15.5"), kSixteen);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["samples_us"], Json({15.5}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("non-blocking calls are left out"));
}

// A title that has lost the line of its columns does not tell which of them is meant.
TEST(Osu, NonBlockingTablesNeedTheirColumns) {
  EXPECT_THAT(import_measured(read_osu, "# OSU MPI Non-blocking Bcast Latency Test v7.3\n8 1 2 3 4\n", kSixteen).faults,
              HasSubstr("line 2: found \"8 1 2 3 4\" below no column"));
}

TEST(Osu, FullTablesTellTheCalls) {
  const std::string full =
      "# OSU MPI Allreduce Latency Test v5.9\n"
      "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
      "4                      23.63             20.11             27.02        1000\n";
  const auto import = import_measured(read_osu, full, kSixteen);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_us"], Json({23.63}));
  EXPECT_EQ(import.rows[0]["calls_per_sample"], 1000);
  EXPECT_EQ(import.rows[0]["across_ranks"], "mean");
  const auto barrier = import_measured(read_osu,
                                       "# OSU MPI Barrier Latency Test v5.9\n# Avg Latency(us)   Min Latency(us)   Max "
                                       "Latency(us)  Iterations\n            4.91   4.80   5.02   500\n",
                                       kSixteen);
  EXPECT_EQ(barrier.faults, "");
  EXPECT_EQ(barrier.rows[0]["calls_per_sample"], 500);
  EXPECT_THAT(import_measured(read_osu, full + "8   23.9  20.\n", kSixteen).faults, HasSubstr("line 4"));
}

TEST(Osu, PythonsTitlesAreKnown) {
  const auto ping_pong = import_measured(read_osu, "# OMB-Py MPI Latency Test\n# Size (B)      Latency (us)\n8  2.5\n");
  EXPECT_EQ(ping_pong.faults, "");
  EXPECT_EQ(ping_pong.rows[0]["kind"], "ping_pong");
  const auto gather =
      import_measured(read_osu, "# OMB Python MPI Allgather Test\n# Size (B)      Latency (us)\n8  12.5\n", kSixteen);
  EXPECT_EQ(gather.faults, "");
  EXPECT_EQ(gather.rows[0]["size_bytes"], 16 * 8);
  const auto mpi4py =
      import_measured(read_osu, "# MPI Allreduce Latency Test\n# Size [B]  Latency [us]\n8  9.5\n", kSixteen);
  EXPECT_EQ(mpi4py.faults, "");
  EXPECT_EQ(mpi4py.rows[0]["op"], "all_reduce");
}

TEST(Osu, MessagesOfTwoKindsOfMemoryAreNotMixed) {
  const std::string device = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n",
                    host = "# Send Buffer on HOST (H) and Receive Buffer on HOST (H)\n",
                    title = "# OSU MPI-CUDA Latency Test v5.6.2\n", rows = "# Size          Latency (us)\n8  2.5\n";
  EXPECT_EQ(import_measured(read_osu, title + device + rows + title + device + rows).faults, "");
  EXPECT_THAT(import_measured(read_osu, title + device + rows + title + host + rows).faults,
              HasSubstr("line 6: found"));
}

TEST(Osu, ACutRowIsAFault) {
  EXPECT_THAT(import_measured(read_osu, table("MPI Latency Test", "8  1.53\n16  1.5")).faults,
              HasSubstr("line 6: found \"16  1.5\", a time of fewer digits"));
  EXPECT_THAT(import_measured(read_osu, table("MPI Latency Test", "8  1.53\n16")).faults, HasSubstr("line 6"));
}

// What launchers print at the end of a job.
TEST(Osu, WordsBesideATableAreNoRows) {
  const auto import = import_measured(
      read_osu, table("MPI Latency Test", "8  1.5") + "2 total processes killed (some possibly by mpirun)\n");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 1U);
}

TEST(Osu, WrongDataIsAFault) {
  const std::string title = "MPI Allreduce Latency Test";
  const auto passed = import_measured(read_osu, table(title, "4  23.63  Pass"), kSixteen);
  EXPECT_EQ(passed.faults, "");
  EXPECT_EQ(passed.rows[0]["checked"], true);
  EXPECT_EQ(import_measured(read_osu, table(title, "4  23.63"), kSixteen).rows[0]["checked"], false);
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
