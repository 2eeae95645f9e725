#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/like_node.hpp"
#include "calibration/importers/pci_devices.hpp"
#include "tests/unit/imported_node.hpp"

namespace stepcast::import_smi_topo_test {
namespace {

using namespace test;
using testing::HasSubstr;

/// A matrix of GPUs that all meet by `relation`.
std::string matrix(int gpus, const std::string& relation) {
  std::string out;
  for (int i = 0; i < gpus; ++i) out += fmt::format("\tGPU{}", i);
  out += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (int i = 0; i < gpus; ++i) {
    out += fmt::format("GPU{}", i);
    for (int j = 0; j < gpus; ++j) out += i == j ? "\t X " : "\t" + relation;
    out += "\t0-63\t0\t\tN/A\n";
  }
  return out;
}

// A bridge over two of three cards: the third meets them over PCIe, and the catalogue takes the node.
TEST(SmiTopo, ACardMayStandBesideAPair) {
  const Json node = of_matrix("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV4\tSYS\nGPU1\tNV4\tX\tSYS\nGPU2\tSYS\tSYS\tX\n",
                              {"n", "rtx-a6000", "", {}});
  EXPECT_EQ(node["interconnect"]["links"], Json::parse("[[0, 1, 4]]"));
}

// Boards of GA102 have four links of bridges.
TEST(SmiTopo, BridgesOfWorkstationsAreKnown) {
  for (const char* model : {"NVIDIA A40", "NVIDIA RTX A5000", "NVIDIA RTX A6000"}) {
    const Json node = of_matrix(std::string("GPU 0: ") + model + " (UUID: GPU-1)\n" + matrix(2, "NV4"));
    EXPECT_EQ(node["interconnect"]["links_per_pair"], 4) << model;
    EXPECT_EQ(node["interconnect"]["link_bandwidth_GBps"], 14.0625) << model;
  }
}

// People paste the rows of GPUs alone.
TEST(SmiTopo, RowsOfGpusTellHowNicsMeetThem) {
  const Json node = of_matrix("\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\tX\tNV12\tPIX\tSYS\nGPU1\tNV12\tX\tSYS\tPIX\n",
                              {"n", "a100-sxm-80gb", "", {}});
  EXPECT_EQ(node["nics"].size(), 1U);
  EXPECT_EQ(node["nics"][0]["count"], 2);
}

TEST(SmiTopo, OfADgx1IsTheCataloguesMesh) {
  const Json node = of_matrix(imported_file("dgx-1v.topo.txt"));
  const Node* shipped = catalog().find<Node>("dgx-1-v100-16gb");
  EXPECT_EQ(node["interconnect"]["kind"], "hybrid_cube_mesh");
  EXPECT_EQ(node["interconnect"]["links"], Json(shipped->interconnect.links));
  EXPECT_EQ(node["interconnect"]["link_bandwidth_GBps"], 25);
  EXPECT_EQ(node["nics"][0]["count"], 4);
}

struct MatrixCase {
  int gpus;
  const char *relation, *accelerator, *kind;
  int links_per_accelerator, links_per_pair;
};

class SmiMatrix : public testing::TestWithParam<MatrixCase> {};

// Links in all: V100 6, A100 12, H100 18. Eight A100 that see 12 each have them in a switch: 7 × 12 > 12.
TEST_P(SmiMatrix, TellsSwitchFromMesh) {
  const MatrixCase& c = GetParam();
  const Json node = of_matrix(matrix(c.gpus, c.relation), {"n", c.accelerator, "", {}});
  EXPECT_EQ(node["interconnect"]["kind"], c.kind);
  EXPECT_EQ(node["interconnect"].value("links_per_accelerator", 0), c.links_per_accelerator);
  EXPECT_EQ(node["interconnect"].value("links_per_pair", 0), c.links_per_pair);
}
INSTANTIATE_TEST_SUITE_P(Table, SmiMatrix,
                         testing::Values(MatrixCase{8, "NV12", "a100-sxm-80gb", "nvswitch", 12, 0},
                                         MatrixCase{8, "NV18", "h100-sxm-80gb", "nvswitch", 18, 0},
                                         MatrixCase{16, "NV6", "v100-sxm3-32gb", "nvswitch", 6, 0},
                                         MatrixCase{4, "NV4", "a100-sxm-40gb", "mesh", 0, 4},
                                         MatrixCase{4, "NV6", "h100-sxm-80gb", "mesh", 0, 6},
                                         MatrixCase{2, "NV12", "a100-pcie-80gb", "pair", 0, 12},
                                         MatrixCase{8, "SYS", "l40s", "pcie", 0, 0}));

TEST(SmiTopo, WithoutNamesTheAcceleratorIsThatOfTheNearestNode) {
  const Json node = of_matrix(matrix(16, "NV6"));
  EXPECT_EQ(node["accelerator"], "v100-sxm3-32gb");
  EXPECT_EQ(node["evidence"]["accelerator"], "estimated");
}

/// Eight accelerators behind a switch, with an adapter next to each, and two for storage.
std::string with_ten_nics() {
  constexpr int kGpus = 8, kAll = 18;
  const auto name = [](int i) { return i < kGpus ? fmt::format("GPU{}", i) : fmt::format("NIC{}", i - kGpus); };
  std::string out;
  for (int i = 0; i < kAll; ++i) out += "\t" + name(i);
  out += "\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n";
  for (int i = 0; i < kAll; ++i) {
    out += name(i);
    for (int j = 0; j < kAll; ++j) {
      const bool gpus = i < kGpus && j < kGpus;
      out += i == j ? "\t X " : gpus ? "\tNV18" : std::abs(i - j) == kGpus ? "\tPXB" : "\tNODE";
    }
    out += i < kGpus ? "\t0-63\t0\t\tN/A\n" : "\t\t\t\n";
  }
  out += "\nNIC Legend:\n\n";
  for (int nic = 0; nic < kAll - kGpus; ++nic) out += fmt::format("  NIC{0}: mlx5_{0}\n", nic);
  return out;
}

// Two adapters for storage beside eight for training: an order's choice, which says nothing of the accelerator. More of
// the catalogue's nodes have H100 than another with 18 links.
TEST(SmiTopo, AdaptersForStorageDoNotTellTheAccelerator) {
  EXPECT_EQ(of_matrix(with_ten_nics())["accelerator"], "h100-sxm-80gb");
}

// Cards that meet over PCIe may be any: what a node of the catalogue has says nothing about them.
TEST(SmiTopo, CardsWithoutANameAreAskedFor) {
  try {
    of_matrix(matrix(8, "NODE"));
    ADD_FAILURE() << "a card was guessed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--accelerator"));
  }
  EXPECT_EQ(of_matrix(matrix(8, "NODE"), {"n", "rtx-4090", "", {}})["interconnect"]["kind"], "pcie");
}

