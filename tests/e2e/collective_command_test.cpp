#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/e2e/process.hpp"

namespace stepcast::collective_command_test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

Finished collective(const std::string& line) {
  std::vector<std::string> arguments = words(line);
  arguments.insert(arguments.begin(), "collective");
  return stepcast_run(arguments);
}

Json table(const std::string& line) {
  const Finished run = collective(line + " --json");
  if (run.code != 0) throw std::runtime_error(line + ": " + run.err);
  return run.json();
}

std::vector<double> column(const Json& table, const char* key) {
  std::vector<double> out;
  for (const Json& row : table.at("rows")) out.push_back(row.at(key).get<double>());
  return out;
}

constexpr const char* kOps[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                "reduce",     "all_to_all", "send_recv",      "barrier"};

TEST(Collective, EveryOperationHasTheRowsThatScriptsRead) {
  for (const char* op : kOps)
    for (const char* where : {"--ranks 8 --cluster dgx-h100", "--ranks 16 --cluster dgx-a100-80gb",
                              "--ranks 16 --cluster dgx-1-v100-16gb", "--ranks 32 --cluster dgx-b200",
                              "--ranks 7 --cluster single-gpu-star", "--ranks 4 --cluster rental-ryzen9-7950x-128gb"}) {
      const Json json = table(std::string("--op ") + op + " --sizes 1K:1M*32 " + where);
      EXPECT_EQ(json["op"], op);
      ASSERT_FALSE(json["rows"].empty());
      for (const Json& row : json["rows"]) {
        for (const char* key : {"size_bytes", "time_us", "algbw_GBps", "busbw_GBps"})
          EXPECT_TRUE(row.at(key).is_number()) << op << " " << key;
        EXPECT_GT(row["time_us"].get<double>(), 0) << op << " " << where;
        EXPECT_FALSE(row.at("algorithm").get<std::string>().empty());
        EXPECT_FALSE(row.at("protocol").get<std::string>().empty());
      }
    }
}

TEST(Collective, BandwidthsFollowTheConventionOfNcclTests) {
  const std::map<std::string, double> factors{{"all_reduce", 2 * 15.0 / 16},
                                              {"all_gather", 15.0 / 16},
                                              {"reduce_scatter", 15.0 / 16},
                                              {"all_to_all", 15.0 / 16},
                                              {"broadcast", 1},
                                              {"reduce", 1},
                                              {"send_recv", 1}};
  for (const auto& [op, factor] : factors) {
    const Json rows = table("--op " + op + " --sizes 8:1G*64 --ranks 16 --cluster dgx-h100")["rows"];
    ASSERT_EQ(rows.size(), 5U);
    for (const Json& row : rows) {
      const double algbw = row["size_bytes"].get<double>() / row["time_us"].get<double>() / 1e3;
      EXPECT_NEAR(row["algbw_GBps"].get<double>() / algbw, 1, 1e-9);
      EXPECT_NEAR(row["busbw_GBps"].get<double>() / algbw, factor, 1e-9) << op;
    }
  }
}

TEST(Collective, RingOnRawHostsIsItsClosedForm) {
  // 2(n − 1) steps of two links of 1 µs and S/n at 25 GB/s.
  for (const int ranks : {2, 3, 16, 64, 1000}) {
    const Json json = table(
        fmt::format("--op all_reduce --sizes 1K:1G*32 --ranks {} --cluster single-gpu-star --algorithm ring", ranks));
    for (const Json& row : json["rows"]) {
      const double expected = 2.0 * (ranks - 1) * (2 + row["size_bytes"].get<double>() / ranks / 25e3);
      EXPECT_NEAR(row["time_us"].get<double>() / expected, 1, 1e-9) << ranks;
    }
    EXPECT_EQ(json, table(fmt::format("--op all_reduce --sizes 1K:1G*32 --ranks {} --cluster single-gpu-star", ranks)))
        << "raw hosts have no library that would choose otherwise";
  }
}

