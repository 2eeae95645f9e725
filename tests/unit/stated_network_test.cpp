#include "calibration/validation/stated_network.hpp"

#include <gtest/gtest.h>

namespace stepcast::stated_network_test {
namespace {

TEST(Networks, AreReadFromTheirTexts) {
  const auto shared = network_of("4 x 100 Gb/s RoCE per node", 8);
  EXPECT_EQ(shared->nics_per_node, 4);
  EXPECT_EQ(shared->nic_bandwidth_Gbps, 100);
  EXPECT_EQ(shared->kind, "ethernet_rdma");
  EXPECT_EQ(network_of("RoCE 400 Gb/s per GPU, 24k-GPU three-layer Clos", 8)->nics_per_node, 8);
  EXPECT_EQ(network_of("Selene: 8 HDR InfiniBand per node", 8)->nic_bandwidth_Gbps, 200);
  EXPECT_EQ(network_of("GCP A3 (800 Gb/s TCPX per node)", 8)->kind, "ethernet_tcp");
  EXPECT_EQ(network_of("NVLink 400 GB/s; 8 x 400 Gb/s InfiniBand per node", 8)->nics_per_node, 8);
  EXPECT_EQ(network_of("8x400 Gb/s InfiniBand per node", 8)->nics_per_node, 8);
  struct Spelled {
    const char* text;
    int nics;
    double gbps;
  };
  for (const Spelled& one : {Spelled{"8 × 400 Gb/s InfiniBand per node", 8, 400},
                             Spelled{"8*400Gbps", 8, 400},
                             Spelled{"NVLink + 8x CX7 400Gb/s", 8, 400},
                             Spelled{"InfiniBand NDR 400 Gb/s x8", 8, 400},
                             Spelled{"400 Gb/s x 8", 8, 400},
                             Spelled{"8 NICs of 400 Gb/s", 8, 400},
                             Spelled{"8 400Gb/s NICs per node", 8, 400},
                             Spelled{"eight 400 Gb/s NICs", 8, 400},
                             Spelled{"8x ConnectX-6 200Gb/s", 8, 200},
                             Spelled{"200Gb/s IB (8 per node)", 8, 200},
                             Spelled{"4 x 25 GB/s Slingshot", 4, 200},
                             Spelled{"4 x 25 GBps Slingshot", 4, 200},
                             Spelled{"8x 400G", 8, 400},
                             Spelled{"4x 200 GBit/s HDR", 4, 200},
                             Spelled{"4x HDR100", 4, 100},
                             Spelled{"2xHDR200", 2, 200},
                             Spelled{"Slingshot 4 x 200", 4, 200},
                             Spelled{"1.6 Tb/s per node", 1, 1600},
                             Spelled{"HDR per GPU", 8, 200},
                             Spelled{"100 Gb/s EDR InfiniBand per node (1 NIC)", 1, 100},
                             Spelled{"20 Gb/s Ethernet per node (p2.16xlarge)", 1, 20},
                             Spelled{"8x200 Gb/s HDR IB per node (DGX A100 standard; not stated)", 8, 200},
                             Spelled{"10GbE", 1, 10},
                             Spelled{"25 Gbps", 1, 25},
                             Spelled{"8 x H100 (96 GB HBM2e 2.4 TB/s, 500 W) NVLink; 400 Gb/s RDMA per GPU", 8, 400}}) {
    const auto read = network_of(one.text, 8);
    ASSERT_TRUE(read) << one.text;
    EXPECT_EQ(read->nics_per_node, one.nics) << one.text;
    EXPECT_EQ(read->nic_bandwidth_Gbps, one.gbps) << one.text;
  }
  for (const char* none : {"NVLink2 hybrid cube mesh 300 GB/s per GPU", "NVSwitch 600 GB/s per GPU", "one node",
                           "PCIe gen3 (p2.8xlarge)", "EFA 800 or 1600 Gb/s per instance", "not stated", ""})
    EXPECT_FALSE(network_of(none, 8)) << none;
  EXPECT_EQ(network_of("100 GbE", 8)->nic_bandwidth_Gbps, 100);
  EXPECT_EQ(network_of("2 x 25 GbE", 8)->nics_per_node, 2);
  EXPECT_EQ(network_of("2 x 25 GbE", 8)->kind, "ethernet_tcp");
  EXPECT_FALSE(network_of("not stated", 8));
  EXPECT_FALSE(network_of("EFA 800 or 1600 Gb/s per instance", 8));
  EXPECT_FALSE(network_of("DGX B200", 8));
}

}  // namespace
}  // namespace stepcast::stated_network_test