// No node of the catalogue has four GB200 with adapters, but a rack of them has.
TEST(SmiTopo, AdaptersHaveTheRateOfOtherNodesWithTheAccelerator) {
  const Json node = of_matrix(
      "GPU 0,1: NVIDIA GB200\n\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
      "GPU0\t X \tNV18\tSYS\t0-71\t0\t\t2\nGPU1\tNV18\t X \tSYS\t0-71\t0\t\t10\nNIC0\tSYS\tSYS\t X \n"
      "NIC Legend:\n  NIC0: mlx5_0\n");
  EXPECT_EQ(node["nics"][0]["bandwidth_Gbps"], 400);
  EXPECT_THAT(node["note"].get<std::string>(), HasSubstr("gb200-nvl72"));
}

TEST(SmiTopo, ADriversListNamesTheAccelerator) {
  const Json node = of_matrix("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n" + matrix(8, "NV12"));
  EXPECT_EQ(node["accelerator"], "a100-sxm-80gb");
  EXPECT_FALSE(node["evidence"].contains("accelerator"));
}

// What people paste above a matrix: nvidia-smi's own table, queries with and without titles, and -q.
TEST(SmiTopo, EveryListOfNvidiaSmiNamesTheAccelerator) {
  struct Listed {
    std::string text;
    const char *relation, *id;
  };
  for (const auto& [text, relation, id] : {
           Listed{"|   0  NVIDIA B200                    On  |   00000000:9D:00.0 Off |      0 |\n"
                  "| N/A   31C    P0            172W / 1000W |  0MiB / 183359MiB |  0%  Default |\n",
                  "NV18", "b200-sxm-180gb"},
           Listed{"|   0  NVIDIA GeForce RTX 5090        Off |   00000000:01:00.0 Off |\n", "PHB", "rtx-5090"},
           Listed{"index, name, memory.total [MiB]\n0, NVIDIA H200, 143771 MiB\n1, NVIDIA H200, 143771 MiB\n", "NV18",
                  "h200-sxm-141gb"},
           Listed{"0, NVIDIA A800-SXM4-80GB, 81920 MiB\n", "NV8", "a800-sxm-80gb"},
           Listed{"$ nvidia-smi --query-gpu=name --format=csv\nname\nNVIDIA B200\nNVIDIA B200\n", "NV18",
                  "b200-sxm-180gb"},
           Listed{"    Product Name                          : NVIDIA L40S\n", "SYS", "l40s"},
           Listed{"A100-SXM-80GB\n", "NV12", "a100-sxm-80gb"},
           Listed{"|   0  NVIDIA H100 80G...  On   | 00000000:18:00.0 Off |\n", "NV18", "h100-sxm-80gb"},
       }) {
    for (const std::string& whole : {text + matrix(2, relation), matrix(2, relation) + "\n" + text}) {
      const Json node = of_matrix(whole);
      EXPECT_EQ(node["accelerator"], id) << whole;
      EXPECT_FALSE(node["evidence"].contains("accelerator")) << whole;
    }
  }
}