TEST(Collective, MoreBytesTakeLongerByOneAlgorithm) {
  for (const char* how : {"all_reduce --algorithm ring --protocol simple", "all_reduce --algorithm tree --protocol ll",
                          "all_gather --algorithm ring --protocol ll128", "all_to_all", "send_recv", "broadcast"}) {
    const auto times =
        column(table(std::string("--op ") + how + " --sizes 8:16G --ranks 32 --cluster dgx-h100"), "time_us");
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i], times[i - 1]) << how << " row " << i;
  }
}

TEST(Collective, TakesAlgorithmsAndProtocolsAsNcclSpellsThem) {
  const std::string what = "--op all_reduce --sizes 1M --ranks 8 --cluster dgx-a100-80gb ";
  const Finished printed = collective(what + "--algorithm Ring --protocol LL128");
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, collective(what + "--algorithm ring --protocol ll128").out);
}

TEST(Collective, PrintsTheTableThatPeopleKnow) {
  const Finished run = collective("--op all_reduce --sizes 8:128M --ranks 8 --cluster dgx-h100");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("#       size         count      type   redop    root      time    algbw    busbw"));
  EXPECT_THAT(run.out, HasSubstr("#        (B)    (elements)"));
  EXPECT_THAT(run.out, HasSubstr("\n           8             2     float     sum      -1"));
  EXPECT_THAT(run.out, HasSubstr("\n# Avg bus bandwidth    : "));
  std::istringstream lines(run.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') {
      ++rows;
      EXPECT_EQ(words(line).size(), 10U) << line;
    }
  EXPECT_EQ(rows, 25);
}

TEST(Collective, CountsElementsAsNcclTestsDoes) {
  // 1 MiB of halves are 524,288; each of 8 ranks brings 65,536 of them to an all_gather.
  EXPECT_THAT(collective("--op broadcast --sizes 1M --ranks 8 --cluster dgx-h100 --dtype float16").out,
              HasSubstr("     1048576        524288      half    none       0"));
  for (const char* half : {"half", "fp16"})
    EXPECT_THAT(collective(std::string("--op all_gather --sizes 1M --ranks 8 --cluster dgx-h100 --dtype ") + half).out,
                HasSubstr("     1048576         65536      half    none      -1"));
}

TEST(Collective, TakesScenariosWithOverrides) {
  const std::string scenario = "--op all_reduce --sizes 1G --cluster " + scenario_file("resnet50-v100-8nodes");
  const Json json = table(scenario);
  EXPECT_EQ(json["nodes"], 8);
  EXPECT_EQ(json["ranks"], 64);
  const Json slower = table(scenario + " --set cluster.fabric.nic_bandwidth_Gbps=10");
  EXPECT_GT(column(slower, "time_us")[0], column(json, "time_us")[0]);
}

TEST(Collective, OversubscriptionHoldsUpWhatCrossesIt) {
  const std::string line = "--op all_to_all --sizes 1G --ranks 1024 --cluster dgx-h100 --fabric fat-tree";
  const double flat = column(table(line), "time_us")[0];
  EXPECT_GT(column(table(line + " --oversubscription 8"), "time_us")[0], 1.5 * flat);
}

// Ranks that leave devices idle reach the NICs near them alone, in closed form as rank by rank.
TEST(Collective, PartlyFilledNodesUseTheNicsNearTheirRanks) {
  const auto busbw = [](const std::string& where, const char* flows) {
    return column(table("--op all_gather --sizes 1G --cluster " + where + flows), "busbw_GBps").front();
  };
  for (const char* where : {"dgx-1-v100-16gb --ranks 4 --ranks-per-node 2",
                            "dgx-1-v100-16gb --ranks 8 --ranks-per-node 4", "dgx-1-v100-16gb --ranks 16",
                            "aws-p4d.24xlarge --ranks 8 --ranks-per-node 4", "dgx-h100 --ranks 8 --ranks-per-node 4"}) {
    const double full = busbw(where, " --flows full");
    EXPECT_NEAR(busbw(where, " --flows folded") / full, 1, 0.02) << where;
  }
}

