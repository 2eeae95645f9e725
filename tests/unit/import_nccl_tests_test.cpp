#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "tests/measured_import.hpp"

namespace stepcast::import_nccl_tests_test {
namespace {

using test::import_measured;
using testing::HasSubstr;

/// One run of nccl-tests: its program where this version says it, devices on hosts of eight, one row.
std::string run(const std::string& program, int ranks, const std::string& columns, const std::string& row,
                const std::string& end = "# Out of bounds values : 0 OK\n") {
  std::string out = program.empty() ? "" : "# Collective test starting: " + program + "\n";
  out +=
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 64 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 "
      "graph: 0\n#\n# Using devices\n";
  for (int i = 0; i < ranks; ++i)
    out +=
        fmt::format("#  Rank {} Group  0 Pid  62767 on node{} device  {} [0000:19:00] NVIDIA H800\n", i, i / 8, i % 8);
  return out + "#\n#       size         count      type   redop    root     " + columns + "\n" + row + "\n" + end;
}

constexpr const char* kColumns = "time   algbw   busbw #wrong     time   algbw   busbw #wrong";
constexpr const char* kRow = " 2097152  524288  float  sum  -1  412.2  5.09  9.54  0  411.5  5.10  9.55  0";

std::string labelled(const std::string& text, const std::string& label) {
  std::istringstream in(text);
  std::string out;
  for (std::string line; std::getline(in, line);) out += label + line + "\n";
  return out;
}

TEST(NcclTests, EachTableHasItsOwnDevices) {
  const auto import = import_measured(
      read_nccl_tests, run("all_reduce_perf", 8, kColumns, kRow) + run("all_gather_perf", 16, kColumns, kRow));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 4U);
  EXPECT_EQ(import.rows[0]["ranks"], 8);
  EXPECT_EQ(import.rows[0]["nodes"], 1);
  EXPECT_EQ(import.rows[2]["op"], "all_gather");
  EXPECT_EQ(import.rows[2]["ranks"], 16);
  EXPECT_EQ(import.rows[2]["nodes"], 2);
}

// common.cu before 2.13: the column is the largest deviation from the expected value, and the verdict is the last line.
TEST(NcclTests, DeviationsOfOldVersionsAreNoCounts) {
  constexpr const char* kOld = "time   algbw   busbw  error     time   algbw   busbw  error";
  constexpr const char* kOldRow = " 1024 256 float sum -1 35.11 0.03 0.05 5e-07 35.41 0.03 0.05 N/A";
  const auto sound = import_measured(read_nccl_tests, run("", 8, kOld, kOldRow), {}, "all_reduce.txt");
  EXPECT_EQ(sound.faults, "");
  ASSERT_EQ(sound.rows.size(), 2U);
  EXPECT_EQ(sound.rows[0]["checked"], true);
  EXPECT_EQ(sound.rows[1]["checked"], false);
  const auto wrong = import_measured(read_nccl_tests, run("", 8, kOld, kOldRow, "# Out of bounds values : 3 FAILED\n"),
                                     {}, "all_reduce.txt");
  EXPECT_THAT(wrong.faults, HasSubstr("line 15: found \"Out of bounds values : 3 FAILED\""));
}

TEST(NcclTests, LabelsOfRanksAreNoPartOfALine) {
  const std::string plain = run("all_reduce_perf", 8, kColumns, kRow);
  const Json rows = import_measured(read_nccl_tests, plain).rows;
  for (const char* label : {"[1,0]<stdout>:", "[prterun-head-71@1,0]<stdout>: ", "0: ", " 0: "})
    EXPECT_EQ(import_measured(read_nccl_tests, labelled(plain, label)).rows, rows) << label;
}

TEST(NcclTests, TablesOfNoCollectiveAreLeftOutAndNamed) {
  const std::string gather = run("gather_perf", 8, kColumns, kRow);
  const auto suite = import_measured(read_nccl_tests, gather + run("all_gather_perf", 8, kColumns, kRow));
  EXPECT_EQ(suite.faults, "");
  EXPECT_EQ(suite.rows.size(), 2U);
  EXPECT_THAT(suite.warnings.dump(), HasSubstr("gather_perf"));
  for (const char* program : {"gather_perf", "hypercube_perf"}) {
    const std::string faults = import_measured(read_nccl_tests, run(program, 8, kColumns, kRow)).faults;
    EXPECT_THAT(faults, HasSubstr(program));
    EXPECT_THAT(faults, Not(HasSubstr("--op")));
  }
}

TEST(NcclTests, JsonTellsItsDate) {
  const auto import = import_measured(
      read_nccl_tests,
      R"({"start_time": "2026-11-20 10:00:00", "args": ["./build/all_reduce_perf"], "config": {"devices": [{"hostname": "n"},
      {"hostname": "n"}]}, "results": [{"size": 8, "type": "float", "out_of_place": {"time": 30.1, "nwrong": 0}}]})");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.date, "2026-11-20T10:00:00Z");
}