// A narrow column leaves both memories open.
TEST(SmiTopo, ACutNameAllowsThoseThatBeginSo) {
  const Json node = of_matrix("|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |\n" + matrix(8, "NV12"));
  EXPECT_THAT(node["accelerator"].get<std::string>(), testing::StartsWith("a100-sxm-"));
  EXPECT_EQ(node["evidence"]["accelerator"], "estimated");
}

// A tray's matrix shows as many links as if they ended in it.
TEST(SmiTopo, AHostOfARackIsSaidToBeOne) {
  const Json tray = of_matrix("GPU 0: NVIDIA GB200 (UUID: GPU-1)\n" + matrix(4, "NV18"));
  EXPECT_THAT(tray["note"].get<std::string>(), HasSubstr("18 of these are a gb200-nvl72"));
  const Json host = of_matrix("GPU 0: NVIDIA B200 (UUID: GPU-1)\n" + matrix(8, "NV18"));
  EXPECT_THAT(host["note"].get<std::string>(), testing::Not(HasSubstr("go on to other hosts")));
}

// Twice as many NICs as the node that lends the rate has: the total is that node's.
TEST(SmiTopo, MoreNicsShareTheRateOfTheNodeThatLendsIt) {
  const auto rates = [&](int nics_of_pair) {
    std::string text = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n";
    for (int i = 0; i < 8; ++i) text += fmt::format("\tGPU{}", i);
    for (int i = 0; i < 4 * nics_of_pair; ++i) text += fmt::format("\tNIC{}", i);
    text += "\n";
    for (int i = 0; i < 8; ++i) {
      text += fmt::format("GPU{}", i);
      for (int j = 0; j < 8; ++j) text += i == j ? "\tX" : "\tNV12";
      for (int j = 0; j < 4 * nics_of_pair; ++j) text += j / nics_of_pair == i / 2 ? "\tPXB" : "\tSYS";
      text += "\n";
    }
    const Json nics = of_matrix(text)["nics"];
    return nics[0]["count"].get<double>() * nics[0]["bandwidth_Gbps"].get<double>();
  };
  EXPECT_EQ(rates(4), rates(2));
}