TEST(Collective, RunsMpiWithoutAccelerators) {
  const std::string question = "--op all_reduce --sizes 4K,16K --ranks 8 --nodes 8 --cluster rental-ryzen9-7950x-128gb";
  const Json json = table(question);
  EXPECT_EQ(json["library"], "openmpi-4.1");
  EXPECT_EQ(json["rows"][0]["algorithm"], "recursive-doubling");
  EXPECT_EQ(json["rows"][1]["algorithm"], "rabenseifner");  // from 8 KiB on
  EXPECT_EQ(table(question + " --library openmpi"), json);
  EXPECT_EQ(table(question + " --library openmpi-4.0")["rows"][1]["algorithm"], "ring");  // from 10,000 B on
  EXPECT_EQ(table("--op all_reduce --sizes 8K --ranks 8 --nodes 8 --library gloo --cluster rental-ryzen9-7950x-128gb")
                ["rows"][0]["algorithm"],
            "ring");
}

TEST(Collective, SaysWhoseRulesStandForALibrary) {
  const std::string question = "--op all_reduce --sizes 4K --ranks 64 --nodes 16 --cluster rental-epyc-9454p-256gb ";
  const Json mpich = table(question + "--library mpich-4");
  EXPECT_EQ(mpich["library"], "mpich");
  EXPECT_EQ(mpich["rows"][0]["algorithm"], "two-level");
  EXPECT_THAT(mpich.dump(), Not(HasSubstr("rules of its own")));
  const Json intel = table(question + "--library intel-mpi");
  EXPECT_EQ(intel["rows"], mpich["rows"]);
  EXPECT_THAT(intel.dump(),
              HasSubstr("intel-mpi chooses by rules of its own that are not known: priced by those of mpich 4"));
}

TEST(Collective, DrawsBandwidthAndTime) {
  const ScratchFolder folder;
  const std::string file = (folder / "plot.svg").string();
  const Finished run = collective("--op all_reduce --sizes 1K:1G --ranks 16 --cluster dgx-h100 --plot " + file);
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(read_text(file), testing::StartsWith("<svg "));
  EXPECT_THAT(read_text(file), HasSubstr("bus bandwidth"));
  EXPECT_EQ(collective("--op all_reduce --sizes 1K --ranks 16 --cluster dgx-h100 --plot /nowhere/x.svg").code, 2);
}

TEST(Collective, PricesParameterServersAndGossip) {
  const std::string push = "--op parameter_server_push --sizes 1G --ranks 8 --ranks-per-node 1 --cluster dgx-h100";
  const double one = column(table(push + " --servers 1"), "time_us")[0];
  const double four = column(table(push + " --servers 4"), "time_us")[0];
  EXPECT_NEAR(one / four, 4, 0.05);  // the one server's link binds
  // All that eight workers send crosses the oversubscribed up-links of their leaf to servers on another.
  const double leaves =
      column(table(push + " --servers 8 --oversubscription 100 --set cluster.fabric.nodes_per_leaf=8"), "time_us")[0];
  EXPECT_GT(leaves, 8 * 1.073741824e9 / (8 * 8 * 50e9 / 100) * 1e6);
  EXPECT_NEAR(column(table("--op parameter_server_push --sizes 1G --ranks 16 --cluster single-gpu-star "
                           "--server-placement colocated"),
                     "time_us")[0],
              15 * 1.073741824e9 / 25e9 * 1e6, 100);
  EXPECT_EQ(column(table("--op parameter_server_pull --sizes 1G --ranks 8 --ranks-per-node 1 --cluster dgx-h100"),
                   "time_us")[0],
            one);
  const std::string round = "--op gossip --sizes 1G --ranks 16 --ranks-per-node 1 --cluster dgx-h100 --graph ";
  const double ring = column(table(round + "ring"), "time_us")[0];
  EXPECT_NEAR(column(table(round + "exponential"), "time_us")[0] / ring, 0.5, 0.02);  // one peer at a time, not two
  EXPECT_NEAR(column(table(round + "random-regular --degree 6"), "time_us")[0] / ring, 3, 0.05);
}