// The table of a job that was killed: its words are not those of the header's end.
// 64 bytes in 0.1455 us are 0.44 GB/s; printed as 0.15 us they would be 0.43.
TEST(NcclTests, ShortTimesAreRounded) {
  const auto import = import_measured(
      read_nccl_tests,
      run("all_reduce_perf", 1, kColumns, "  64  16  float  sum  -1  0.15  0.44  0.00  0  0.15  0.44  0.00  0"), {});
  EXPECT_EQ(import.faults, "");
}

// The first versions counted what a rank gets from the others: 1,048,576 bytes on two ranks in 738.2 us are 0.71 GB/s.
TEST(NcclTests, RatesOfTheFirstVersionsAreOfWhatIsMoved) {
  const std::string gather =
      "# nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1 \n#\n"
      "# Using devices\n#   Rank  0 Pid  12979 on    host device  0 [0x45] GeForce GTX 1080\n"
      "#   Rank  1 Pid  12979 on    host device  1 [0xc4] GeForce GTX 1080\n#\n"
      "#       size         count    type     time   algbw   busbw  error     time   algbw   busbw  error\n"
      "     1048576        131072   float    738.2    RATE    RATE  0e+00    784.1    0.67    0.67  0e+00\n"
      "# Out of bounds values : 0 OK\n";
  const auto of_rate = [&](const std::string& rate) {
    std::string text = gather;
    for (auto at = text.find("RATE"); at != std::string::npos; at = text.find("RATE")) text.replace(at, 4, rate);
    return import_measured(read_nccl_tests, text, {.op = "all_gather"});
  };
  const auto import = of_rate("0.71");
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows[0]["size_bytes"], 1048576);
  EXPECT_THAT(of_rate("0.91").faults, HasSubstr("are no 0.91 GB/s"));
}

TEST(NcclTests, ACutRowIsAFault) {
  std::istringstream row(kRow);
  std::string cut;
  int words = 0;
  for (std::string word; row >> word;) {
    cut += word + " ";
    if (++words == 13) break;
    const auto import = import_measured(read_nccl_tests, run("all_reduce_perf", 8, kColumns, cut));
    EXPECT_THAT(import.faults, HasSubstr(fmt::format("line 15: has {} columns, its header 13", words))) << cut;
  }
  const std::string late = run("all_reduce_perf", 8, kColumns, "16777216 4194304 float sum -1 117.14 143.23 268.55 0");
  EXPECT_THAT(import_measured(read_nccl_tests, late).faults, HasSubstr("line 15: has 9 columns, its header 13"));
}

TEST(NcclTests, AListOfDevicesWithoutItsBeginningIsAFault) {
  std::string tail = run("all_reduce_perf", 16, kColumns, kRow);
  tail.erase(tail.find("#  Rank 0"), tail.find("#  Rank 15") - tail.find("#  Rank 0"));
  EXPECT_THAT(import_measured(read_nccl_tests, tail).faults,
              HasSubstr("its list of devices is cut: 1 of 16 ranks are in it"));
}

// Pages show a line that begins with its mark as a heading, and what is copied from them has none.
TEST(NcclTests, CommentsMayHaveLostTheirMarks) {
  std::string copied = run("", 16, kColumns, kRow);
  std::erase(copied, '#');
  copied.replace(copied.find("busbw wrong"), 11, "busbw #wrong");
  copied.replace(copied.rfind("busbw wrong"), 11, "busbw #wrong");
  const auto import = import_measured(read_nccl_tests, "mpirun -np 16 ./build/all_reduce_perf -b 2M\n" + copied);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0].at("nodes"), 2);
}

TEST(NcclTests, OperationsThatSumNothingMayHaveNoRedop) {
  const auto import = import_measured(
      read_nccl_tests,
      run("all_gather_perf", 8, kColumns, "2097152 524288 float -1 412.2 5.09 9.54 0 411.5 5.10 9.55 0"));
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 2U);
}

TEST(NcclTests, ATimeThatIsNotOfItsRateIsAFault) {
  constexpr const char* kShifted = " 2097152 524288 float sum -1 41.22 5.09 9.54 0 411.5 5.10 9.55 0";
  EXPECT_THAT(import_measured(read_nccl_tests, run("all_reduce_perf", 8, kColumns, kShifted)).faults,
              HasSubstr("2097152 bytes in 41.22 us are no 5.09 GB/s"));
}

