#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/like_node.hpp"
#include "calibration/importers/pci_devices.hpp"
#include "tests/unit/imported_node.hpp"

namespace stepcast::import_nccl_topology_test {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;

/// A dump of GPUs of one kind, each with the links given and one adapter of a switch of its own.
std::string dump(int gpus, const std::string& device, const std::string& sm, const std::string& links) {
  std::string out = "<system version=\"1\"><cpu numaid=\"0\" vendor=\"GenuineIntel\">";
  for (int i = 0; i < gpus; ++i)
    out += fmt::format(
        "<pci busid=\"0000:{0:x}0:00.0\" class=\"0x060400\"><pci busid=\"0000:{0:x}1:00.0\" class=\"0x030200\" "
        "vendor=\"0x10de\" device=\"{1}\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"{0}\" sm=\"{2}\" "
        "rank=\"{0}\" gdr=\"1\">{3}</gpu></pci><pci busid=\"0000:{0:x}2:00.0\" class=\"0x020700\" vendor=\"0x15b3\" "
        "device=\"0x1021\"><nic><net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"400000\" port=\"1\" guid=\"0x{0}\" "
        "maxconn=\"131072\" gdr=\"1\"/></nic></pci></pci>",
        i + 1, device, sm, links);
  return out + "</cpu></system>";
}

TEST(NcclTopology, OfP4dIsTheCataloguesNode) {
  const Json node = of_xml(imported_file("p4d-24xl-topo.xml"));
  EXPECT_EQ(node["accelerator"], "a100-sxm-40gb");  // PCI id 10de:20b0
  EXPECT_EQ(node["accelerator_count"], 8);
  EXPECT_EQ(node["interconnect"]["kind"], "nvswitch");
  EXPECT_EQ(node["interconnect"]["links_per_accelerator"], 12);
  ASSERT_EQ(node["nics"].size(), 1U);
  EXPECT_EQ(node["nics"][0]["count"], 4);
  EXPECT_EQ(node["nics"][0]["bandwidth_Gbps"], 100);
  EXPECT_EQ(node["nics"][0]["kind"], "efa");
  EXPECT_EQ(node["price_like"], "aws-p4d.24xlarge");
  EXPECT_EQ(node["labels"]["pcie_tree"],
            "NUMA 0: [gpu 0 1, nic 0] [gpu 2 3, nic 1]; NUMA 1: [gpu 4 5, nic 2] [gpu 6 7, nic 3]");
}

TEST(NcclTopology, WithoutClassesIsCompletedFromThePlatformItNames) {
  const Json node = of_xml(imported_file("g5.48xl-topo.xml"));
  EXPECT_EQ(node["accelerator"], "a10g");
  EXPECT_EQ(node["accelerator_count"], 8);
  EXPECT_EQ(node["interconnect"]["kind"], "pcie");
  EXPECT_THAT(node["note"].get<std::string>(), HasSubstr("aws-g5.48xlarge"));
}

TEST(NcclTopology, LinksToSwitchesAreAddedUp) {
  const Json node = of_xml(dump(8, "0x2330", "90",
                                "<nvlink target=\"0000:05:00.0\" count=\"4\" tclass=\"0x068000\"/>"
                                "<nvlink target=\"0000:06:00.0\" count=\"5\" tclass=\"0x068000\"/>"
                                "<nvlink target=\"0000:07:00.0\" count=\"5\" tclass=\"0x068000\"/>"
                                "<nvlink target=\"0000:08:00.0\" count=\"4\" tclass=\"0x068000\"/>"));
  EXPECT_EQ(node["accelerator"], "h100-sxm-80gb");
  EXPECT_EQ(node["interconnect"]["links_per_accelerator"], 18);
  EXPECT_EQ(node["interconnect"]["switches"], 4);
  EXPECT_EQ(node["interconnect"]["link_bandwidth_GBps"], 25);
  EXPECT_EQ(node["nics"][0]["count"], 8);
  EXPECT_EQ(node["nics"][0]["bandwidth_Gbps"], 400);
  EXPECT_EQ(node["nics"][0]["kind"], "infiniband");
}

TEST(NcclTopology, AHiddenSwitchIsOne) {
  const Json node =
      of_xml(dump(8, "0x2335", "90", "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>"));
  EXPECT_EQ(node["accelerator"], "h200-sxm-141gb");
  EXPECT_EQ(node["interconnect"]["kind"], "nvswitch");
  EXPECT_EQ(node["interconnect"]["links_per_accelerator"], 18);
}

// As NCCL 2.28 dumps a clique of two GB300 trays, whose addresses are the same.
TEST(NcclTopology, MachinesThatShareLinksAreOneNode) {
  std::string xml = "<system version=\"1\">";
  for (const std::string host : {"0xa", "0xb"})
    for (int numa = 0; numa < 2; ++numa)
      xml += fmt::format(
          "<cpu host_hash=\"{0}\" numaid=\"{1}\" arch=\"arm64\"><pci busid=\"000{1}:06:00.0\" class=\"0x030200\" "
          "vendor=\"0x10de\" device=\"0x31c2\"><gpu sm=\"103\"><nvlink target=\"fffffff:ff:ff.0\" count=\"18\" "
          "tclass=\"0x068000\"/><c2c bw=\"44712\" count=\"5\"/></gpu></pci></cpu>",
          host, numa);
  const Json node = of_xml(xml + "</system>");
  EXPECT_EQ(node["accelerator"], "gb300");
  EXPECT_EQ(node["accelerator_count"], 4);
  EXPECT_EQ(node["interconnect"]["kind"], "nvswitch_rack");
  EXPECT_FALSE(node["interconnect"].contains("switches"));
  EXPECT_EQ(node["labels"]["pcie_tree"], "NUMA 0: gpu 0; NUMA 1: gpu 1; NUMA 2: gpu 2; NUMA 3: gpu 3");
  EXPECT_THAT(node["note"].get<std::string>(), HasSubstr("2 machines"));
}

// NCCL asks the driver about a GPU without links, so a file that has none does not say that there are none.
TEST(NcclTopology, GpusWithoutLinksHaveThoseOfTheirKind) {
  const Json p5 = of_xml(imported_file("p5.48xl-topo.xml"));
  EXPECT_EQ(p5["accelerator"], "h100-sxm-80gb");
  EXPECT_EQ(p5["interconnect"]["kind"], "nvswitch");
  EXPECT_EQ(p5["interconnect"]["links_per_accelerator"], 18);
  EXPECT_EQ(p5["evidence"]["interconnect"], "estimated");
  EXPECT_EQ(p5["price_like"], "aws-p5.48xlarge");
  EXPECT_EQ(of_xml(dump(8, "0x2330", "90", ""))["interconnect"]["kind"], "nvswitch");
  EXPECT_EQ(of_xml(dump(8, "0x26b9", "89", ""))["interconnect"]["kind"], "pcie");  // L40S
  EXPECT_EQ(of_xml(dump(4, "0x20b5", "80", ""))["interconnect"]["kind"], "pcie");  // A100 PCIe without bridges
}

TEST(NcclTopology, FaultsSayWhere) {
  EXPECT_THAT(faults_of(""), HasSubstr("not valid XML"));
  EXPECT_THAT(faults_of("<system><cpu></system>"), HasSubstr("line 1, column"));
  EXPECT_THAT(faults_of("<graphs/>"), HasSubstr("expected <system>"));
  EXPECT_THAT(faults_of("<!DOCTYPE x [<!ENTITY a \"b\">]>\n<system/>"), HasSubstr("document type"));
  EXPECT_THAT(faults_of("<system><cpu><pci class=\"0x030200\"/></cpu></system>"), HasSubstr("no busid"));
  EXPECT_THAT(faults_of("<system><cpu>\n<pci busid=\"zz\"/></cpu></system>"), HasSubstr("line 2"));
  EXPECT_THAT(faults_of("<system><cpu><pci busid=\"0000:01:00.0\"/><pci busid=\"0000:01:00.0\"/></cpu></system>"),
              HasSubstr("given twice"));
  EXPECT_THAT(faults_of(dump(2, "0x2330", "ninety", "")), HasSubstr("sm \"ninety\""));
  EXPECT_THAT(faults_of(dump(2, "0x2330", "90", "<nvlink target=\"0000:05:00.0\" count=\"-1\"/>")),
              HasSubstr("from 1 to 1024"));
}

TEST(NcclTopology, TooDeepOrTooLargeIsRefused) {
  std::string deep = "<system><cpu>", large = deep;
  for (int i = 0; i < 1000; ++i) deep += fmt::format("<pci busid=\"{:04x}:01:00.0\">", i);
  for (int i = 0; i < 1000; ++i) deep += "</pci>";
  EXPECT_THAT(faults_of(deep + "</cpu></system>"), HasSubstr("nested more than 64 deep"));
  for (int i = 0; i < 30000; ++i) large += "<x/>";
  EXPECT_THAT(faults_of(large + "</cpu></system>"), HasSubstr("more than 20000 elements"));
}

TEST(NcclTopology, EveryBeginningOfAFileIsReadOrRefused) {
  const std::string whole =
      dump(4, "0x2330", "90", "<nvlink target=\"0000:05:00.0\" count=\"6\" tclass=\"0x068000\"/>");
  for (std::size_t length = 0; length < whole.size(); length += 7) EXPECT_NE(faults_of(whole.substr(0, length)), "");
}

/// The fault of a topology that no node is made of.
std::string refusal(const std::string& xml, const NodeHints& hints = {"n", "", "", {}}) {
  try {
    of_xml(xml, hints);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// As in the file that Azure ships for NC A100 v4, whose cards have no bridge between them.
TEST(NcclTopology, LinksOfAnAcceleratorToItselfAreNone) {
  std::string xml = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 1; i <= 4; ++i)
    xml += fmt::format(
        "<pci busid=\"000{0}:00:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x20b5\"><gpu dev=\"{0}\" "
        "sm=\"80\"><nvlink target=\"000{0}:00:00.0\" count=\"12\" tclass=\"0x030200\"/></gpu></pci>",
        i);
  const Json node = of_xml(xml + "</cpu></system>");
  EXPECT_EQ(node["accelerator"], "a100-pcie-80gb");
  EXPECT_EQ(node["interconnect"]["kind"], "pcie");
  EXPECT_THAT(node["note"].get<std::string>(), HasSubstr("links of 4 accelerators to themselves were left out"));
}

// Bridges and tunnels of containers stand at every processor of a dump, and none is an adapter.
TEST(NcclTopology, InterfacesOfTheOperatingSystemAreNoAdapters) {
  std::string xml = "<system version=\"1\">";
  for (int i = 1; i <= 2; ++i)
    xml += fmt::format(
        "<cpu numaid=\"{0}\"><pci busid=\"0000:0{0}:00.0\" class=\"0x030000\" vendor=\"0x10de\" device=\"0x2684\">"
        "<gpu dev=\"{0}\" sm=\"89\"/></pci><nic><net name=\"eth0\" dev=\"0\" speed=\"10000\"/>"
        "<net name=\"tunl0\" dev=\"1\" speed=\"10000\"/><net name=\"br-702d9f\" dev=\"2\" speed=\"10000\"/>"
        "<net name=\"cali1c73\" dev=\"3\" speed=\"10000\"/></nic></cpu>",
        i);
  const Json node = of_xml(xml + "</system>");
  ASSERT_EQ(node["nics"].size(), 1U);
  EXPECT_EQ(node["nics"][0]["count"], 1);
  EXPECT_EQ(node["nics"][0]["kind"], "ethernet_tcp");
  EXPECT_THAT(node["note"].get<std::string>(), HasSubstr("br-702d9f, cali1c73, tunl0"));
}

// An adapter that Linux's RDMA names so speaks RDMA, whatever the class of its function is.
TEST(NcclTopology, MellanoxAdaptersOnEthernetTrain) {
  const std::string gpu =
      "<pci busid=\"0000:02:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2330\"><gpu sm=\"90\"/></pci>";
  const std::string xml = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:01:00.0\" class=\"0x060400\">" +
                          gpu +
                          "<pci busid=\"0000:03:00.0\" class=\"0x020000\"><nic><net name=\"mlx5_0\" speed=\"100000\"/>"
                          "</nic></pci><pci busid=\"0000:04:00.0\" class=\"0x020700\"><nic><net name=\"mlx5_1\" "
                          "speed=\"100000\"/></nic></pci></pci></cpu></system>";
  const Json node = of_xml(xml, {"n", "h100-sxm-80gb", "", {}});
  ASSERT_EQ(node["nics"].size(), 2U);
  EXPECT_EQ(node["nics"][0]["kind"], "ethernet_rdma");
  EXPECT_FALSE(node["nics"][0].contains("training"));
  EXPECT_EQ(node["nics"][1]["kind"], "infiniband");
}

// A virtual machine shows adapters and accelerators beside one another, and slower adapters for everything else.
TEST(NcclTopology, SlowerAdaptersDoNotTrainWhereNoPlaceTellsThemApart) {
  std::string xml = "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:00:00.0\" class=\"0x060000\"><nic>";
  for (int i = 0; i < 4; ++i)
    xml += fmt::format("<net name=\"mlx5_{0}\" dev=\"{0}\" speed=\"{1}\"/>", i, i < 2 ? 100000 : 400000);
  xml += "</nic></pci>";
  for (int i = 1; i <= 4; ++i)
    xml += fmt::format(
        "<pci busid=\"0000:00:0{0}.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2901\"><gpu sm=\"100\"><nvlink "
        "target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>",
        i);
  const Json node = of_xml(xml + "</cpu></system>");
  ASSERT_EQ(node["nics"].size(), 2U);
  EXPECT_EQ(node["nics"][0]["bandwidth_Gbps"], 100);
  EXPECT_EQ(node["nics"][0]["training"], false);
  EXPECT_EQ(node["nics"][1]["bandwidth_Gbps"], 400);
  EXPECT_FALSE(node["nics"][1].contains("training"));
}

// The file of a g5.48xlarge lists its accelerators alone.
TEST(NcclTopology, FunctionsWithoutClassesMayBeAcceleratorsAlone) {
  std::string xml = "<!-- for `g5.48xlarge` platform type --><system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 1; i <= 8; ++i) xml += fmt::format("<pci busid=\"0000:00:1{}.0\"/>", i);
  const Json node = of_xml(xml + "</cpu></system>");
  EXPECT_EQ(node["accelerator_count"], 8);
  EXPECT_EQ(node["accelerator"], "a10g");
  EXPECT_EQ(node["nics"][0]["kind"], "efa");
}

// Sixteen dies are no node of the catalogue, but eight of the same are, with links of a known rate.
TEST(NcclTopology, LinksHaveTheRateOfOtherNodesWithTheAccelerator) {
  std::string xml = "<system version=\"2\"><cpu numaid=\"0\">";
  for (int i = 0; i < 16; ++i)
    xml += fmt::format(
        "<pci busid=\"0000:{0:02x}:00.0\" class=\"0x038000\" vendor=\"0x1002\" device=\"0x740c\"><gpu "
        "gcn=\"910\"><xgmi "
        "target=\"0000:{1:02x}:00.0\" count=\"4\" tclass=\"0x038000\"/></gpu></pci>",
        i + 1, (i ^ 1) + 1);
  const Json node = of_xml(xml + "</cpu></system>");
  EXPECT_EQ(node["accelerator_count"], 16);
  EXPECT_EQ(node["interconnect"]["link_bandwidth_GBps"], 50);
  EXPECT_THAT(node["sources"]["interconnect.link_bandwidth_GBps"].get<std::string>(), HasSubstr("node frontier"));
}

// Azure's file for ND40rs v2 has classes alone: eight accelerators, which may be any.
TEST(NcclTopology, AcceleratorsOfWhichNothingIsToldAreAskedFor) {
  std::string xml = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 1; i <= 8; ++i)
    xml += fmt::format("<pci busid=\"000{}:00:00.0\" class=\"0x030200\" link_speed=\"16 GT/s\"/>", i);
  xml += "</cpu></system>";
  EXPECT_THAT(refusal(xml), HasSubstr("--accelerator"));
  const Json node = of_xml(xml, {"n", "", "azure-nd40rs-v2", {}});
  EXPECT_EQ(node["accelerator"], "v100-sxm2-32gb");
  EXPECT_EQ(node["interconnect"]["kind"], "hybrid_cube_mesh");
}