// All wait for the rank that gets half as much again; nothing else takes longer.
TEST(Collective, UnequalPartsTakeTheBusiestRanksTime) {
  const auto time = [](const char* op, const char* size) {
    return column(table(std::string(op) + " --sizes " + size + " --ranks 64 --cluster dgx-h100"), "time_us")[0];
  };
  EXPECT_NEAR(time("--op all_to_all_v --imbalance 1", "1G"), time("--op all_to_all", "1G"), 0.01);
  const double folded = time("--op all_to_all_v --imbalance 1.5", "1G");
  EXPECT_NEAR(folded / time("--op all_to_all", "1536M"), 1, 0.01);
  EXPECT_NEAR(time("--op all_to_all_v --imbalance 1.5 --flows full", "1G") / folded, 1, 0.001);
}

TEST(Collective, ReadsAGossipGraphFromAFile) {
  const ScratchFolder folder;
  const std::string file = (folder / "edges.txt").string();
  std::ofstream(file) << "# hub\n1 0\n2,0\n\n3 0 # last\n";
  const std::string line = "--op gossip --sizes 1G --ranks 4 --ranks-per-node 1 --cluster dgx-h100 --graph " + file;
  const Json json = table(line);
  EXPECT_EQ(json["notes"].size(), 1U);  // nobody sends to 1, 2 and 3
  std::ofstream(file) << "1 0\n2 zero\n";
  const Finished bad = collective(line);
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("edges.txt:2"));
}

struct Bad {
  const char* line;
  const char* says;
};

TEST(Collective, MissingSizesHideNoOtherFault) {
  const Finished run = collective("--op all_reduce --ranks 8 --cluster dgx-h10");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--sizes: is missing"));
  EXPECT_THAT(run.err, HasSubstr("did you mean \"dgx-h100\"?"));
}

class BadCollective : public testing::TestWithParam<Bad> {};

