#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware-catalog/catalog.hpp"
#include "models/collectives/calibrated.hpp"
#include "models/collectives/machine.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::collective_phenomena_test {
namespace {

using test::catalog;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// What measurements of real clusters show (calibration/data/collectives-*.csv), on servers of the catalogue: it has to
// follow from steps, links and channels, whatever the constants.

Interconnect links_of(const char* node) { return interconnect_of(machine_of(*catalog().find<Node>(node), catalog())); }

CollectiveCost cost(const Interconnect& net, CollectiveKind kind, Bytes size, const GroupShape& group,
                    ElementWidth width = ElementWidth::usual) {
  return collective_cost(kind, size, group, net, CollectiveAlgorithm::automatic, CollectiveProtocol::automatic, width);
}

double us(const Interconnect& net, CollectiveKind kind, Bytes size, int ranks, int per_node = 8) {
  const GroupShape group{ranks, std::min(ranks, per_node), 1};
  return cost(net, kind, size, group).alone(net, group).in(1_us);
}

TEST(Libraries, AreThoseOfTheAccelerator) {
  const auto library = [](const char* node) { return machine_of(*catalog().find<Node>(node), catalog()).library->id; };
  EXPECT_EQ(library("hls-gaudi2"), "oneccl");
  EXPECT_EQ(library("dgx-h100"), "nccl");
  EXPECT_EQ(library("mi325x-platform-8"), "nccl");
}

// Cards of generation 4 in slots of generation 3 meet at half the rate.
TEST(Phenomena, SlotsOfAnOlderGenerationHalvePcie) {
  Node node = *catalog().find<Node>("server-4xl40s");
  const auto rate = [&](int generation) {
    node.interconnect.pcie_gen = generation;
    return interconnect_of(machine_of(node, catalog())).native;
  };
  EXPECT_DOUBLE_EQ(rate(3).value() / rate(4).value(), 0.5);
  EXPECT_EQ(rate(0), rate(4));
}

// GPUDirect-TCPX and TCPXO move data past the processor: forecasts of a node have the constants that its rows are
// scored with. Two A3 Mega, 16 H100: 8 GiB in 47.5 ms, 339 GB/s of busbw (network-profiles/tcpxo.json); a table of A3
// High has 160.5 ms for an all_gather of 8 GiB (calibration/data/collectives-multinode.csv).
TEST(Phenomena, NetworksOfANodeAreItsOwn) {
  const auto profile = [](const char* node) {
    return machine_of(*catalog().find<Node>(node), catalog()).network_profile->id;
  };
  EXPECT_EQ(profile("gcp-a3-megagpu-8g"), "tcpxo");
  EXPECT_EQ(profile("gcp-a3-highgpu-8g"), "tcpx");
  EXPECT_EQ(profile("aws-p3.16xlarge"), "ethernet_tcp");
  const Node& mega = *catalog().find<Node>("gcp-a3-megagpu-8g");
  EXPECT_EQ(network_profile_of(mega, NetworkKind::infiniband, catalog())->id, "infiniband");
  EXPECT_NEAR(us(links_of("gcp-a3-megagpu-8g"), CollectiveKind::all_reduce, 8_GiB, 16) / 47535, 1, 0.15);
  EXPECT_NEAR(us(links_of("gcp-a3-highgpu-8g"), CollectiveKind::all_gather, 8_GiB, 16) / 160505, 1, 0.15);
}

// A processor's TCP takes 5 GB/s of a NIC however fast that is. A faster one takes nothing away from what PCIe carries.
TEST(Phenomena, FasterNicsThanTcpFillsAreNoSlower) {
  BytesPerSecond before;
  for (const double gigabits : {10, 25, 50, 100, 200, 400, 800}) {
    CollectiveMachine machine = machine_of(*catalog().find<Node>("aws-p3.16xlarge"), catalog());
    ASSERT_EQ(machine.network, NetworkKind::ethernet_tcp);
    machine.nic_bandwidth = gigabits * 1_Gbps;
    const Interconnect net = interconnect_of(machine);
    EXPECT_GE(net.rank_network, before) << gigabits;
    before = net.rank_network;
  }
}

TEST(Phenomena, AllReduceOfFewBytesGrowsWithTheLogarithmOfTheNodes) {
  const Interconnect net = links_of("dgx-a100-80gb");
  const auto at = [&](int nodes) { return us(net, CollectiveKind::all_reduce, 8_B, 8 * nodes); };
  double before = at(8) - at(4);
  EXPECT_GT(before, 2);
  for (const int nodes : {8, 16, 32, 64}) {
    const double step = at(2 * nodes) - at(nodes);
    // Two more hops each time, and the filling of a tree that is two hops longer.
    EXPECT_NEAR(step / before, 1, 0.12) << nodes;
    before = step;
  }
}

TEST(Phenomena, AllGatherGrowsWithTheRanks) {
  const Interconnect net = links_of("dgx-a100-80gb");
  const double at_512 = us(net, CollectiveKind::all_gather, 4_kB, 512),
               at_1024 = us(net, CollectiveKind::all_gather, 4_kB, 1024);
  EXPECT_NEAR(at_1024 / at_512, 2, 0.1);
}

TEST(Phenomena, AllGatherOfManyRanksIsNotHalfAnAllReduce) {
  for (const char* node : {"dgx-a100-80gb", "dgx-h100", "dgx-h200", "dgx-b200"}) {
    const Interconnect net = links_of(node);
    EXPECT_GT(us(net, CollectiveKind::all_gather, 64_MiB, 1024), 3 * us(net, CollectiveKind::all_reduce, 64_MiB, 1024))
        << node;
  }
}

TEST(Phenomena, LlTakesAsLongWhileLargerMessagesOnlyOpenChannels) {
  // Measured on eight A100 (NCCL 2.27), all_reduce: 22 µs at 1 KiB, then 28 at 64 KiB and still 28 at 256 KiB.
  const Interconnect net = links_of("dgx-a100-80gb");
  const auto ll = [&](Bytes size) {
    return collective_cost(CollectiveKind::all_reduce, size, {8, 8, 1}, net, CollectiveAlgorithm::ring,
                           CollectiveProtocol::ll)
        .alone(net, {8, 8, 1})
        .in(1_us);
  };
  EXPECT_GT(ll(32_KiB), 1.15 * ll(1_KiB));
  EXPECT_NEAR(ll(256_KiB) / ll(32_KiB), 1, 0.035);  // as well as whole µs tell
  EXPECT_GT(ll(2_MiB), 1.3 * ll(256_KiB));
}

// Two nodes of eight A100 with 200 GB/s of RoCE each (OCI-A100-40): 127 µs at 4 MiB, 174 at 8, 283 at 16. LL128 sends
// nearly at the wire's rate, without Simple's long start.
TEST(Phenomena, Ll128CrossesNodesAtTheWiresRate) {
  const Interconnect net = links_of("dgx-a100-40gb");
  const GroupShape group{16, 8, 1};
  const auto all_reduce = [&](Bytes size) { return cost(net, CollectiveKind::all_reduce, size, group); };
  EXPECT_EQ(all_reduce(4_MiB).protocol, CollectiveProtocol::ll128);
  EXPECT_NEAR(all_reduce(4_MiB).alone(net, group).in(1_us) / 127, 1, 0.15);
  EXPECT_NEAR(all_reduce(8_MiB).alone(net, group).in(1_us) / 174, 1, 0.15);
  EXPECT_NEAR(all_reduce(16_MiB).alone(net, group).in(1_us) / 283, 1, 0.15);
}

TEST(Phenomena, Ll128StaysInTheNodeOfSlingshotAndVolta) {
  for (const char* node : {"perlmutter-gpu", "dgx-1-v100-16gb"}) {
    const Interconnect net = links_of(node);
    for (Bytes size = 1_KiB; size <= 1_GiB; size = 2 * size)
      EXPECT_NE(cost(net, CollectiveKind::all_reduce, size, {8, 4, 1}).protocol, CollectiveProtocol::ll128)
          << node << size.value();
  }
}

// Ten nodes with one H100 each gather 16 GiB of 64-bit numbers in 319 ms (XR-H100): nothing adds between them.
TEST(Phenomena, TheWireCarriesWideTypesLikeOthers) {
  const Interconnect net = links_of("dgx-h100");
  const GroupShape group{10, 1, 1};
  const auto gather = [&](ElementWidth width) {
    return cost(net, CollectiveKind::all_gather, 16_GiB, group, width).alone(net, group).in(1_ms);
  };
  EXPECT_DOUBLE_EQ(gather(ElementWidth::wide), gather(ElementWidth::usual));
  EXPECT_NEAR(gather(ElementWidth::wide) / 319.3, 1, 0.02);
}

TEST(Phenomena, AllToAllGrowsWithThePeers) {
  const Interconnect net = links_of("dgx-a100-80gb");
  EXPECT_GT(us(net, CollectiveKind::all_to_all, 8_kB, 1024), 1.8 * us(net, CollectiveKind::all_to_all, 8_kB, 512));
}

TEST(Phenomena, TreesOfTwoNodesPassTheRateOfTheirNics) {
  for (const char* node : {"dgx-h100", "dgx-b200"}) {
    const Interconnect net = links_of(node);
    const double seconds = us(net, CollectiveKind::all_reduce, 16_GiB, 16) * 1e-6;
    const double busbw = (16_GiB).value() / seconds * 2 * 15 / 16;
    EXPECT_GT(busbw, 8 * 50e9) << node;  // eight NICs of 400 Gb/s
  }
}

TEST(Phenomena, SwitchesAddEightBitNumbersMoreSlowly) {
  const Interconnect net = links_of("dgx-h100");
  const GroupShape group{8, 8, 1};
  const CollectiveCost usual = cost(net, CollectiveKind::all_reduce, 1_GiB, group);
  const CollectiveCost narrow =
      collective_cost(CollectiveKind::all_reduce, 1_GiB, group, net, CollectiveAlgorithm::nvls,
                      CollectiveProtocol::simple, ElementWidth::narrow);
  EXPECT_EQ(usual.algorithm, CollectiveAlgorithm::nvls);
  EXPECT_GT(narrow.alone(net, group) / usual.alone(net, group), 1.2);
}

TEST(Phenomena, TwoDevicesHaveFewerChannelsThanEight) {
  const Interconnect net = links_of("dgx-a100-80gb");
  const auto busbw = [&](int ranks) {
    return 2.0 * (ranks - 1) / ranks / us(net, CollectiveKind::all_reduce, 1_GiB, ranks);
  };
  EXPECT_LT(busbw(2), 0.9 * busbw(8));
}

TEST(Phenomena, FourDevicesOfASwitchGetARingsRate) {
  const Interconnect net = links_of("dgx-h100");
  EXPECT_EQ(cost(net, CollectiveKind::all_reduce, 1_GiB, {4, 4, 2}).algorithm, CollectiveAlgorithm::ring);
  EXPECT_EQ(cost(net, CollectiveKind::all_reduce, 1_GiB, {8, 8, 1}).algorithm, CollectiveAlgorithm::nvls);
}

TEST(Phenomena, OneMessageGetsLessOfANicBetweenManyNodes) {
  const Interconnect net = links_of("dgx-h100");
  const double few = us(net, CollectiveKind::send_recv, 1_GiB, 2, 1),
               many = us(net, CollectiveKind::send_recv, 1_GiB, 10, 1);
  EXPECT_NEAR(many / few, 42.0 / 25, 0.5);  // 40 to 46 against 25 GB/s (XR-H100)
}

TEST(Phenomena, ProtocolsChangeWithTheSizeFromQuickToWide) {
  const Interconnect net = links_of("dgx-a100-80gb");
  const GroupShape group{8, 8, 1};
  EXPECT_EQ(cost(net, CollectiveKind::all_reduce, 1_kB, group).protocol, CollectiveProtocol::ll);
  EXPECT_EQ(cost(net, CollectiveKind::all_reduce, 1_GiB, group).protocol, CollectiveProtocol::simple);
}

// Of five measured servers over PCIe one took up to ten times the predicted time.
TEST(Phenomena, DevicesThatMeetOverPcieAreKnownLittleOf) {
  const auto remarks = [](const char* node) {
    return calibration_remarks(machine_of(*catalog().find<Node>(node), catalog()), 1);
  };
  EXPECT_THAT(remarks("aws-g6e.48xlarge"), Contains(HasSubstr("Evidence is low")));
  EXPECT_THAT(remarks("dgx-h100"), Not(Contains(HasSubstr("Evidence"))));
  CollectiveMachine one = machine_of(*catalog().find<Node>("aws-g6e.48xlarge"), catalog());
  one.devices_per_node = 1;
  EXPECT_FALSE(over_host_links(one));
}

}  // namespace
}  // namespace stepcast::collective_phenomena_test
