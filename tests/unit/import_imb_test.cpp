#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/measured_import.hpp"

namespace stepcast::import_imb_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

const MeasuredHints kEightPerNode{.per_node = 8};

const std::string kHead = R"(#----------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.8, MPI-1 part
#----------------------------------------------------------------
# Date                  : Fri Nov 20 10:00:00 2026
# Machine               : x86_64
# MPI Version           : 3.1

# Calling sequence was: 

# IMB-MPI1 allreduce 

# Minimum message length in bytes:   0
#
# MPI_Datatype                   :   MPI_BYTE 
# MPI_Datatype for reductions    :   MPI_FLOAT 
# MPI_Op                         :   MPI_SUM  

# List of Benchmarks to run:

# Allreduce

)";

std::string table(const std::string& name, int processes, const std::string& rows,
                  const std::string& columns = "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]") {
  return "#----------------\n# Benchmarking " + name + " \n# #processes = " + std::to_string(processes) +
         " \n#----------------\n       " + columns + "\n" + rows;
}

const std::string kRows =
    "            0         1000         0.03         0.04         0.03\n"
    "      1048576          160       350.25       410.50       380.75\n";

// The user guide: Allreduce and Reduce_scatter reduce X bytes, Allgather and Alltoall input X bytes for each process,
// Reduce_scatter_block X bytes for each that receives.
TEST(Imb, SizesAreThoseOfTheWholeBuffer) {
  const auto size_of = [](const char* name) {
    const auto import = import_measured(read_imb, kHead + table(name, 16, kRows), kEightPerNode);
    EXPECT_EQ(import.faults, "") << name;
    EXPECT_EQ(import.rows.size(), 1U) << name;
    return import.rows[0]["size_bytes"].get<std::int64_t>();
  };
  EXPECT_EQ(size_of("Allreduce"), 1048576);
  EXPECT_EQ(size_of("Reduce_scatter"), 1048576);
  EXPECT_EQ(size_of("Bcast"), 1048576);
  EXPECT_EQ(size_of("Reduce"), 1048576);
  EXPECT_EQ(size_of("Allgather"), 16 * 1048576);
  EXPECT_EQ(size_of("Alltoall"), 16 * 1048576);
  EXPECT_EQ(size_of("Reduce_scatter_block"), 16 * 1048576);
}

TEST(Imb, ARowHasTheMeanOfItsRanks) {
  const auto import = import_measured(read_imb, kHead + table("Allreduce", 16, kRows), kEightPerNode);
  const Json& row = import.rows[0];
  EXPECT_EQ(row["samples_us"], Json({380.75}));
  EXPECT_EQ(row["across_ranks"], "mean");
  EXPECT_EQ(row["calls_per_sample"], 160);
  EXPECT_EQ(row["data_type"], "float32");
  EXPECT_EQ(row["ranks"], 16);
  EXPECT_EQ(row["nodes"], 2);
  EXPECT_EQ(import.date, "2026-11-20T10:00:00Z");
}

// IMB repeats a benchmark on 2, 4, 8 … processes, and on all.
TEST(Imb, SmallerTablesAreOnTheFirstNodes) {
  const auto import = import_measured(
      read_imb, table("Allreduce", 1, kRows) + table("Allreduce", 2, kRows) + table("Allreduce", 12, kRows),
      kEightPerNode);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["nodes"], 1);
  EXPECT_EQ(import.rows[0]["ranks_per_node"], 2);
  EXPECT_EQ(import.rows[1]["nodes"], 2);
  EXPECT_EQ(import.rows[1]["ranks_per_node"], 8);
  EXPECT_THAT(import.warnings.dump(), HasSubstr("Allreduce of one process"));
}

TEST(Imb, MessagesOfPairs) {
  const std::string columns = "#bytes #repetitions      t[usec]   Mbytes/sec",
                    rows =
                        "            0         1000         1.25         0.00\n"
                        "            8         1000         1.50         5.33\n";
  const auto inside = import_measured(read_imb, table("PingPong", 2, rows, columns), kEightPerNode);
  EXPECT_EQ(inside.faults, "");
  ASSERT_EQ(inside.rows.size(), 1U);
  EXPECT_EQ(inside.rows[0]["kind"], "ping_pong");
  EXPECT_EQ(inside.rows[0]["nodes"], 1);
  EXPECT_EQ(inside.rows[0]["samples_us"], Json({1.5}));
  const auto across = import_measured(read_imb, table("PingPong", 2, rows, columns), {.per_node = 1});
  EXPECT_EQ(across.rows[0]["nodes"], 2);
  const auto crossing = import_measured(read_imb, table("PingPing", 2, rows, columns), {.per_node = 1});
  EXPECT_EQ(crossing.rows[0]["op"], "send_recv");
  const auto ring = import_measured(read_imb,
                                    table("Sendrecv", 16, "8 1000 1.10 1.50 1.25 12.80\n",
                                          "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec"),
                                    kEightPerNode);
  EXPECT_EQ(ring.faults, "");
  EXPECT_EQ(ring.rows[0]["op"], "send_recv");
  EXPECT_EQ(ring.rows[0]["size_bytes"], 8);
}