TEST_P(BadCollective, IsAFaultWithAWayOut) {
  const Finished run = collective(GetParam().line);
  EXPECT_EQ(run.code, 2);
  EXPECT_TRUE(run.out.empty());
  EXPECT_THAT(run.err, HasSubstr(GetParam().says));
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

INSTANTIATE_TEST_SUITE_P(
    Inputs, BadCollective,
    testing::Values(
        Bad{"--op all_redcue --sizes 1K --ranks 8 --cluster dgx-h100", "did you mean \"all_reduce\"?"},
        Bad{"--op all_reduce --ranks 8 --cluster dgx-h100", "--sizes: is missing"},
        Bad{"--op all_reduce --sizes 1KB --ranks 8 --cluster dgx-h100", "found \"1KB\""},
        Bad{"--op all_reduce --sizes 2M:1M --ranks 8 --cluster dgx-h100", "goes down"},
        Bad{"--op all_reduce --sizes 1K --cluster dgx-h100", "--ranks: is missing"},
        Bad{"--op all_reduce --sizes 1K --ranks 0 --cluster dgx-h100", "--ranks"},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster dgx-h10", "did you mean \"dgx-h100\"?"},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster single-gpu-sta", "did you mean \"single-gpu-star\"?"},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster no/such.json", "no/such.json"},
        Bad{"--op all_reduce --sizes 1K --ranks 12 --cluster dgx-h100", "the nearest that do are 8 and 16"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --ranks-per-node 9 --cluster dgx-h100", "--ranks-per-node"},
        Bad{"--op all_reduce --sizes 1K --ranks 18 --ranks-per-node 9 --cluster dgx-h100", "a node has 8 devices"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --nodes 3 --cluster dgx-h100", "do not divide evenly"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --nodes 4 --ranks-per-node 8 --cluster dgx-h100", "are 4 on each"},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster dgx-a100-80gb --algorithm nvls", "--algorithm: "},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster dgx-h100 --algorithm rng", "did you mean \"ring\"?"},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster dgx-h100 --protocol ll12", "--protocol: "},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster dgx-h100 --dtype flot", "--dtype"},
        Bad{"--op all_reduce --sizes 1K --ranks 8 --cluster dgx-h100 --library glo", "--library: "},
        Bad{"--op all_reduce --sizes 1K --ranks 2 --cluster rental-ryzen9-7950x-128gb --library nccl", "--library"},
        Bad{"--op all_reduce --sizes 1K --ranks 2 --cluster rental-ryzen9-7950x-128gb --algorithm pairwise",
            "--algorithm"},
        Bad{"--op all_reduce --sizes 1K --ranks 2 --cluster rental-ryzen9-7950x-128gb --protocol ll", "--protocol"},
        Bad{"--op all_reduce --sizes 1K --ranks 2 --cluster single-gpu-star --library gloo", "--library"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster dgx-h100 --oversubscription 0.5", "--oversubscription"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster dgx-h100 --set workload.global_batch=1", "/workload"},
        Bad{"--op gossip --sizes 1K --ranks 16 --cluster dgx-h100 --graph rng", "did you mean \"ring\"?"},
        Bad{"--op gossip --sizes 1K --ranks 15 --ranks-per-node 1 --cluster dgx-h100 --graph random-regular --degree 3",
            "--degree"},
        Bad{"--op gossip --sizes 1K --ranks 16 --cluster dgx-h100 --algorithm ring", "--algorithm"},
        Bad{"--op gossip --sizes 1K --ranks 16 --cluster dgx-h100 --flows full", "--flows"},
        Bad{"--op gossip --sizes 1K --ranks 64 --cluster dgx-h100 --set cluster.fabric.nodes_per_leaf=4 --routing ecmp",
            "--routing: found \"ecmp\", but this is worked out"},
        Bad{"--op parameter_server_push --sizes 1K --ranks 64 --cluster dgx-h100 --routing ecmp "
            "--set cluster.fabric.nodes_per_leaf=4",
            "--routing"},
        Bad{"--op all_reduce --sizes 1K --ranks 64 --ranks-per-node 1 --cluster rental-ryzen9-7950x-128gb --routing "
            "ecmp "
            "--set cluster.fabric.nodes_per_leaf=4",
            "--routing"},
        Bad{"--op parameter_server_push --sizes 1K --ranks 16 --cluster dgx-h100 --servers-per-node 9",
            "--servers-per-node"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster dgx-h100 --servers 4", "--servers"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster single-gpu-star --fabric fat-tree",
            "/cluster/fabric/preset"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster single-gpu-star --fabric torus-3d", "--cluster torus-3d"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster single-gpu-star --set cluster.fabric.nodes_per_leaf=4",
            "/cluster/fabric/nodes_per_leaf"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster torus-2d --set cluster.fabric.nics_per_node=2",
            "raw hosts have one NIC of 25 GB/s"},
        Bad{"--op all_to_all_v --sizes 1K --ranks 16 --cluster dgx-h100", "--imbalance: is missing"},
        Bad{"--op all_to_all_v --imbalance 17 --sizes 1K --ranks 16 --cluster dgx-h100", "expected 1 to 16"},
        Bad{"--op all_to_all_v --imbalance 2 --sizes 1K --ranks 16 --cluster dgx-h100 --library gloo",
            "all_to_all_v by gloo has no description"},
        Bad{"--op all_to_all --imbalance 2 --sizes 1K --ranks 16 --cluster dgx-h100", "--imbalance"},
        Bad{"--op all_to_all --sizes 1K --ranks 2048 --cluster perlmutter-gpu --fabric dragonfly --routing ecmp",
            "--routing"},
        Bad{"--op all_reduce --sizes 1K --ranks 16 --cluster dgx-h100 --graph ring", "--graph"}));

double microseconds(const std::string& line) { return column(table(line), "time_us").front(); }

TEST(Collective, EveryOptionThatSaysNothingIsNamed) {
  const Finished run =
      collective("--op all_reduce --sizes 1K --ranks 16 --cluster dgx-h100 --servers 3 --graph ring --imbalance 2");
  EXPECT_EQ(run.code, 2);
  for (const char* option : {"--servers: ", "--graph: ", "--imbalance: "}) EXPECT_THAT(run.err, HasSubstr(option));
}