TEST(SmiTopo, SeveralNamesAreAskedAbout) {
  const std::string text = "0, NVIDIA H200, 143771 MiB\n1, NVIDIA B200, 183359 MiB\n" + matrix(2, "NV18");
  try {
    of_matrix(text);
    ADD_FAILURE() << "one of two was taken";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("names several accelerators: NVIDIA H200, NVIDIA B200"));
  }
  EXPECT_EQ(of_matrix(text, {"n", "b200-sxm-180gb", "", {}})["accelerator"], "b200-sxm-180gb");
}

TEST(SmiTopo, AModelThatTheCatalogueLacksIsAskedFor) {
  const std::string text = "GPU 0: NVIDIA A900-SXM4-80GB (UUID: GPU-1)\n" + matrix(8, "NV8");
  try {
    of_matrix(text);
    ADD_FAILURE() << "a GPU was guessed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("model \"NVIDIA A900-SXM4-80GB\""));
    EXPECT_THAT(error.what(), HasSubstr("did you mean \"a100-sxm-80gb\"?"));
  }
  EXPECT_EQ(of_matrix(text, {"n", "a100-sxm-80gb", "", {}})["accelerator"], "a100-sxm-80gb");
}

// As drivers call them: an export variant is another part than the one it is cut down from.
TEST(SmiTopo, ExportVariantsAreTold) {
  for (const auto& [model, id] :
       std::vector<std::pair<const char*, const char*>>{{"NVIDIA A800-SXM4-80GB", "a800-sxm-80gb"},
                                                        {"NVIDIA A800 80GB PCIe", "a800-pcie-80gb"},
                                                        {"NVIDIA A800 40GB Active", "a800-pcie-40gb"},
                                                        {"NVIDIA H20-3e", "h20-3e"},
                                                        {"NVIDIA H20", "h20-sxm-96gb"},
                                                        {"NVIDIA L20", "l20"},
                                                        {"NVIDIA GeForce RTX 4090 D", "rtx-4090-d"},
                                                        {"NVIDIA GeForce RTX 4090", "rtx-4090"},
                                                        {"AMD Instinct MI250", "mi250-gcd"},
                                                        {"AMD Instinct MI250X", "mi250x-gcd"},
                                                        {"AMD Instinct MI60", "mi60"}}) {
    EXPECT_EQ(accelerator_of_model(model), id);
    EXPECT_NE(catalog().find<Accelerator>(id), nullptr) << id;
  }
  EXPECT_EQ(accelerator_of_pci("10de:20f3"), "a800-sxm-80gb");
  EXPECT_EQ(of_matrix("GPU 0: NVIDIA A800-SXM4-80GB (UUID: GPU-1)\n" + matrix(8, "NV8"))["accelerator"],
            "a800-sxm-80gb");
}

// Four RTX 3090 or A6000 in bridged pairs are no four V100, every two of which are linked.
TEST(SmiTopo, PairsAreNoGuessFromANodeThatIsLinkedOtherwise) {
  try {
    of_matrix(
        "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\nGPU0\t X \tNV4\tSYS\tSYS\nGPU1\tNV4\t X \tSYS\tSYS\n"
        "GPU2\tSYS\tSYS\t X \tNV4\nGPU3\tSYS\tSYS\tNV4\t X \n");
    ADD_FAILURE() << "a card was guessed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--accelerator"));
  }
}