// AWS's plugin keeps hwloc's descriptions of machines under the same names.
TEST(NcclTopology, AFileOfHwlocIsSaidToBeOne) {
  const std::string fault =
      faults_of("<?xml version=\"1.0\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\"/>");
  EXPECT_THAT(fault, HasSubstr("hwloc"));
  EXPECT_THAT(fault, testing::Not(HasSubstr("document type")));
}

/// A dump of RCCL: two accelerators of an architecture with an adapter of Slingshot, of a speed in no unit of NCCL's.
std::string rccl_dump(const std::string& device, const std::string& gcn, const std::string& units) {
  std::string out = "<system version=\"2\"><cpu numaid=\"0\">";
  for (const std::string bus : {"c1", "c6"})
    out += "<pci busid=\"0000:" + bus + ":00.0\" class=\"0x120000\" vendor=\"0x1002\" device=\"" + device +
           "\" link_speed=\"16.0 GT/s PCIe\"><gpu sm=\"" + units + "\" gcn=\"" + gcn +
           "\"><xgmi target=\"0000:" + (bus == "c1" ? "c6" : "c1") +
           ":00.0\" count=\"1\" tclass=\"0x120000\"/></gpu></pci>";
  return out +
         "<pci busid=\"0000:81:00.0\" class=\"0x020000\" vendor=\"0x17db\" device=\"0x0501\"><nic><net "
         "name=\"cxi0\" speed=\"200000000\"/></nic></pci></cpu></system>";
}