// The switch that is usual for the NICs adds, as it does in a scenario; those of Ethernet do not.
TEST(Collective, TheUsualSwitchAddsWhereItCan) {
  const Json sums = table("--op all_reduce --sizes 1M --ranks 16 --cluster dgx-h100 --algorithm collnet");
  EXPECT_EQ(sums["rows"][0]["algorithm"], "collnet");
  EXPECT_THAT(collective("--op all_reduce --sizes 1M --ranks 16 --cluster meta-grand-teton --algorithm collnet").err,
              HasSubstr("the fabric's switches do not add"));
}

// What the processors pass in LL the ranks that send share, and no NIC takes any of it away.
TEST(Collective, FasterAndMoreNicsAreNeverSlowerInLl) {
  const auto expect_not_slower = [](const std::string& line, const std::vector<std::string>& settings) {
    double before = 1e12;
    for (const std::string& setting : settings) {
      const double time = microseconds(line + " --set cluster.fabric." + setting);
      EXPECT_LE(time, before * (1 + 1e-9)) << line << " " << setting;
      before = time;
    }
  };
  expect_not_slower("--op all_reduce --algorithm tree --protocol ll --sizes 64K --ranks 64 --cluster dgx-a100-80gb",
                    {"nic_bandwidth_Gbps=100", "nic_bandwidth_Gbps=400", "nic_bandwidth_Gbps=1600"});
  expect_not_slower("--op all_reduce --sizes 8K --ranks 64 --cluster dgx-h100",
                    {"nic_bandwidth_Gbps=400", "nic_bandwidth_Gbps=800", "nic_bandwidth_Gbps=1600"});
  expect_not_slower("--op all_gather --sizes 64K --ranks 8 --ranks-per-node 1 --cluster dgx-h100",
                    {"nics_per_node=1", "nics_per_node=2", "nics_per_node=4", "nics_per_node=8"});
}

/// What full flows take over what folded ones do.
double full_over_folded(const std::string& line) {
  return microseconds(line + " --flows full") / microseconds(line + " --flows folded");
}

// A leaf of the double tree's nodes sends more than a ring's: by the edges of the trees that leave it.
TEST(Collective, TreesFoldedOverNarrowLeavesTakeWhatTheyTakeInFull) {
  for (const int ranks : {128, 120, 104})
    EXPECT_NEAR(
        full_over_folded(fmt::format("--op all_reduce --sizes 64M --ranks {} --cluster dgx-h100 --algorithm tree "
                                     "--oversubscription 16 --set cluster.fabric.nodes_per_leaf=4",
                                     ranks)),
        1, 0.02)
        << ranks;
}

// Raw hosts have links of 25 GB/s and nothing else that takes time, and chips' own ports no PCIe before them.
TEST(Collective, NothingLiesBetweenADeviceAndPortsOfItsOwn) {
  EXPECT_NEAR(full_over_folded("--op all_reduce --sizes 64M --ranks 8 --cluster fat-tree"), 1, 0.01);
  EXPECT_NEAR(full_over_folded("--op send_recv --sizes 64M --ranks 16 --cluster hls-gaudi2"), 1, 0.02);
}

// A node of eight NICs in a torus of two nodes has four links of 12.5 GB/s to the other on either side.
TEST(Collective, ATorusGivesNoMoreThanItsCut) {
  const std::string ring = "--op all_reduce --sizes 1G --ranks 16 --cluster dgx-h100 --fabric torus-2d";
  EXPECT_GT(microseconds(ring), 1.073741824e9 / 100e9 * 1e6);
  EXPECT_GT(microseconds("--op send_recv --sizes 256M --ranks 32 --cluster tpu-v4-host --fabric torus-3d"),
            268435456 / 50e9 * 1e6);
}

