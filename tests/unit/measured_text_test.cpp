#include <gtest/gtest.h>

#include "calibration/collectives/device_text.hpp"
#include "calibration/collectives/library_text.hpp"
#include "calibration/collectives/nic_text.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::measured_text_test {
namespace {

struct NicCase {
  const char* text;
  int count;
  double gbps;
  NetworkKind kind;
};

TEST(NicText, ReadsWhatTablesWrite) {
  for (const NicCase& c : {NicCase{"8x ConnectX-7 400G IB NDR", 8, 400, NetworkKind::infiniband},
                           NicCase{"2x Slingshot 11 200G", 2, 200, NetworkKind::slingshot},
                           NicCase{"32x 100G EFA v2", 32, 100, NetworkKind::efa},
                           NicCase{"8x BlueField-3 400G RoCE", 8, 400, NetworkKind::ethernet_rdma},
                           NicCase{"2x 100G IB EDR", 2, 100, NetworkKind::infiniband},
                           NicCase{"4x HDR200", 4, 200, NetworkKind::infiniband},
                           NicCase{"4x HDR", 4, 200, NetworkKind::infiniband},
                           NicCase{"1x 200 Gb/s RoCE", 1, 200, NetworkKind::ethernet_rdma},
                           NicCase{"1 RoCE virtual function (25G class)", 1, 25, NetworkKind::ethernet_rdma},
                           NicCase{"1x 100G Ethernet, TCP sockets", 1, 100, NetworkKind::ethernet_tcp},
                           NicCase{"4x Slingshot-11", 4, 200, NetworkKind::slingshot},
                           NicCase{"400 Gb/s RoCE", 1, 400, NetworkKind::ethernet_rdma},
                           NicCase{"25 GbE", 1, 25, NetworkKind::ethernet_tcp},
                           NicCase{"3200 Gb/s EFA", 1, 3200, NetworkKind::efa},
                           NicCase{"1x 100G Omni-Path, fat tree", 1, 100, NetworkKind::omni_path},
                           NicCase{"8x 400 Gbit/s NDR InfiniBand", 8, 400, NetworkKind::infiniband},
                           NicCase{"GPUDirect-TCPX 8x200G", 8, 200, NetworkKind::ethernet_tcp},
                           NicCase{"EFA 32 x 100G", 32, 100, NetworkKind::efa},
                           NicCase{"NDR400 x8", 8, 400, NetworkKind::infiniband},
                           NicCase{"4xHDR", 4, 200, NetworkKind::infiniband},
                           NicCase{"EFA 3200", 1, 3200, NetworkKind::efa},
                           NicCase{"8x ConnectX-7 400 NDR", 8, 400, NetworkKind::infiniband},
                           NicCase{"HDR 100", 1, 100, NetworkKind::infiniband},
                           NicCase{"32 EFA 100G", 32, 100, NetworkKind::efa},
                           NicCase{"8x 25 GB/s HDR", 8, 200, NetworkKind::infiniband},
                           NicCase{"4x 25GBps Slingshot 11", 4, 200, NetworkKind::slingshot},
                           NicCase{"25 GB/s HDR", 1, 200, NetworkKind::infiniband},
                           NicCase{"8x 200 gb/s HDR", 8, 200, NetworkKind::infiniband},
                           NicCase{"8x 400G NDR (50 GB/s each)", 8, 400, NetworkKind::infiniband},
                           NicCase{"NVLink 900 GB/s, 8x NDR", 8, 400, NetworkKind::infiniband},
                           NicCase{"3.2 Tb/s EFA", 1, 3200, NetworkKind::efa}}) {
    const StatedNics nics = read_nics(c.text);
    EXPECT_EQ(nics.count, c.count) << c.text;
    ASSERT_TRUE(nics.bandwidth.has_value()) << c.text;
    EXPECT_DOUBLE_EQ(nics.bandwidth->in(1_Gbps), c.gbps) << c.text;
    EXPECT_EQ(nics.kind, c.kind) << c.text;
  }
}

TEST(NicText, TellsWhichWayTcpReachesDevices) {
  EXPECT_EQ(read_nics("4x 200G GPUDirect-TCPX").direct_to_device_tcp, "tcpx");
  EXPECT_EQ(read_nics("8x 200G GPUDirect-TCPXO").direct_to_device_tcp, "tcpxo");
  EXPECT_EQ(read_nics("1x 100G Ethernet, TCP sockets").direct_to_device_tcp, "");
}

TEST(NicText, GuessesNoRate) {
  for (const char* text :
       {"not stated", "InfiniBand, rate not stated (SHARP on)", "not stated (slow cloud network)", "EFA 3100",
        "RoCE 12.5", "100 200 RoCE", "8x 25 GB HDR", "8x 200 GBPS HDR", "NVLink 900 GB/s", "8x 25 MB/s HDR"})
    EXPECT_FALSE(read_nics(text).bandwidth.has_value()) << text;
}

TEST(NicText, CountsThoseOfADevice) {
  EXPECT_TRUE(read_nics("400 Gb/s IB per GPU").per_device);
  EXPECT_FALSE(read_nics("8x 400G (one per GPU; kind not stated)").per_device);
  EXPECT_FALSE(read_nics("8x 400 Gb/s InfiniBand").per_device);
  EXPECT_TRUE(read_nics("4x 100G EFA per GPU").per_device);
}

TEST(LibraryText, KnowsOpenMpiMpichAndGlooInAnySpelling) {
  for (const char* text : {"Open MPI 4.0.5, UCX 1.7.0", "OpenMPI 4.0.5", "openmpi/3.1", "open-mpi 2"})
    EXPECT_EQ(stated_host_library(text), HostLibrary::open_mpi_4_0) << text;
  for (const char* text :
       {"Open MPI 4.1", "openmpi/4.1.4", "Open_MPI-4.1.6", "OMPI 4.1.5", "Open MPI, OSU 5.8", "OpenMPI, UCX 5.1"})
    EXPECT_EQ(stated_host_library(text), HostLibrary::open_mpi_4_1) << text;
  for (const char* text : {"OpenMPI v5.0.2", "Open MPI 5.0.3 (UCX 1.16)"})
    EXPECT_EQ(stated_host_library(text), HostLibrary::open_mpi_5) << text;
  for (const char* text : {"MPICH 4.2.1", "mpich/4.1", "MPICH"})
    EXPECT_EQ(stated_host_library(text), HostLibrary::mpich) << text;
  for (const char* text : {"Gloo", "PyTorch gloo", "gloo (PyTorch 2.1)"})
    EXPECT_EQ(stated_host_library(text), HostLibrary::gloo) << text;
  for (const char* text : {"Intel MPI 2021.9", "MVAPICH2 2.3.7", "Cray MPICH 8.1", "MPICH 3.3", "", "not stated"})
    EXPECT_EQ(stated_host_library(text), std::nullopt) << text;
}

TEST(DeviceText, FindsTheProcessorsThatAreMeant) {
  const Catalog& catalog = test::catalog();
  const StatedProcessors two = stated_processors("2x EPYC 7R13 (hpc6a.48xlarge)", catalog);
  ASSERT_NE(two.cpu, nullptr);
  EXPECT_EQ(two.cpu->id, "epyc-7r13");
  EXPECT_EQ(two.sockets, 2);
  const StatedProcessors one = stated_processors("Xeon Platinum 8480C", catalog);
  ASSERT_NE(one.cpu, nullptr);
  EXPECT_EQ(one.cpu->id, "xeon-platinum-8480c");
  EXPECT_EQ(one.sockets, 1);
  for (const char* text : {"2x Xeon Gold 6148", "x", "", "EPYC"})
    EXPECT_EQ(stated_processors(text, catalog).cpu, nullptr) << text;
}

TEST(DeviceText, FindsTheAcceleratorThatIsMeant) {
  const Catalog& catalog = test::catalog();
  for (const auto& [text, id] :
       {std::pair{"A100-SXM4-80GB", "a100-sxm-80gb"}, std::pair{"H100", "h100-sxm-80gb"},
        std::pair{"V100-SXM2-16GB", "v100-sxm2-16gb"}, std::pair{"B200-SXM", "b200-sxm-180gb"},
        std::pair{"H100 PCIe, NVLink pairs", "h100-pcie-80gb"}, std::pair{"MI300X", "mi300x"},
        std::pair{"L40S", "l40s"}, std::pair{"RTX PRO 6000 Blackwell Server", "rtx-pro-6000-blackwell-server"},
        std::pair{"RTX 4000 SFF Ada", "rtx-4000-sff-ada"}, std::pair{"RTX 6000 Ada", "rtx-6000-ada"},
        std::pair{"H200-SXM", "h200-sxm-141gb"}, std::pair{"NVIDIA Rubin", "rubin-sxm"}}) {
    const Accelerator* found = stated_accelerator(text, catalog);
    ASSERT_NE(found, nullptr) << text;
    EXPECT_EQ(found->id, id) << text;
  }
  EXPECT_EQ(stated_accelerator("not stated", catalog), nullptr);
  EXPECT_EQ(stated_accelerator("RTX 5000 Ada", catalog), nullptr);
}

TEST(DeviceText, LinksFollowTheWordsOnThem) {
  const Catalog& catalog = test::catalog();
  const Accelerator& a100 = *catalog.find<Accelerator>("a100-sxm-80gb");
  EXPECT_EQ(stated_node(a100, {2, 1, "none (NVSwitch 600 GB/s)", ""}, catalog).interconnect.kind,
            NodeTopology::nvswitch);
  const Node pair = stated_node(a100, {2, 1, "none (NVLink, 4 links per pair = 100 GB/s raw)", ""}, catalog);
  EXPECT_EQ(pair.interconnect.kind, NodeTopology::pair);
  EXPECT_DOUBLE_EQ(pair.interconnect.bandwidth_per_accelerator(2).in(1_GBps), 100);
  EXPECT_EQ(stated_node(a100, {1, 10, "", "1 of 8 GPUs per node used"}, catalog).accelerator_count, 8);
  // Four A100 of several nodes: a mesh of three neighbours, not half of a switch.
  EXPECT_EQ(stated_node(a100, {4, 2, "", ""}, catalog).interconnect.kind, NodeTopology::mesh);
  const Accelerator& l40s = *catalog.find<Accelerator>("l40s");
  EXPECT_EQ(stated_node(l40s, {8, 1, "none (PCIe gen4 only)", ""}, catalog).interconnect.kind, NodeTopology::pcie);
}

/// The node of a row of one server.
Node node_of(const char* gpu, int devices, const char* links) {
  const Accelerator* found = stated_accelerator(gpu, test::catalog());
  EXPECT_NE(found, nullptr) << gpu;
  return stated_node(*found, {devices, 1, links, ""}, test::catalog());
}

double native_GBps(const Node& node) {
  return node.interconnect.bandwidth_per_accelerator(node.accelerator_count).in(1_GBps);
}

TEST(DeviceText, LinksOfDiesAreTheCataloguesNodes) {
  for (const char* gpu : {"MI250X (GCD)", "MI250X", "MI250"}) {
    const Node dies = node_of(gpu, 8, "none (xGMI)");
    EXPECT_EQ(dies.interconnect.kind, NodeTopology::hybrid_cube_mesh) << gpu;
    EXPECT_EQ(native_GBps(dies), 300) << gpu;
  }
  EXPECT_EQ(node_of("MI250X (GCD)", 4, "Infinity Fabric, PCIe to the host").accelerator_count, 8);
  EXPECT_EQ(native_GBps(node_of("MI210", 4, "xGMI bridge")), 150);
  EXPECT_EQ(node_of("MI210", 4, "none (PCIe gen4 only)").interconnect.kind, NodeTopology::pcie);
}

// Cards are no boards of a platform: a bridge joins four of them at most, and pairs elsewhere.
TEST(DeviceText, CardsMeetOverBridges) {
  EXPECT_EQ(node_of("H200-SXM", 8, "none (NVLink)").interconnect.kind, NodeTopology::nvswitch);
  for (const char* links : {"none (NVLink)", "none"}) {
    const Node cards = node_of("H200 NVL", 8, links);
    EXPECT_EQ(cards.interconnect.kind, NodeTopology::hybrid_cube_mesh) << links;
    EXPECT_EQ(native_GBps(cards), 450) << links;
    EXPECT_EQ(node_of("H200 NVL", 4, links).interconnect.kind, NodeTopology::mesh) << links;
  }
  EXPECT_EQ(node_of("H100 PCIe", 4, "none (NVLink bridge pairs)").interconnect.kind, NodeTopology::pair);
  EXPECT_EQ(node_of("H100 NVL", 8, "none (NVLink)").interconnect.kind, NodeTopology::pair);
  EXPECT_EQ(node_of("RTX A6000", 8, "none").interconnect.kind, NodeTopology::pcie);
}

}  // namespace
}  // namespace stepcast::measured_text_test