// Two bridged pairs: no accelerator with fewer links than a pair shows can be it.
TEST(SmiTopo, AGuessHasTheLinksThatTheMatrixShows) {
  const std::string pairs =
      "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\t X \tNV12\tSYS\tSYS\nGPU1\tNV12\t X \tSYS\tSYS\n"
      "GPU2\tSYS\tSYS\t X \tNV12\nGPU3\tSYS\tSYS\tNV12\t X \n";
  try {
    const Json node = of_matrix(pairs);
    const auto* accelerator = catalog().find<Accelerator>(node["accelerator"].get<std::string>());
    ASSERT_TRUE(accelerator && accelerator->interconnect);
    EXPECT_GE(accelerator->interconnect->links, 12);
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("v100")));
  }
}

/// One GPU with a Mellanox NIC; `memory`: its NUMA node.
std::string one_gpu(const std::string& memory) {
  return "\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tSYS\t0-71\t0\t" + memory +
         "\nNIC0\tSYS\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n";
}

TEST(SmiTopo, MellanoxNicsAreNoEfa) {
  const Json node = of_matrix(one_gpu("N/A"), {"n", "h100-sxm-80gb", "aws-p5.4xlarge", {}});
  EXPECT_EQ(node["nics"][0]["kind"], "infiniband");
}

// Memory that is a NUMA node of its own is coherent with a Grace; which of them hangs there is not told.
TEST(SmiTopo, CoherentMemoryIsAGraces) {
  std::string four = matrix(4, "NV18");
  for (auto at = four.find("\tN/A"); at != std::string::npos; at = four.find("\tN/A")) four.replace(at, 4, "2");
  for (const std::string& text : {one_gpu("1"), four}) {
    try {
      of_matrix(text);
      ADD_FAILURE() << "a GPU was guessed";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("--accelerator: gb200, gb300, gh200-144gb, gh200-96gb"));
    }
  }
  EXPECT_EQ(of_matrix(four, {"n", "gb200", "", {}})["interconnect"]["kind"], "nvswitch");
}

/// What rocm-smi prints of eight devices that are bridged in groups of so many.
std::string bridged_in_groups(int of) {
  std::string text = "==== Weight between two GPUs ====\n", types = "==== Link Type between two GPUs ====\n";
  for (int a = 0; a < 8; ++a) {
    text += fmt::format("GPU{}", a);
    types += fmt::format("GPU{}", a);
    for (int b = 0; b < 8; ++b) {
      text += a == b ? " 0" : a / of == b / of ? " 15" : " 72";
      types += a == b ? " 0" : a / of == b / of ? " XGMI" : " PCIE";
    }
    text += "\n";
    types += "\n";
  }
  return text + types + "====\n";
}

TEST(SmiTopo, RocmSmiAsksWhichWhereNoKnownNodeIsWiredSo) {
  const std::string text = bridged_in_groups(3);
  try {
    of_matrix(text);
    ADD_FAILURE() << "a GPU was guessed";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--accelerator: mi100"));
  }
  EXPECT_EQ(of_matrix(text, {"n", "mi100", "", {}})["accelerator"], "mi100");
  EXPECT_EQ(of_matrix(bridged_in_groups(4))["accelerator"], "mi100");  // as server-8xmi100
}

TEST(SmiTopo, FaultsSayWhere) {
  const auto faults = [](const std::string& text) {
    Diagnostics diagnostics("t.txt");
    (void)read_smi_topo(text, diagnostics);
    return diagnostics.ok() ? std::string() : diagnostics.faults().front().text();
  };
  EXPECT_THAT(faults("hello\n"), HasSubstr("no matrix"));
  EXPECT_THAT(faults("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0\n"), HasSubstr("no row"));
  EXPECT_THAT(faults("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV2\t X \n"), HasSubstr("mirror image"));
  EXPECT_THAT(faults("\tGPU0\tGPU1\nGPU0\t X \tFOO\nGPU1\tNV2\t X \n"), HasSubstr("line 2"));
  EXPECT_THAT(faults("\tGPU0\tGPU1\nGPU0\t X \nGPU1\tNV2\t X \n"), HasSubstr("expected 2"));
}