/// The run of sixteen ranks with the group of each.
std::string split_run(const std::function<int(int)>& group_of) {
  std::string out = run("all_reduce_perf", 16, kColumns, kRow);
  for (int i = 0; i < 16; ++i) {
    const std::string rank = fmt::format("Rank {} Group  ", i);
    out.replace(out.find(rank) + rank.size(), 1, std::to_string(group_of(i)));
  }
  return out;
}

// NCCL_TESTS_SPLIT_MASK: a communicator is the ranks of one group, and the table's time is of each.
TEST(NcclTests, RanksOfAGroupAreOneCommunicator) {
  const auto import = import_measured(read_nccl_tests, split_run([](int rank) { return rank % 8; }));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.rows[0]["ranks"], 2);
  EXPECT_EQ(import.rows[0]["nodes"], 2);
  EXPECT_EQ(import.rows[0]["ranks_per_node"], 1);
  EXPECT_THAT(import.warnings.dump(), HasSubstr("8 groups of 2 ranks ran side by side"));
  EXPECT_THAT(import_measured(read_nccl_tests, split_run([](int rank) { return rank > 11; })).faults,
              HasSubstr("2 groups, which are not alike"));
}

/// The same without its list of devices.
std::string unlisted(const std::string& program) {
  std::string text = run(program, 0, kColumns, kRow);
  return text.erase(text.find("# Using devices"), 16);
}

// What the file says goes first, and an option that says otherwise is no hint but a fault.
TEST(NcclTests, OptionsThatContradictTheFileAreOneFault) {
  struct Case {
    std::string text, file;
    MeasuredHints hints;
    const char* says;
  };
  const std::string listed = run("all_reduce_perf", 16, kColumns, kRow);
  for (const Case& of :
       {Case{listed, "measured.txt", {.ranks = 32}, "has 16 ranks, 8 a node"},
        Case{listed, "measured.txt", {.per_node = 4}, "has 16 ranks, 8 a node"},
        Case{listed, "measured.txt", {.op = "all_gather"}, "--op says all_gather, and its program is all_reduce"},
        Case{unlisted(""), "all_reduce.txt", {.op = "all_gather", .ranks = 16}, "and the file's name all_reduce"},
        Case{unlisted(""), "all_reduce.txt", {.ranks = 16, .per_node = 3}, "16 ranks do not fill nodes of 3"},
        Case{unlisted(""), "all_reduce.txt", {.ranks = 8}, "busbw is 1.874 of algbw"}}) {
    const auto import = import_measured(read_nccl_tests, of.text, of.hints, of.file);
    EXPECT_THAT(import.faults, HasSubstr(of.says));
    EXPECT_EQ(std::count(import.faults.begin(), import.faults.end(), '\n'), 1) << import.faults;
  }
  const MeasuredHints same{.op = "all_reduce", .ranks = 16, .per_node = 8};
  EXPECT_EQ(import_measured(read_nccl_tests, listed, same).faults, "");
  EXPECT_EQ(import_measured(read_nccl_tests, unlisted(""), same).rows.size(), 2U);
}

TEST(NcclTests, APredictionIsNoMeasurement) {
  EXPECT_THAT(import_measured(read_nccl_tests,
                              "# all_reduce of 16 ranks on 2 nodes by nccl, predicted (folded)\n" + unlisted(""),
                              {.ranks = 16}, "all_reduce.txt")
                  .faults,
              HasSubstr("is a prediction of stepcast collective, no measurement"));
}

TEST(NcclTests, JsonHasGroups) {
  const auto import = import_measured(
      read_nccl_tests,
      R"({"args": ["./build/all_reduce_perf"], "config": {"devices": [{"hostname": "n", "group": 0}, {"hostname": "n", "group": 0},
      {"hostname": "m", "group": 1}, {"hostname": "m", "group": 1}]},
      "results": [{"size": 8, "type": "float", "out_of_place": {"time": 30.1, "nwrong": 0}}]})");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["ranks"], 2);
  EXPECT_EQ(import.rows[0]["nodes"], 1);
}

/// Prints a message of NCCL behind the `at`-th word of a row, as a process does that prints both.
std::string split_by_message(const std::string& row, std::size_t at) {
  std::size_t cut = 0;
  for (std::size_t i = 0; i < at; ++i) cut = row.find_first_of(' ', row.find_first_not_of(' ', cut));
  return row.substr(0, cut) + "node0:7:9 [0] NCCL INFO Launch mode Parallel\n" + row.substr(cut);
}

