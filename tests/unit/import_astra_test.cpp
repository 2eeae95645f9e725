#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "calibration/importers/astra_sim.hpp"
#include "hardware-catalog/part_kinds.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::import_astra_test {
namespace {

using test::catalog;
using testing::HasSubstr;
namespace fs = std::filesystem;

/// Writes files into a folder of their own and imports them.
class AstraSim : public testing::Test {
 protected:
  Imported import(const std::vector<std::pair<std::string, std::string>>& files) {
    AstraImport request;
    request.id = "a";
    for (const auto& [name, text] : files) {
      request.files.push_back(folder_ / name);
      write_file(request.files.back(), text);
    }
    Imported out = import_astra_sim(request, catalog());
    Diagnostics diagnostics("a.json");
    (void)read_part<Node>(Json::parse(out.beside.front().text), "a", diagnostics);
    if (out.document["cluster"].contains("fabric"))
      FabricSpec::fields().read(*std::make_unique<FabricSpec>(), out.document["cluster"]["fabric"], "", diagnostics);
    diagnostics.throw_if_faulty();
    return out;
  }

  std::string fault(const std::vector<std::pair<std::string, std::string>>& files) {
    try {
      (void)import(files);
    } catch (const InputError& error) {
      return error.faults().front().text();
    }
    return "";
  }

  static Json node(const Imported& imported) { return Json::parse(imported.beside.front().text); }