TEST(SmiTopo, RocmSmiShowsAMesh) {
  const Json node = of_matrix(
      "======= ROCm System Management Interface =======\n==== Weight between two GPUs ====\n       GPU0  GPU1\n"
      "GPU0   0     15\nGPU1   15    0\n==== Link Type between two GPUs ====\n       GPU0  GPU1\nGPU0   0     XGMI\n"
      "GPU1   XGMI  0\n==== Numa Nodes ====\nGPU[0]\t\t: (Topology) Numa Node: 0\nGPU[1]\t\t: (Topology) Numa Node: "
      "1\n",
      {"n", "mi300x", "", {}});
  EXPECT_EQ(node["interconnect"]["kind"], "pair");
  EXPECT_EQ(node["interconnect"]["links_per_pair"], 1);
  EXPECT_EQ(node["interconnect"]["link_bandwidth_GBps"], 64);
}

/// A matrix of two accelerators that meet so, each line behind a prefix.
std::string pair(const std::string& relation, const std::string& prefix = "") {
  return prefix + "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\n" + prefix + "GPU0\t X \t" + relation + "\t0-31\t0\n" +
         prefix + "GPU1\t" + relation + "\t X \t0-31\t0\n";
}

TEST(SmiTopo, LinesMayHaveLabels) {
  const Json plain = of_matrix(pair("NV4"), {"n", "rtx-3090", "", {}});
  for (const std::string prefix : {"0: ", "[1,0]<stdout>:", "2026-11-01T12:00:00Z "})
    EXPECT_EQ(of_matrix(pair("NV4", prefix), {"n", "rtx-3090", "", {}}), plain) << prefix;
}