TEST(NcclTests, RowsThatAMessageSplitsAreJoined) {
  const auto import =
      import_measured(read_nccl_tests, run("all_reduce_perf", 8, kColumns, split_by_message(kRow, 5) + "\n" + kRow));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 4U);
  EXPECT_EQ(import.rows[0], import.rows[2]);
  EXPECT_EQ(import.rows[1], import.rows[3]);
}

TEST(NcclTests, ACutRowIsAFaultThoughOthersFollow) {
  const std::string cut = std::string(kRow).substr(0, 40);
  EXPECT_THAT(import_measured(read_nccl_tests, run("all_reduce_perf", 8, kColumns, cut + "\n" + kRow)).faults,
              HasSubstr("columns, its header 13"));
}

TEST(NcclTests, ATimestampIsOfTwoWords) {
  const auto import = import_measured(read_nccl_tests, run("all_reduce_perf", 8, std::string(kColumns) + "   timestamp",
                                                           std::string(kRow) + "  2026-05-01 12:00:00"));
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 2U);
  EXPECT_EQ(import.date, "2026-05-01T12:00:00Z");
}

// rccl-tests -O 0: one set of columns, below the heading that names it.
TEST(NcclTests, TimesInPlaceAloneAreInPlace) {
  std::string text = run("all_reduce_perf", 8, "time   algbw   busbw #wrong",
                         " 2097152  524288  float  sum  -1  412.2  5.09  9.54  0");
  text.insert(text.find("#       size"), "#                           in-place\n");
  const auto import = import_measured(read_nccl_tests, text);
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["in_place"], true);
}

TEST(NcclTests, ACommandLineTellsTheCollective) {
  const std::string table = run("", 8, kColumns, kRow);
  const auto one = import_measured(read_nccl_tests, "+ mpirun -np 8 ./build/all_reduce_perf -b 8\n" + table);
  EXPECT_EQ(one.faults, "");
  EXPECT_EQ(one.rows[0]["op"], "all_reduce");
  EXPECT_THAT(import_measured(read_nccl_tests, "all_reduce_perf -b 8\nall_gather_perf -b 8\n" + table).faults,
              HasSubstr("neither the table nor the file's name"));
}

TEST(NcclTests, AHeadingTellsTheCollectiveWhereNoCommandDoes) {
  const auto import =
      import_measured(read_nccl_tests, "======== broadcast_perf ========\n" + run("", 8, kColumns, kRow) +
                                           "======== all_reduce_perf ========\n" + run("", 8, kColumns, kRow));
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 4U);
  EXPECT_EQ(import.rows[0].at("op"), "broadcast");
  EXPECT_EQ(import.rows[2].at("op"), "all_reduce");
  const auto built =
      import_measured(read_nccl_tests, "Linking /tests/build/broadcast_perf\nLinking /tests/build/all_reduce_perf\n" +
                                           run("", 8, kColumns, kRow));
  EXPECT_THAT(built.faults, HasSubstr("which collective it is"));
}

TEST(NcclTests, ProcessesThatKnowNothingOfOneAnotherAreRefused) {
  std::string text = run("all_reduce_perf", 1, kColumns, kRow);
  const auto rank = text.find("#  Rank 0");
  text.insert(rank, text.substr(rank, text.find('\n', rank) + 1 - rank));
  EXPECT_THAT(import_measured(read_nccl_tests, text).faults, HasSubstr("has a rank twice"));
}

TEST(NcclTests, LinesMayHaveATimeAndAColour) {
  const auto import = import_measured(
      read_nccl_tests, labelled(run("all_reduce_perf", 8, kColumns, kRow), "2026-11-01T12:00:00.5Z \x1b[32m"));
  EXPECT_EQ(import.faults, "");
  EXPECT_EQ(import.rows.size(), 2U);
}

// util.cu, writeDeviceReport: of each process the JSON lists the first device only.
TEST(NcclTests, JsonListsOneDeviceOfEachProcess) {
  const auto import = import_measured(
      read_nccl_tests,
      R"({"args":["all_reduce_perf"],"config":{"nthreads":1,"ngpus":4,"iterations":20,"devices":[)"
      R"({"rank":0,"group":0,"hostname":"a"},{"rank":4,"group":0,"hostname":"b"}]},"results":[)"
      R"({"size":1024,"type":"float","out_of_place":{"time":10.0,"alg_bw":0.1,"bus_bw":0.18,"nwrong":0}}]})");
  EXPECT_EQ(import.faults, "");
  ASSERT_EQ(import.rows.size(), 1U);
  EXPECT_EQ(import.rows[0]["ranks"], 8);
  EXPECT_EQ(import.rows[0]["nodes"], 2);
}

}  // namespace
}  // namespace stepcast::import_nccl_tests_test