TEST(NcclTopology, ASpeedThatNoNicHasIsNotTaken) {
  const Json node = of_xml(rccl_dump("0x74a0", "942", "228"));
  EXPECT_EQ(node["accelerator"], "mi300a");
  EXPECT_EQ(node["nics"][0]["bandwidth_Gbps"], 200);
  EXPECT_EQ(node["nics"][0]["kind"], "slingshot");
}

// RCCL counts compute units where NCCL has the compute capability: 120 of an MI100 are no Blackwell.
TEST(NcclTopology, AnArchitectureGoesBeforeComputeUnits) {
  Diagnostics diagnostics("t.xml");
  const Wiring wiring = read_nccl_topology(rccl_dump("0x738e", "908", "120"), diagnostics);
  const auto allowed = accelerators_allowed(wiring, catalog());
  EXPECT_FALSE(allowed.empty());
  for (const Accelerator* one : allowed) EXPECT_EQ(one->family, "amd-cdna") << one->id;
  const Wiring old = read_nccl_topology(rccl_dump("0x740d", "910", "110"), diagnostics);
  EXPECT_EQ(old.accelerators.front().gcn, "gfx90a");
  const Wiring unknown = read_nccl_topology(rccl_dump("0x7300", "gfx803:sramecc+:xnack-", "60"), diagnostics);
  EXPECT_EQ(unknown.accelerators.front().gcn, "gfx803");
  EXPECT_TRUE(accelerators_allowed(unknown, catalog()).empty());
}

