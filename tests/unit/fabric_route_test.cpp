#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "models/fabric/router.hpp"
#include "tests/unit/fabrics.hpp"

namespace stepcast::fabric_route_test {
namespace {

using test::fabric_of;
using test::plain_fabric;
using test::preset;
using test::switch_of;

/// Kinds of the vertices that a route enters, by name: "NVSwitch", "device" and so on.
std::vector<std::string> way(const Fabric& fabric, int from, int to, FabricRouting routing = FabricRouting::adaptive) {
  Router router(fabric, routing);
  std::vector<int> route;
  router.route(from, to, 0, route);
  std::vector<std::string> out;
  for (const int link : route) out.push_back(fabric.name(fabric.target(link)));
  return out;
}

BytesPerSecond narrowest(const Fabric& fabric, int from, int to) {
  Router router(fabric, FabricRouting::adaptive);
  std::vector<int> route;
  router.route(from, to, 0, route);
  BytesPerSecond out(1e300);
  for (const int link : route) out = std::min(out, fabric.link(link).bandwidth);
  return out;
}

using Names = std::vector<std::string>;

// The hybrid cube mesh: 0 and 3 have two links of 25 GB/s; 0 and 7 none, and over 4 both steps have two links where
// over 3 the second has one; 0 and 5 meet over 1 or 4, one link wide either way.
TEST(DgxOne, CrossesTheCubeMeshByItsWidestShortWay) {
  const Fabric fabric = fabric_of("dgx-1-v100-16gb", 1, preset(FabricPreset::fat_tree));
  EXPECT_EQ(way(fabric, 0, 3), Names{"node 0 device 3"});
  EXPECT_NEAR(narrowest(fabric, 0, 3).in(1_GBps), 50, 1e-9);
  EXPECT_EQ(way(fabric, 0, 7), (Names{"node 0 device 4", "node 0 device 7"}));
  EXPECT_NEAR(narrowest(fabric, 0, 7).in(1_GBps), 50, 1e-9);
  EXPECT_EQ(way(fabric, 0, 5).size(), 2U);
  EXPECT_NEAR(narrowest(fabric, 0, 5).in(1_GBps), 25, 1e-9);
}

// Two devices and one NIC hang on each of four PCIe switches.
TEST(DgxOne, ReachesTheNetworkByTheNicOfItsPcieSwitch) {
  const Fabric fabric = fabric_of("dgx-1-v100-16gb", 2, preset(FabricPreset::fat_tree));
  for (int device = 0; device < 8; ++device) {
    const Names passed = way(fabric, device, 8);
    EXPECT_EQ(passed[0], fmt::format("node 0 PCIe switch {}", device / 2));
    EXPECT_EQ(passed[1], fmt::format("node 0 NIC {}", device / 2));
    EXPECT_EQ(passed[2], "switch 0");
    EXPECT_EQ(passed.back(), "node 1 device 0");
  }
}

TEST(NvSwitch, JoinsEveryTwoDevicesAtTheirWholeRate) {
  const Fabric fabric = fabric_of("dgx-h100", 1, preset(FabricPreset::fat_tree));
  EXPECT_EQ(way(fabric, 0, 7), (Names{"node 0 NVSwitch 0", "node 0 device 7"}));
  EXPECT_NEAR(narrowest(fabric, 0, 7).in(1_GBps), 18 * 25, 1e-9);
  const Fabric rack = fabric_of("gb200-nvl72", 1, preset(FabricPreset::fat_tree));
  EXPECT_NEAR(narrowest(rack, 0, 71).in(1_GBps), 18 * 50, 1e-9);
}

TEST(Mesh, OfEightHasALinkForEveryPair) {
  const Fabric fabric = fabric_of("mi300x-platform-8", 1, preset(FabricPreset::fat_tree));
  for (int to = 1; to < 8; ++to) EXPECT_EQ(way(fabric, 0, to).size(), 1U);
  EXPECT_NEAR(narrowest(fabric, 0, 7).in(1_GBps), 64, 1e-9);
}

// The bridge of two H100 NVL has twelve links of 25 GB/s, GH200 NVL2 has eighteen, as the closed form takes them.
TEST(Pair, IsJoinedByAllItsLinks) {
  for (const auto& [id, rate] : {std::pair("azure-nc80adis-h100-v5", 300.0), std::pair("gh200-nvl2-144gb", 450.0)}) {
    const Fabric fabric = fabric_of(id, 1, preset(FabricPreset::fat_tree));
    EXPECT_EQ(way(fabric, 0, 1), Names{"node 0 device 1"}) << id;
    EXPECT_NEAR(narrowest(fabric, 0, 1).in(1_GBps), rate, 1e-9) << id;
  }
}

// Two sockets with two devices each; the NIC hangs on the first.
TEST(PcieServer, CrossesTheSocketLinkOnlyBetweenSockets) {
  const Fabric fabric = fabric_of("server-2x7763-4xa100-pcie-40", 2, preset(FabricPreset::fat_tree));
  EXPECT_EQ(way(fabric, 0, 1), (Names{"node 0 socket 0", "node 0 device 1"}));
  EXPECT_EQ(way(fabric, 0, 3), (Names{"node 0 socket 0", "node 0 socket 1", "node 0 device 3"}));
  EXPECT_EQ(way(fabric, 3, 4), (Names{"node 0 socket 1", "node 0 socket 0", "node 0 NIC 0", "switch 0", "node 1 NIC 0",
                                      "node 1 socket 0", "node 1 device 0"}));
}

TEST(CpuServer, SendsFromItsSocket) {
  const Fabric fabric = fabric_of("rental-i9-13900-128gb", 2, preset(FabricPreset::single_switch));
  EXPECT_EQ(way(fabric, 0, 1).front(), "node 0 socket 0");
}

// NCCL's PXN: first over NVLink to the device of the receiver's rail, then by that rail's NIC and leaf.
TEST(Rails, ReachAnotherRailThroughTheDeviceThatHasIt) {
  const Fabric fabric = fabric_of("dgx-h100", 4, preset(FabricPreset::rail_optimized), FabricDetail::tiers);
  const Names passed = way(fabric, 0, 8 + 5);
  EXPECT_EQ(passed[0], "node 0 NVSwitch 0");
  EXPECT_EQ(passed[1], "node 0 device 5");
  EXPECT_NE(std::find(passed.begin(), passed.end(), "leaf 5"), passed.end());
  EXPECT_EQ(std::count_if(passed.begin(), passed.end(), [](const auto& name) { return name.starts_with("spine"); }), 0);
}

TEST(Rails, WithoutPxnCrossTheSpine) {
  FabricSpec spec = preset(FabricPreset::rail_optimized);
  spec.pxn = false;
  const Fabric fabric = fabric_of("dgx-h100", 4, spec, FabricDetail::tiers);
  const Names passed = way(fabric, 0, 8 + 5);
  EXPECT_EQ(passed, (Names{"node 0 PCIe switch 0", "node 0 NIC 0", "leaf 0", "spine 0", "leaf 5", "node 1 NIC 5",
                           "node 1 PCIe switch 2", "node 1 device 5"}));
}

// No switch joins two rails, so the message must leave by the receiver's.
TEST(Rails, ThatNoSwitchJoinsAreReachedInsideTheNode) {
  FabricSpec spec = preset(FabricPreset::rail_only);
  spec.pxn = false;
  const Fabric fabric = fabric_of("dgx-h100", 4, spec);
  const Names passed = way(fabric, 0, 8 + 5);
  EXPECT_NE(std::find(passed.begin(), passed.end(), "leaf 5"), passed.end());
  EXPECT_EQ(std::find(passed.begin(), passed.end(), "leaf 0"), passed.end());
}

// Chip to chip, x first: three steps along the first axis, the shorter way round.
TEST(Torus, IsCrossedAxisByAxisTheShorterWayRound) {
  FabricSpec spec = preset(FabricPreset::torus_2d);
  const SwitchPart part = switch_of(4);
  const Fabric fabric = plain_fabric(64, part, spec);  // 8 × 8
  Router router(fabric, FabricRouting::ecmp);
  std::vector<int> route;
  router.route(0, 8 * 2 + 5, 0, route);  // (0, 0) to (5, 2)
  const auto trunks =
      std::count_if(route.begin(), route.end(), [&](int id) { return fabric.link(id).kind == FabricLinkKind::trunk; });
  EXPECT_EQ(trunks, 3 + 2);
}

// Where no link joins the ends of an axis, seven steps stay seven.
TEST(Torus, AnOpenAxisIsCrossedTheOneWay) {
  FabricSpec spec = preset(FabricPreset::torus_2d);
  spec.wrap_multiple = 16;
  const SwitchPart part = switch_of(4);
  const Fabric fabric = plain_fabric(64, part, spec);  // 8 × 8
  Router router(fabric, FabricRouting::ecmp);
  for (const auto& [from, to] : {std::pair{0, 7}, std::pair{7, 0}, std::pair{0, 56}}) {
    std::vector<int> route;
    router.route(from, to, 0, route);
    EXPECT_EQ(std::count_if(route.begin(), route.end(),
                            [&](int id) { return fabric.link(id).kind == FabricLinkKind::trunk; }),
              7);
  }
}

TEST(Torus, JoinsTheChipsOfAHostToo) {
  const Fabric fabric = fabric_of("tpu-v4-host", 16, preset(FabricPreset::torus_3d));
  EXPECT_EQ(way(fabric, 0, 1), (Names{"node 0 NIC 0", "node 0 NIC 1", "node 0 device 1"}));
}

/// Every device sends to the one as far on as given; with 32 NICs below each of the leaves' 32 up-links.
LinkLoads shifted(const Fabric& fabric, int shift, FabricRouting routing, std::uint64_t seed) {
  Router router(fabric, routing, seed);
  std::vector<FlowEnds> flows;
  for (int device = 0; device < fabric.devices(); ++device)
    flows.push_back({device, (device + shift) % fabric.devices(), 0});
  return count_link_loads(fabric, router, flows);
}

int trunk_flows(const Fabric& fabric, const LinkLoads& loads) {
  int out = 0;
  for (int id = 0; id < fabric.link_count(); ++id)
    if (fabric.link(id).kind == FabricLinkKind::trunk) out += loads.flows[static_cast<std::size_t>(id)];
  return out;
}

// 128 flows to the next leaf: each crosses one cable up and one down. Hashed, some cables get several and others none;
// with 32 flows on 32 cables the fullest has at least two all but surely, and hardly ever more than six.
TEST(Ecmp, CollidesWhereAdaptiveRoutingDoesNot) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.routing = FabricRouting::ecmp;
  const Fabric hashed = fabric_of("dgx-h100", 16, spec, FabricDetail::cables);
  const LinkLoads loads = shifted(hashed, 32, FabricRouting::ecmp, 1);
  EXPECT_EQ(trunk_flows(hashed, loads), 2 * 128);
  ASSERT_GE(loads.worst_link, 0);
  EXPECT_EQ(hashed.link(loads.worst_link).kind, FabricLinkKind::trunk);
  const int fullest = loads.flows[static_cast<std::size_t>(loads.worst_link)];
  EXPECT_GE(fullest, 2);
  EXPECT_LE(fullest, 6);
  EXPECT_NEAR(loads.worst, fullest / 50e9, 1e-18);