TEST(SmiTopo, OfSeveralMatricesTheFirstCounts) {
  Diagnostics diagnostics("t.txt");
  const Wiring wiring = read_smi_topo(pair("NV4") + "\n \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n", diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(wiring.links.size(), 1U);
  EXPECT_THAT(wiring.notes, testing::Contains(HasSubstr("several matrices")));
}

TEST(SmiTopo, AMatrixOfReachabilityIsNone) {
  Diagnostics diagnostics("t.txt");
  (void)read_smi_topo(" \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n", diagnostics);
  ASSERT_FALSE(diagnostics.ok());
  EXPECT_THAT(diagnostics.faults().front().text(), HasSubstr("nvidia-smi topo -p2p"));
}

TEST(SmiTopo, ABoardsOwnSwitchIsASwitch) {
  Diagnostics diagnostics("t.txt");
  const Wiring wiring = read_smi_topo(pair("PSB"), diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(wiring.accelerators[0].bridge, wiring.accelerators[1].bridge);
  EXPECT_GE(wiring.accelerators[0].bridge, 0);
}

TEST(SmiTopo, ModelsAreAlsoListedTogether) {
  EXPECT_EQ(
      of_matrix("GPU 0,1: NVIDIA GeForce RTX 5090\nGPU 0,1 Compute Capability: 12.0\n" + pair("PHB"))["accelerator"],
      "rtx-5090");
}

// nvidia-smi lists the kernel's RDMA devices and nothing else.
TEST(SmiTopo, ListedAdaptersSpeakRdma) {
  for (const std::string name : {"rdma0", "ionic_0", "xscale_0", "bnxt_re0", "erdma_0", "mana_0"}) {
    const std::string matrix = "\tGPU0\t" + name + "\nGPU0\t X \tPIX\n" + name + "\tPIX\t X \n";
    EXPECT_EQ(of_matrix(matrix, {"n", "h100-sxm-80gb", "", 1_Gbps * 400})["nics"][0]["kind"], "ethernet_rdma") << name;
  }
}

TEST(SmiTopo, AmdSmiShowsAMeshByAddress) {
  const std::string text =
      "WEIGHT TABLE:\n              0000:05:00.0  0000:26:00.0\n0000:05:00.0  0             15\n"
      "0000:26:00.0  15            0\n\n"
      "LINK TYPE TABLE:\n              0000:05:00.0  0000:26:00.0\n0000:05:00.0  SELF          XGMI\n"
      "0000:26:00.0  XGMI          SELF\n\n";
  Diagnostics diagnostics("t.txt");
  const Wiring wiring = read_smi_topo(text, diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  ASSERT_EQ(wiring.accelerators.size(), 2U);
  EXPECT_EQ(wiring.accelerators[1].name, "0000:26:00.0");
  EXPECT_EQ(wiring.links.size(), 1U);
  Diagnostics dense("t.txt");
  std::string without_blanks = text;
  without_blanks.erase(text.find("\n\n"), 1);
  EXPECT_EQ(read_smi_topo(without_blanks, dense).links.size(), 1U);
  EXPECT_TRUE(dense.ok());
  Diagnostics cut("t.txt");
  (void)read_smi_topo(text.substr(0, text.rfind("0000:26:00.0")), cut);
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.faults().front().text(), HasSubstr("LINK TYPE TABLE\" has 1 rows, expected 2"));
}

// Dies of an MI250X: four links in a package, one or two between them, and none between some (Frontier).
TEST(SmiTopo, AmdSmiCountsLinksByTheirRate) {
  const std::string header = "              0000:c1:00.0  0000:c6:00.0  0000:c9:00.0\n";
  const std::string text = "NUMA BW TABLE:\n" + header +
                           "0000:c1:00.0  N/A           50000-200000  50000-50000\n"
                           "0000:c6:00.0  50000-200000  N/A           0-0\n0000:c9:00.0  50000-50000   0-0  N/A\n\n"
                           "LINK TYPE TABLE:\n" +
                           header +
                           "0000:c1:00.0  SELF          XGMI          XGMI\n0000:c6:00.0  XGMI   SELF   XGMI\n"
                           "0000:c9:00.0  XGMI          XGMI          SELF\n\n";
  Diagnostics diagnostics("t.txt");
  const Wiring wiring = read_smi_topo(text, diagnostics);
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_EQ(wiring.links, (std::vector<std::array<int, 3>>{{0, 1, 4}, {0, 2, 1}}));
}

TEST(SmiTopo, RatesThatLieTooFarApartAreAFault) {
  const std::string header = "              0000:c1:00.0  0000:c6:00.0  0000:c9:00.0\n";
  const std::string text = "NUMA BW TABLE:\n" + header +
                           "0000:c1:00.0  N/A           1-1           1-2147483647\n"
                           "0000:c6:00.0  1-1           N/A           1-1\n0000:c9:00.0  1-2147483647  1-1  N/A\n\n"
                           "LINK TYPE TABLE:\n" +
                           header +
                           "0000:c1:00.0  SELF          XGMI          XGMI\n0000:c6:00.0  XGMI   SELF   XGMI\n"
                           "0000:c9:00.0  XGMI          XGMI          SELF\n\n";
  Diagnostics diagnostics("t.txt");
  read_smi_topo(text, diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 1);
  EXPECT_THAT(diagnostics.faults().front().message, HasSubstr("meet at 2147483647 times the lowest rate"));
}

TEST(SmiTopo, RocmSmiTellsTheDeviceWhereItHasNoName) {
  const Json node = of_matrix(
      "GPU[0]\t\t: Card Series: \t\tN/A\nGPU[0]\t\t: Card Model: \t\t0x74a1\nGPU[0]\t\t: GFX Version: \t\tgfx942\n"
      "=========== Link Type between two GPUs ===========\n       GPU0   GPU1\nGPU0   0      XGMI\nGPU1   XGMI   0\n");
  EXPECT_EQ(node["accelerator"], "mi300x");
}

TEST(SmiTopo, RocmSmiMayNameTheModel) {
  const Json node = of_matrix(
      "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI325X\n"
      "=========== Link Type between two GPUs ===========\n       GPU0   GPU1\nGPU0   0      XGMI\nGPU1   XGMI   0\n");
  EXPECT_EQ(node["accelerator"], "mi325x");
}

}  // namespace
}  // namespace stepcast::import_smi_topo_test