TEST(NcclTopology, ALinkTellsTheLeastGeneration) {
  std::string xml = "<system version=\"1\"><cpu numaid=\"0\">";
  for (int i = 1; i <= 8; ++i)
    xml += "<pci busid=\"000" + std::to_string(i) + ":00:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\"/>";
  Diagnostics diagnostics("t.xml");
  const Wiring wiring = read_nccl_topology(xml + "</cpu></system>", diagnostics);
  for (const Accelerator* one : accelerators_allowed(wiring, catalog()))
    EXPECT_TRUE(one->pcie_gen == 0 || one->pcie_gen >= 5) << one->id;
}

// Partitions of one GPU stand side by side in its <pci>.
TEST(NcclTopology, PartsOfAnAcceleratorAreNotCountedAsWhole) {
  Diagnostics diagnostics("t.xml");
  read_nccl_topology(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0002:81:00.0\" class=\"0x030200\" vendor=\"0x10de\">\n"
      "<gpu dev=\"0\" sm=\"100\" mlopart=\"0\" rank=\"0\"/>\n<gpu dev=\"0\" sm=\"100\" mlopart=\"1\" rank=\"1\"/>\n"
      "</pci></cpu></system>",
      diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_THAT(diagnostics.faults().front().text(), AllOf(HasSubstr("line 3"), HasSubstr("parts of one accelerator")));
}

/// Two GPUs below a switch, whose links are stated as `link_speed="…" link_width="…"`.
std::string below_switch(const std::string& uplink, const std::string& own) {
  std::string out =
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:20:00.0\" class=\"0x060400\" " + uplink + ">";
  for (int i = 0; i < 2; ++i)
    out += fmt::format(
        "<pci busid=\"0000:2{0}:00.0\" class=\"0x030200\" vendor=\"0x10de\" device=\"0x2331\" {1}>"
        "<gpu dev=\"{0}\" sm=\"90\" rank=\"{0}\" gdr=\"1\"/></pci>",
        i + 1, own);
  return out + "</pci></cpu></system>";
}

std::string link_of(const char* speed, int width) {
  return fmt::format("link_speed=\"{} GT/s PCIe\" link_width=\"{}\"", speed, width);
}

// As NCCL has it: the slowest link up to the processor counts, by its lanes and their rate.
TEST(NcclTopology, ThePathToTheProcessorSaysHowFastPcieIs) {
  struct Case {
    std::string uplink, own;
    int gen;
    const char* says;  ///< null: nothing
  };
  const std::string wide = link_of("32.0", 16);
  for (const Case& one :
       {Case{wide, wide, 5, nullptr}, Case{"", wide, 5, nullptr}, Case{link_of("32.0", 0), wide, 5, nullptr},
        Case{link_of("16.0", 16), wide, 4, "20:00.0\", 16 lanes of 16.0 GT/s"},
        Case{wide, link_of("32.0", 8), 4,
             "8 lanes of 32.0 GT/s PCIe: taken as 16 lanes of generation 4, "
             "which are as fast"},
        Case{link_of("8.0", 4), wide, 1, "of generation 1, which are as fast"},
        Case{link_of("16.0", 12), wide, 3, "of generation 3, the next that are no faster"},
        Case{link_of("2.5", 8), wide, 1, "of generation 1, the slowest that there are"}}) {
    Diagnostics diagnostics("t.xml");
    const Wiring wiring = read_nccl_topology(below_switch(one.uplink, one.own), diagnostics);
    EXPECT_EQ(diagnostics.faults().size(), 0U);
    EXPECT_EQ(interconnect_of_wiring(wiring, 0).pcie_gen, one.gen) << one.uplink << one.own;
    const std::string notes = Json(wiring.notes).dump();
    if (one.says)
      EXPECT_THAT(notes, HasSubstr(Json(one.says).dump().substr(1, Json(one.says).dump().size() - 2)));
    else
      EXPECT_EQ(notes, "[]");
  }
}

}  // namespace
}  // namespace stepcast::import_nccl_topology_test