  const Fabric spread = fabric_of("dgx-h100", 16, preset(FabricPreset::fat_tree), FabricDetail::tiers);
  const LinkLoads even = shifted(spread, 32, FabricRouting::adaptive, 1);
  EXPECT_NEAR(even.worst, 1 / 50e9, 1e-18);
}

TEST(Ecmp, DependsOnItsSeedAlone) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  const Fabric fabric = fabric_of("dgx-h100", 16, spec, FabricDetail::cables);
  EXPECT_EQ(shifted(fabric, 32, FabricRouting::ecmp, 7).flows, shifted(fabric, 32, FabricRouting::ecmp, 7).flows);
  EXPECT_NE(shifted(fabric, 32, FabricRouting::ecmp, 7).flows, shifted(fabric, 32, FabricRouting::ecmp, 8).flows);
}

TEST(FailedLink, IsAvoidedUntilNoWayIsLeft) {
  const SwitchPart part = switch_of(4);
  const Fabric fabric = plain_fabric(4, part, [] {
    FabricSpec spec = preset(FabricPreset::fat_tree);
    spec.nodes_per_leaf = 2;
    return spec;
  }());
  Router router(fabric, FabricRouting::adaptive);
  std::vector<int> before, after;
  router.route(0, 3, 0, before);
  ASSERT_EQ(before.size(), 8U);  // socket, NIC, leaf, spine, leaf, NIC, socket, device
  for (const int link : before)
    if (fabric.link(link).kind == FabricLinkKind::trunk) {
      router.fail(link);
      break;
    }
  // Both cables of a leaf lead to one spine here, as one link of two cables; the way back is another link.
  EXPECT_THROW(router.route(0, 3, 0, after), InputError);
  router.route(3, 0, 0, after);
  EXPECT_EQ(after.size(), 8U);
}

TEST(FailedLink, LeavesTheOtherSpines) {
  const Fabric fabric = fabric_of("dgx-h100", 16, preset(FabricPreset::fat_tree));
  Router router(fabric, FabricRouting::adaptive);
  std::vector<int> before, after;
  router.route(0, 127, 0, before);
  const auto trunk =
      std::find_if(before.begin(), before.end(), [&](int id) { return fabric.link(id).kind == FabricLinkKind::trunk; });
  ASSERT_NE(trunk, before.end());
  router.fail(*trunk);
  router.route(0, 127, 0, after);
  EXPECT_EQ(after.size(), before.size());
  EXPECT_EQ(std::find(after.begin(), after.end(), *trunk), after.end());
}

}  // namespace
}  // namespace stepcast::fabric_route_test