 private:
  ScratchFolder folder_;
};

constexpr const char* kSwitch8 =
    "topology: [ Switch ]\nnpus_count: [ 8 ]\nbandwidth: [ 400.0 ]  # GB/s\nlatency: [ 936.25 ]  # ns\n";

// 1 GB is 2^30 bytes there: 400 × 1.073741824 = 429.4967296 GB/s.
TEST_F(AstraSim, OneSwitchIsTheInsideOfANode) {
  const Imported out = import({{"n.yml", kSwitch8}});
  EXPECT_EQ(out.document["cluster"]["nodes"], 1);
  EXPECT_EQ(node(out)["accelerator_count"], 8);
  EXPECT_EQ(node(out)["interconnect"]["kind"], "nvswitch");
  EXPECT_NEAR(node(out)["interconnect"]["link_bandwidth_GBps"].get<double>(), 429.4967296, 1e-6);
}

TEST_F(AstraSim, TheSystemsAlgorithmAndMemoryAreKept) {
  const Imported out = import({{"n.yml", kSwitch8}, {"s.json", R"({"scheduling-policy": "LIFO", "endpoint-delay": 10,
      "active-chunks-per-dimension": 2, "preferred-dataset-splits": 4, "all-reduce-implementation": ["ring"],
      "all-gather-implementation": ["ring"], "collective-optimization": "localBWAware", "local-mem-bw": 3350,
      "boost-mode": 0})"}});
  EXPECT_EQ(out.document["strategy"]["collective_algorithm"], "ring");
  EXPECT_EQ(node(out)["accelerator"], "h100-sxm-80gb");  // 3,350 GB/s
  const Imported sample =
      import({{"n.yml", kSwitch8}, {"s.json", R"({"scheduling-policy": "FIFO", "local-mem-bw": 50})"}});
  EXPECT_EQ(node(sample)["accelerator"], "a100-sxm-80gb");
  EXPECT_THAT(sample.notes, testing::Contains(HasSubstr("no memory is near 50 GB/s")));
}

TEST_F(AstraSim, RingsAreATorus) {
  const Imported out = import(
      {{"n.yml", "topology: [Ring, Ring]\nnpus_count: [4, 8]\nbandwidth:\n - 50\n - 50\nlatency: [500,\n 500]\n"}});
  EXPECT_EQ(out.document["cluster"]["nodes"], 32);
  EXPECT_EQ(out.document["cluster"]["fabric"]["preset"], "torus-2d");
  EXPECT_EQ(out.document["cluster"]["fabric"]["dimensions"], Json({4, 8}));
  // Each of the four links has 50 · 2^30 B/s.
  EXPECT_NEAR(node(out)["nics"][0]["bandwidth_Gbps"].get<double>(), 4 * 50 * 1.073741824 * 8, 1e-6);
}

TEST_F(AstraSim, ASecondDimensionIsASwitchForEachNpu) {
  const Imported out = import(
      {{"n.yml",
        "topology: [FullyConnected, Switch]\nnpus_count: [4, 2]\nbandwidth: [100, 25]\nlatency: [100, 2000]\n"}});
  EXPECT_EQ(out.document["cluster"]["nodes"], 2);
  EXPECT_EQ(out.document["cluster"]["fabric"]["switches"].size(), 4U);
  EXPECT_EQ(out.document["cluster"]["fabric"]["cables"].size(), 8U);
  EXPECT_NEAR(out.document["cluster"]["fabric"]["cables"][0]["latency_us"].get<double>(), 2, 1e-9);
  EXPECT_EQ(node(out)["nics"][0]["count"], 4);
}

// 1.0: 1 GB is 10^9 bytes. Ring 250, FullyConnected 7 × 25 = 175 GB/s, Switch 12.5: the third tier is 14 times
// narrower.
TEST_F(AstraSim, FurtherDimensionsAreTiers) {
  const Imported out = import({{"n.json", R"({"topology-name": "Hierarchical",
      "topologies-per-dim": ["Ring", "FullyConnected", "Switch"], "dimension-type": ["N", "N", "P"],
      "dimensions-count": 3, "units-count": [2, 8, 2], "links-count": [2, 7, 1], "link-latency": [500, 500, 500],
      "link-bandwidth": [250, 25, 12.5], "nic-latency": [0, 0, 0], "router-latency": [0, 0, 0],
      "hbm-latency": [500, 500, 500], "hbm-bandwidth": [370, 370, 370], "hbm-scale": [0, 0, 0]})"}});
  EXPECT_EQ(out.document["cluster"]["nodes"], 16);
  EXPECT_EQ(out.document["cluster"]["fabric"]["preset"], "fat-tree");
  EXPECT_EQ(out.document["cluster"]["fabric"]["nodes_per_leaf"], 8);
  EXPECT_NEAR(out.document["cluster"]["fabric"]["oversubscription"].get<double>(), 14, 1e-9);
  EXPECT_EQ(node(out)["interconnect"]["kind"], "pair");
}

// Forward, its collective and the delay after it; weight gradient and its collective of strided NPUs.
TEST_F(AstraSim, ATextWorkloadIsAStepGraph) {
  const Imported out = import({{"n.yml", kSwitch8},
                               {"w.txt",
                                "HYBRID_TRANSFORMER\tmodel_parallel_NPU_group: 4\n1\n"
                                "conv1 -1 5000 ALLREDUCE 1048576 5 NONE 0 7000 ALLGATHER 4096 10\n"}});
  ASSERT_EQ(out.beside.size(), 2U);
  const Json graph = Json::parse(out.beside[1].text);
  EXPECT_EQ(graph["ranks"], 8);
  const Json& operations = graph["programs"][0]["operations"];
  ASSERT_EQ(operations.size(), 6U);
  EXPECT_NEAR(operations[0]["duration_us"].get<double>(), 5, 1e-9);
  EXPECT_EQ(operations[1]["collective"], "all_reduce");
  EXPECT_EQ(operations[1]["size_bytes"], 1048576);
  EXPECT_EQ(operations[1]["group"], "neighbours");
  EXPECT_NEAR(operations[3]["duration_us"].get<double>(), 7, 1e-9);
  EXPECT_EQ(operations[4]["share_bytes"], 4096);
  EXPECT_EQ(operations[4]["group"], "strided");
  EXPECT_EQ(graph["groups"][0]["members"], Json({{0, 1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(graph["groups"][1]["members"], Json({{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
}

TEST_F(AstraSim, FaultsSayWhere) {
  EXPECT_THAT(fault({{"n.yml", "topology: [ Ring ]\nnpus_count: [ 8, 4 ]\nbandwidth: [1]\nlatency: [1]\n"}}),
              HasSubstr("/npus_count: 2 entries"));
  EXPECT_THAT(fault({{"n.yml", "topology: [ Rign ]\nnpus_count: [8]\nbandwidth: [1]\nlatency: [1]\n"}}),
              HasSubstr("did you mean \"Ring\"?"));
  EXPECT_THAT(fault({{"n.yml", "topology: [ Ring ]\nnpus_count: [-8]\nbandwidth: [1]\nlatency: [1]\n"}}),
              HasSubstr("/npus_count/0"));
  EXPECT_THAT(fault({{"n.yml", "topology: [ Ring\n"}}), HasSubstr("does not end"));
  EXPECT_THAT(fault({{"s.json", R"({"scheduling-policy": "LIFO"})"}}), HasSubstr("no network file"));
  EXPECT_THAT(fault({{"t.0.et", "x"}}), HasSubstr("stepcast import chakra"));
  EXPECT_THAT(fault({{"l.json", R"({"logical-dims": ["8", "8"]})"}}),
              HasSubstr("/logical-dims: is a logical topology"));
  EXPECT_THAT(fault({{"n.yml", kSwitch8}, {"w.txt", "DATA\n2\nl -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n"}}),
              HasSubstr("2 layers are announced, 1 are there"));
  EXPECT_THAT(fault({{"n.yml", kSwitch8}, {"w.txt", "DATA\n1\nl -1 1 NONE 0 1 NONE 0 1 ALLRED 8 1\n"}}),
              HasSubstr("line 3"));
  EXPECT_THAT(
      fault({{"n.yml", kSwitch8},
             {"w.txt", "HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\nl -1 1 NONE 0 1 NONE 0 1 NONE 8 1\n"}}),
      HasSubstr("do not divide 8"));
}

// Samples of 1.0's repository: one name for all dimensions, and how to simulate.
TEST_F(AstraSim, FirstVersionsNamesAndKeysWithoutCounterpart) {
  const Imported out = import(
      {{"Torus2D.json", R"({"topology-name":"Torus2D","use-fast-version":true,"dimensions-count":2,"units-count":[8,6],
        "link-latency":[500,500],"link-bandwidth":[25,25],"nic-latency":[0,0],"router-latency":[0,0],
        "hbm-latency":[500,500],"hbm-bandwidth":[13,13],"hbm-scale":[1,1]})"},
       {"s.json", R"({"scheduling-policy":"FIFO","all-reduce-implementation-custom":["custom_allreduce"]})"}});
  EXPECT_EQ(out.document["cluster"]["fabric"]["preset"], "torus-2d");
  EXPECT_EQ(out.document["cluster"]["nodes"], 48);
  EXPECT_THAT(out.notes,
              testing::Contains(HasSubstr("network file, these have no counterpart: use-fast-version true")));
  EXPECT_THAT(out.notes, testing::Contains(HasSubstr("all-reduce-implementation-custom [\"custom_allreduce\"]")));
}

TEST_F(AstraSim, TheLastBottomLayerMayBeNamed) {
  const std::string layers =
      "3\nbot0 -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 4096 10\nbot1 -1 100 NONE 0 100 NONE 0 100 ALLREDUCE 4096 10\n"
      "top0 -1 100 ALLTOALL 65536 100 ALLTOALL 65536 100 ALLREDUCE 4096 10\n";
  const auto graph = [&](const std::string& head) {
    return import({{"n.yml", kSwitch8}, {"w.txt", head + "\n" + layers}}).beside.back().text;
  };
  EXPECT_EQ(graph("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1"), graph("HYBRID_DLRM 1"));
}

TEST_F(AstraSim, FaultsOfAWorkloadNameItsPath) {
  EXPECT_THAT(fault({{"n.yml", kSwitch8}, {"w.txt", "DATA\n2\nx\n"}}), HasSubstr("/w.txt: line 3"));
}

// Two leaves of two NPUs below a spine, as a Clos of ASTRA-sim's own examples: every cable with its rate and delay.
TEST_F(AstraSim, ATopologyOfNs3IsACustomFabric) {
  const std::string physical =
      "7 3 6\n4 5 6\n4 0 400Gbps 0.005ms 0\n4 1 400Gbps 0.005ms 0\n5 2 400Gbps 0.005ms 0\n5 3 400Gbps 0.005ms 0\n"
      "6 4 10Gbps 30ms 0\n6 5 10Gbps 30ms 0\n";
  const Imported out = import({{"topology.txt", physical},
                               {"logical.json", R"({"logical-dims": ["2", "2"]})"},
                               {"config.txt", "ENABLE_QCN 1\n\nPACKET_PAYLOAD_SIZE 1000\n"},
                               {"groups.json", R"({"1": [0, 1], "2": [2, 3]})"}});
  EXPECT_EQ(out.document["cluster"]["nodes"], 4);
  EXPECT_EQ(node(out)["accelerator_count"], 1);
  EXPECT_EQ(node(out)["nics"][0]["bandwidth_Gbps"], 400);
  const Json& fabric = out.document["cluster"]["fabric"];
  EXPECT_EQ(fabric["preset"], "custom");
  EXPECT_EQ(fabric["switches"].size(), 3U);
  ASSERT_EQ(fabric["cables"].size(), 6U);
  EXPECT_EQ(fabric["cables"][1]["to"], "node1:nic0");
  EXPECT_EQ(fabric["cables"][1]["latency_us"], 5);
  EXPECT_EQ(fabric["cables"][5]["bandwidth_Gbps"], 10);
  const std::string notes = Json(out.notes).dump();
  for (const char* part : {"2 × 2 NPUs", "parameters of ns-3", "communicator groups"})
    EXPECT_THAT(notes, HasSubstr(part));
  EXPECT_THAT(fault({{"t.txt", physical}, {"l.json", R"({"logical-dims": [8]})"}}), HasSubstr("are of 8 NPUs"));
}

// 25 Gb/s are 3.125 GB/s, from each to the next.
TEST_F(AstraSim, NpusThatNs3JoinsWithoutSwitchesAreOneNode) {
  const Imported out =
      import({{"ring.txt", "3 0 3\n\n0 1 25Gbps 0.005ms 0\n1 2 25Gbps 0.005ms 0\n2 0 25Gbps 5us 0\n"}});
  EXPECT_EQ(out.document["cluster"]["nodes"], 1);
  EXPECT_EQ(node(out)["interconnect"]["kind"], "hybrid_cube_mesh");
  EXPECT_EQ(node(out)["interconnect"]["link_bandwidth_GBps"], 3.125);
  EXPECT_EQ(node(out)["interconnect"]["links"].size(), 3U);
}

TEST_F(AstraSim, FaultsOfNs3SayWhere) {
  EXPECT_THAT(fault({{"t.txt", "3 1 2\n2\n2 0 400Gbps 0.005ms 0\n"}}), HasSubstr("2 links are announced, 1 are there"));
  EXPECT_THAT(fault({{"t.txt", "3 1 2\n2\n2 0 400G 1us 0\n2 1 1Gbps 1us 0\n"}}),
              HasSubstr("line 3: \"400G\" is no rate"));
  for (const char* rate : {"nanGbps", "infGbps", "-1Gbps"})
    EXPECT_THAT(fault({{"t.txt", fmt::format("3 1 2\n2\n2 0 {} 1us 0\n2 1 1Gbps 1us 0\n", rate)}}),
                HasSubstr("is no rate"));
  EXPECT_THAT(fault({{"t.txt", "3 1 2\n2\n2 0 1Gbps nanus 0\n2 1 1Gbps 1us 0\n"}}), HasSubstr("is no delay"));
  EXPECT_THAT(fault({{"t.txt", "3 1 2\n2\n2 7 1Gbps 1us 0\n2 1 1Gbps 1us 0\n"}}), HasSubstr("from 0 to 2"));
  EXPECT_THAT(fault({{"t.txt", "3 1 2\n2\n2 0 1Gbps 1us 0\n0 1 1Gbps 1us 0\n"}}), HasSubstr("joins two NPUs"));
  EXPECT_THAT(fault({{"t.txt", "16 8 1 1 16 H100\n"}}), HasSubstr("SimAI"));
}

// Keys of a fork go unused with a note; those that a required one was meant by do not.
TEST_F(AstraSim, KeysThatANetworkDoesNotHaveAreNoted) {
  const Imported out = import({{"n.yml", std::string(kSwitch8) + "reconfig_time: [ 1000.0 ]\n"}});
  EXPECT_THAT(Json(out.notes).dump(), HasSubstr("reconfig_time [1000.0]"));
  EXPECT_THAT(fault({{"n.yml", "topology: [ Ring ]\nnpu_count: [ 8 ]\nbandwidth: [ 1 ]\nlatency: [ 1 ]\n"}}),
              HasSubstr("did you mean \"npus_count\"?"));
  EXPECT_THAT(fault({{"n.yml", std::string(kSwitch8) + "comment: [ \xa1 ]\n"}}), HasSubstr("UTF-8"));
  EXPECT_THAT(fault({{"g.txt", "num-npus: 8\nnum-packages: 4\ntopology: NV_Switch\n"}}), HasSubstr("Garnet"));
}

}  // namespace
}  // namespace stepcast::import_astra_test