TEST(Imb, BarriersHaveNoSizes) {
  const auto import = import_measured(read_imb,
                                      table("Barrier", 16, "         1000        84.96        85.08        85.02\n",
                                            "#repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"),
                                      kEightPerNode);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["op"], "barrier");
  EXPECT_EQ(import.rows[0]["samples_us"], Json({85.02}));
}

TEST(Imb, OfNonBlockingCallsTheBareCommunicationCounts) {
  const auto import = import_measured(read_imb,
                                      table("Iallreduce", 16, "1024 1000 30.10 16.40 17.20 21.50\n",
                                            "#bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]"),
                                      kEightPerNode);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["samples_us"], Json({16.4}));
  EXPECT_THAT(import.warnings.dump(), HasSubstr("libraries may choose other algorithms"));
  const auto pure = import_measured(read_imb, table("Ireduce_scatter_pure", 16, kRows), kEightPerNode);
  EXPECT_EQ(pure.faults, "");
  EXPECT_EQ(pure.rows[0]["op"], "reduce_scatter");
}

// A build with checks repeats the name, and counts defects.
TEST(Imb, WrongDataIsAFault) {
  const std::string columns = "#Benchmarking #procs #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] defects";
  const auto sound = import_measured(
      read_imb, table("Allreduce", 96, "Allreduce 96 4 1000 297.88 298.07 297.95 0.00\n", columns), kEightPerNode);
  EXPECT_EQ(sound.faults, "");
  EXPECT_EQ(sound.rows[0]["checked"], true);
  EXPECT_THAT(
      import_measured(read_imb, table("Allreduce", 96, "Allreduce 96 4 1000 297.88 298.07 297.95 1.00\n", columns),
                      kEightPerNode)
          .faults,
      HasSubstr("wrong data"));
}

TEST(Imb, WhatIsNoSingleCallIsLeftOut) {
  const std::string gather = table("Gather", 16, kRows), exchange = table("Exchange", 16, kRows);
  const auto beside = import_measured(read_imb, gather + table("Allreduce", 16, kRows), kEightPerNode);
  EXPECT_EQ(beside.faults, "");
  EXPECT_EQ(beside.rows.size(), 1U);
  EXPECT_THAT(beside.warnings.dump(), HasSubstr("Gather"));
  EXPECT_THAT(import_measured(read_imb, exchange + gather, kEightPerNode).faults, HasSubstr("line 2: \"Exchange\""));
  const std::string groups =
      "# Benchmarking Allreduce\n# ( 2 groups of 8 processes each running simultaneous )\n"
      "  Group  #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n 0 8 1000 1.00 2.00 1.50\n";
  EXPECT_THAT(import_measured(read_imb, groups, kEightPerNode).faults, HasSubstr("several groups at once"));
}

TEST(Imb, RowsWithoutATimeAreNoted) {
  const auto import = import_measured(
      read_imb, table("Alltoall", 16, kRows + "      4194304 out-of-mem.; needed X=   2.001 GB; use flag \"-mem X\"\n"),
      kEightPerNode);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 1U);
  EXPECT_THAT(import.warnings.dump(), HasSubstr("rows without a time"));
}

TEST(Imb, ACutRowIsAFault) {
  EXPECT_THAT(import_measured(read_imb, table("Bcast", 16, kRows + "2097152 80 700.10 810"), kEightPerNode).faults,
              HasSubstr("line 8"));
  EXPECT_THAT(
      import_measured(read_imb, table("Bcast", 16, kRows + "2097152 80 700.10 810.20 750.1"), kEightPerNode).faults,
      HasSubstr("line 8"));
}

TEST(Imb, ACutLastColumnIsAFault) {
  const std::string columns = "#repetitions  t_min[usec]  t_max[usec]  t_avg[usec]";
  EXPECT_THAT(import_measured(read_imb, table("Barrier", 16, " 1000 84.96 85.08 85", columns), kEightPerNode).faults,
              HasSubstr("line 6"));
}

TEST(Imb, TheDateMayHaveALauncherBefore) {
  const std::string dated = "12: # Date                  : Fri Nov 20 10:00:00 2026\n";
  EXPECT_EQ(import_measured(read_imb, dated + table("Bcast", 16, kRows), kEightPerNode).date, "2026-11-20T10:00:00Z");
}

TEST(Imb, HowManyRanksANodeHasIsAskedFor) {
  EXPECT_THAT(import_measured(read_imb, table("Bcast", 16, kRows)).faults, HasSubstr("--ranks-per-node"));
  EXPECT_THAT(import_measured(read_imb, "8 1000 1 2\n", kEightPerNode).faults, HasSubstr("no table of the Intel MPI"));
}

TEST(Imb, LinesMayHaveALauncherBefore) {
  std::string tagged;
  for (const std::string& line : {std::string("# Benchmarking Allreduce "), std::string("# #processes = 16 "),
                                  std::string("  #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]"),
                                  std::string("  1024  1000  10.00  12.00  11.00")})
    tagged += "[1,0]<stdout>:" + line + "\r\n";
  const auto import = import_measured(read_imb, tagged, kEightPerNode);
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 1U);
}

}  // namespace
}  // namespace stepcast::import_imb_test