// A chip at the corner of an open torus takes all that it gathers over as many links of 50 GB/s as it has; in a torus
// that wraps over all six. 4×4×4 of a v4 wrap, 8 and 64 chips of a v5e do not.
TEST(Collective, AGatherOverATorusPassesTheLinksOfItsCorner) {
  const auto time = [](const std::string& rest) { return microseconds("--op all_gather --sizes 1G " + rest); };
  const auto bound = [](int ranks, int links) { return 1.073741824e9 * (ranks - 1) / ranks / (links * 50e9) * 1e6; };
  EXPECT_GT(time("--ranks 4 --cluster tpu-v4-host"), bound(4, 2));
  EXPECT_GT(time("--ranks 8 --cluster tpu-v5e-host"), bound(8, 2));
  EXPECT_GT(time("--ranks 64 --cluster tpu-v5e-host"), bound(64, 2));
  EXPECT_LT(time("--ranks 64 --cluster tpu-v5e-host"), 1.4 * bound(64, 2));
  EXPECT_GT(time("--ranks 64 --cluster tpu-v4-host"), bound(64, 6));
  EXPECT_LT(time("--ranks 64 --cluster tpu-v4-host"), 1.4 * bound(64, 6));
}

// A ring leaves by two channels a NIC, each hashed by itself: of 16 flows on 16 up-links of each of four leaves the
// busiest holds two or three, so the ring takes 2.1 times as long as where they spread evenly (one flow a NIC: 2.9).
TEST(Collective, HashingTellsTheChannelsOfANicApart) {
  const std::string ring =
      "--op all_reduce --sizes 8G --ranks 64 --cluster dgx-h100 --algorithm ring --protocol simple "
      "--set cluster.fabric.nodes_per_leaf=2";
  const double even = microseconds(ring);
  double sum = 0;
  constexpr int kSeeds = 8;
  for (int seed = 1; seed <= kSeeds; ++seed)
    sum += microseconds(fmt::format("{} --routing ecmp --seed {}", ring, seed)) / even;
  EXPECT_NEAR(sum / kSeeds, 2.1, 0.35);
}

// A message of an exchange passes Σmin(i, 23 − i)/23 = 132/23 links of an axis, of which a router has two of 6.25 GB/s.
// Peers near and far, on both sides, are served side by side.
TEST(Collective, AnExchangeOverATorusKeepsToItsLinks) {
  const std::string large = "--op all_to_all --ranks 529 --cluster torus-2d --sizes ";
  EXPECT_NEAR(column(table(large + "64G"), "busbw_GBps")[0], 2 * 6.25 / (132 / 23.0) * 528 / 529, 0.01);
  const double cut = 2 * 6.25 / (12 / 7.0) * 48 / 49;
  const double executed = column(table("--op all_to_all --ranks 49 --cluster torus-2d --sizes 4G"), "busbw_GBps")[0];
  EXPECT_LT(executed, cut * 1.001);
  EXPECT_GT(executed, cut / 1.5);
}

// Of a node's ranks one sends to the next node, as nccl-tests' ranks do: wire and up-links carry one message.
TEST(Collective, OneMessageOfANodeGoesToTheNext) {
  for (const char* where :
       {"--ranks 8 --cluster server-4xp100-pcie-25gbe",
        "--ranks 128 --cluster dgx-h100 --oversubscription 100 --set cluster.fabric.nodes_per_leaf=4"})
    EXPECT_NEAR(full_over_folded(std::string("--op send_recv --sizes 256M ") + where), 1, 0.05) << where;
  const auto rate = [](const char* ranks) {
    return column(table(std::string("--op send_recv --sizes 1G --cluster server-4xp100-pcie-25gbe ") + ranks),
                  "busbw_GBps")[0];
  };
  EXPECT_NEAR(rate("--ranks 8"), rate("--ranks 2 --nodes 2"), 0.01);
}

// More messages than can be laid one by one: the fullest cables by expectation, a little slower than spread evenly.
TEST(Collective, LargeExchangesOverHashedPathsAreExpected) {
  const std::string exchange = "--op all_to_all --sizes 256M --ranks 4096 --cluster dgx-h100";
  const double hashed = microseconds(exchange + " --routing ecmp"), even = microseconds(exchange);
  EXPECT_GT(hashed, even);
  EXPECT_LT(hashed, 1.3 * even);
}

// Routers of a dragonfly send over others under load, in full flows as in folded ones.
TEST(Collective, ADragonflyFoldedTakesWhatItTakesInFull) {
  for (const char* op : {"all_reduce", "send_recv"})
    EXPECT_NEAR(full_over_folded(
                    fmt::format("--op {} --sizes 256M --ranks 160 --cluster perlmutter-gpu --fabric dragonfly", op)),
                1, 0.05)
        << op;
}

// Two switches' worth of up-links carry a packed ring's edge, not a scattered one's.
TEST(Collective, ProcessesFeelWhereTheirNodesLie) {
  const auto time = [](const char* op, const char* rest) {
    return microseconds(
        fmt::format("--op {} --sizes 64M --ranks 16 --ranks-per-node 1 --cluster rental-epyc-9454p-256gb "
                    "--set cluster.fabric.nic_bandwidth_Gbps=100 --set cluster.fabric.nics_per_node=1 "
                    "--set cluster.fabric.network=infiniband --set cluster.fabric.nodes_per_leaf=4 {}",
                    op, rest));
  };
  for (const char* op : {"send_recv", "all_gather --algorithm ring"}) {
    EXPECT_NEAR(time(op, "--oversubscription 4") / time(op, "--oversubscription 1"), 1, 0.02) << op;
    EXPECT_GT(time(op, "--oversubscription 4 --placement scattered"), 2 * time(op, "--oversubscription 4")) << op;
  }
}

TEST(Collective, SaysWhatOfAFabricDoesNotCount) {
  const auto notes = [](const std::string& line) { return collective("--op all_reduce --sizes 1M " + line).out; };
  EXPECT_THAT(notes("--ranks 32 --cluster dgx-h100 --fabric rail-only --oversubscription 2"),
              HasSubstr("oversubscription 2 has no effect"));
  EXPECT_THAT(notes("--ranks 16 --cluster tpu-v4-host --fabric fat-tree"), HasSubstr("form a torus"));
  EXPECT_THAT(notes("--ranks 64 --cluster tpu-v5e-host"), HasSubstr("the torus is open along 8 and 8"));
  EXPECT_THAT(notes("--ranks 64 --cluster tpu-v4-host"), Not(HasSubstr("torus")));
  EXPECT_THAT(notes("--ranks 16 --cluster tpu-v4-host"), HasSubstr("by xla"));
}

TEST(Collective, LatenessIsANumber) {
  const Finished run = collective("--op all_reduce --sizes 1M --ranks 16 --cluster dgx-h100 --jitter nan");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("--jitter"));
}

/// Four nodes on one switch, whose last has cables of a rate and all of a latency.
Json on_one_switch(double last_Gbps, double latency_us) {
  Json cables = Json::array();
  for (int node = 0; node < 4; ++node)
    cables.push_back({{"from", "node" + std::to_string(node)},
                      {"to", "s"},
                      {"bandwidth_Gbps", node == 3 ? last_Gbps : 400.0},
                      {"latency_us", latency_us}});
  return {{"format_version", 1},
          {"name", "custom"},
          {"cluster",
           {{"node", "dgx-h100"},
            {"nodes", 4},
            {"fabric", {{"preset", "custom"}, {"switches", {{{"name", "s"}}}}, {"cables", std::move(cables)}}}}},
          {"workload", {{"model", "bert-large"}, {"global_batch", 512}, {"seq_len", 128}}},
          {"strategy", {{"framework", "pytorch-ddp"}, {"micro_batch", 8}}}};
}

TEST(Collective, CablesOfACustomFabricCount) {
  const ScratchFolder folder;
  const std::string file = (folder / "custom.json").string();
  const auto written = [&](double last_Gbps, double latency_us) {
    write_file(file, on_one_switch(last_Gbps, latency_us).dump());
    return " --cluster " + file;
  };
  for (const char* op : {"all_reduce", "send_recv"})
    EXPECT_NEAR(full_over_folded(fmt::format("--op {} --sizes 256M", op) + written(100, 0.05)), 1, 0.05) << op;
  EXPECT_GT(microseconds("--op all_reduce --sizes 1K" + written(400, 5000)), 10000);
  EXPECT_LT(microseconds("--op all_reduce --sizes 1K" + written(400, 0.05)), 100);
}

}  // namespace
}  // namespace stepcast::collective_command_test
