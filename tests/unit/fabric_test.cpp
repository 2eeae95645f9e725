#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/fabric/metrics.hpp"
#include "models/fabric/placement.hpp"
#include "models/fabric/plan/clos.hpp"
#include "models/fabric/plan/custom.hpp"
#include "models/fabric/plan/torus.hpp"
#include "tests/unit/fabrics.hpp"

namespace stepcast::fabric_test {
namespace {

using test::catalog;
using test::fabric_of;
using test::plain_fabric;
using test::preset;
using test::switch_of;

int switches_of(const FabricInventory& inventory, const std::string& tier) {
  for (const SwitchTier& each : inventory.tiers)
    if (each.name == tier) return each.switches;
  return 0;
}

long cables_of(const FabricInventory& inventory, const std::string& between) {
  long out = 0;
  for (const CableRun& run : inventory.cables)
    if (run.name == between) out += run.cables;
  return out;
}

struct SuperPod {
  int units, leaves, spines, cores;
};

class SuperPodTest : public testing::TestWithParam<SuperPod> {};

// NVIDIA DGX SuperPOD reference architecture (B200), "Larger SuperPOD component counts": scalable units of 32 nodes of
// eight 400 Gb/s NICs, 64-port switches. One unit: the same for H100, table 4.
TEST_P(SuperPodTest, NeedsTheSwitchesAndCablesOfTheReferenceArchitecture) {
  const SuperPod& pod = GetParam();
  const Fabric fabric = fabric_of("dgx-h100", pod.units * 32, preset(FabricPreset::rail_optimized));
  const FabricInventory counted = inventory(fabric, catalog());
  EXPECT_EQ(switches_of(counted, "leaf"), pod.leaves);
  EXPECT_EQ(switches_of(counted, "spine"), pod.spines);
  EXPECT_EQ(switches_of(counted, "core"), pod.cores);
  EXPECT_EQ(cables_of(counted, "node to leaf"), pod.units * 256);
  EXPECT_EQ(cables_of(counted, "leaf to spine"), pod.units * 256);
  EXPECT_EQ(cables_of(counted, "spine to core"), pod.cores > 0 ? pod.units * 256 : 0);
  for (const SwitchTier& tier : counted.tiers) EXPECT_LE(tier.most_ports, 64) << tier.name;
}
INSTANTIATE_TEST_SUITE_P(Published, SuperPodTest,
                         testing::Values(SuperPod{1, 8, 4, 0}, SuperPod{2, 16, 8, 0}, SuperPod{3, 24, 16, 0},
                                         SuperPod{4, 32, 16, 0}, SuperPod{8, 64, 32, 0}, SuperPod{16, 128, 128, 64},
                                         SuperPod{32, 256, 256, 128}, SuperPod{64, 512, 512, 256}));

// At no oversubscription as many up-links as down-links in use suffice, however many ports the leaf has left.
TEST(RailOptimized, NodesThatFillNoLeafHaveUpLinksForThemselves) {
  for (const int nodes : {2, 4, 8, 31}) {
    const FabricInventory counted =
        inventory(fabric_of("dgx-h100", nodes, preset(FabricPreset::rail_optimized)), catalog());
    EXPECT_EQ(switches_of(counted, "leaf"), 8) << nodes;
    EXPECT_EQ(switches_of(counted, "spine"), (8 * nodes + 63) / 64) << nodes;
    EXPECT_EQ(cables_of(counted, "node to leaf"), 8 * nodes) << nodes;
    EXPECT_EQ(cables_of(counted, "leaf to spine"), 8 * nodes) << nodes;
  }
  FabricSpec halved = preset(FabricPreset::rail_optimized);
  halved.oversubscription = 2;
  EXPECT_EQ(cables_of(inventory(fabric_of("dgx-h100", 4, halved), catalog()), "leaf to spine"), 8 * 2);
}

// A leaf that waits for its last node is cabled as the others are, in cuts, tiers and parts alike.
TEST(FatTree, ALastLeafThatIsPartlyFilledHasTheUpLinksOfAFullOne) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.nodes_per_leaf = 2;
  spec.oversubscription = 4;
  const Fabric fabric = fabric_of("dgx-h100", 5, spec);
  EXPECT_EQ(cables_of(inventory(fabric, catalog()), "leaf to spine"), 3 * 4);
  ASSERT_EQ(fabric.levels().levels.size(), 1U);
  EXPECT_EQ(fabric.levels().levels[0].up, 4 * 400_Gbps);
  EXPECT_NEAR(cut_bandwidth(fabric, 4).in(1_Gbps), 4 * 400, 1);
}

void expect_same(const FabricInventory& tallied, const FabricInventory& counted) {
  ASSERT_EQ(tallied.tiers.size(), counted.tiers.size());
  for (std::size_t i = 0; i < counted.tiers.size(); ++i) {
    EXPECT_EQ(tallied.tiers[i].name, counted.tiers[i].name);
    EXPECT_EQ(tallied.tiers[i].switches, counted.tiers[i].switches);
    EXPECT_EQ(tallied.tiers[i].most_ports, counted.tiers[i].most_ports);
    EXPECT_EQ(tallied.tiers[i].parts, counted.tiers[i].parts);
  }
  ASSERT_EQ(tallied.cables.size(), counted.cables.size());
  for (std::size_t i = 0; i < counted.cables.size(); ++i) {
    EXPECT_EQ(tallied.cables[i].name, counted.cables[i].name);
    EXPECT_EQ(tallied.cables[i].cables, counted.cables[i].cables);
    EXPECT_EQ(tallied.cables[i].bandwidth, counted.cables[i].bandwidth);
  }
  EXPECT_EQ(tallied.ports, counted.ports);
  EXPECT_EQ(tallied.transceivers, counted.transceivers);
  EXPECT_EQ(tallied.power, counted.power);
  EXPECT_EQ(tallied.price, counted.price);
  EXPECT_EQ(tallied.unknown, counted.unknown);
}

TEST(FabricInventory, TalliedWithoutAGraphIsThatOfTheGraph) {
  const Catalog& catalog = test::catalog();
  const Node& node = *catalog.find<Node>("dgx-h100");
  const int nics = node.training_nics();
  const BytesPerSecond rate = node.training_bandwidth() / nics;
  for (const char* name : EnumNames<FabricPreset>::names) {
    FabricSpec spec = preset(*parse_enum<FabricPreset>(name));
    if (spec.preset == FabricPreset::custom) {
      spec.switches = {{"a"}, {"b"}};
      spec.cables = {{"node0", "a", rate, 1, {}}, {"node1", "b", rate, 1, {}}, {"a", "b", rate, 3, {}}};
    }
    for (const int nodes : {2, 48, 300}) {
      if (spec.preset == FabricPreset::custom && nodes > 2) continue;
      const bool torus = spec.preset == FabricPreset::torus_2d || spec.preset == FabricPreset::torus_3d;
      for (const bool wan : {false, true}) {
        spec.wan =
            wan && nodes > 2 && !torus ? std::optional(FabricSitesSpec{2, 100_Gbps, Seconds(0.005)}) : std::nullopt;
        SCOPED_TRACE(fmt::format("{}, {} nodes", name, nodes));
        Diagnostics diagnostics("test");
        const SwitchPart* part = network_switch(spec, NetworkKind::infiniband, rate, catalog, "", diagnostics);
        expect_same(
            fabric_inventory(spec, node, nodes, nics, rate, part, catalog),
            inventory(build_fabric(spec, node, nodes, nics, rate, part, catalog, FabricDetail::switches), catalog));
      }
    }
  }
}

TEST(NetworkSwitch, IsTheUsualOneOfTheNicsKindAndRate) {
  struct Usual {
    NetworkKind kind;
    double gigabits;
    const char* id;
  };
  for (const Usual& usual : {Usual{NetworkKind::infiniband, 40, "is5030"},
                             {NetworkKind::infiniband, 100, "sb7800"},
                             {NetworkKind::infiniband, 400, "qm9700"},
                             {NetworkKind::infiniband, 3200, "q3400"},
                             {NetworkKind::ethernet_tcp, 1, "sn2201"},
                             {NetworkKind::ethernet_tcp, 25, "sn4600c"},
                             {NetworkKind::ethernet_rdma, 200, "sn4600"},
                             {NetworkKind::efa, 400, "sn5400"},
                             {NetworkKind::ethernet_rdma, 1600, "tomahawk6-64x1600"},
                             {NetworkKind::slingshot, 100, "slingshot-rosetta"},
                             {NetworkKind::omni_path, 100, "opa-edge-48"}}) {
    Diagnostics diagnostics("test");
    const SwitchPart* part =
        network_switch(preset(FabricPreset::fat_tree), usual.kind, usual.gigabits * 1_Gbps, catalog(), "", diagnostics);
    ASSERT_NE(part, nullptr) << usual.id;
    EXPECT_EQ(part->id, usual.id);
  }
}

// Al-Fares et al. 2008: k-port switches, k pods, k³/4 hosts, 5k²/4 switches; three cables for each host; full
// bisection.
TEST(FatTree, OfThreeTiersHasTheCountsOfAKAryTree) {
  for (const int k : {4, 8}) {
    const SwitchPart part = switch_of(k);
    const int hosts = k * k * k / 4;
    const Fabric fabric = plain_fabric(hosts, part, preset(FabricPreset::fat_tree_3));
    const FabricInventory counted = inventory(fabric, catalog());
    EXPECT_EQ(counted.switches(), 5 * k * k / 4);
    EXPECT_EQ(switches_of(counted, "core"), k * k / 4);
    EXPECT_EQ(counted.all_cables(), 3L * hosts);
    EXPECT_NEAR(bisection_bandwidth(fabric).in(100_Gbps), hosts / 2, 1e-6);
    EXPECT_EQ(diameter(fabric).links, 6);
  }
}

// 42 of 64 ports to nodes: five of eight NICs. Their 40 down-links have twice the rate of the 20 up-links.
TEST(FatTree, OversubscribesLeavesAsAsked) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.oversubscription = 2;
  const Fabric fabric = fabric_of("dgx-h100", 60, spec);
  const FabricLevels& levels = fabric.levels();
  ASSERT_EQ(levels.levels.size(), 1U);
  EXPECT_EQ(levels.levels[0].nodes, 5);
  EXPECT_EQ(levels.levels[0].links, 20);
  EXPECT_NEAR(levels.levels[0].up.in(1_GBps), 5 * 8 * 50 / 2.0, 1e-9);
  EXPECT_NEAR(cut_bandwidth(fabric, 5).in(1_GBps), 1000, 1e-3);
  // Six of twelve leaves send what their up-links carry.
  EXPECT_NEAR(bisection_bandwidth(fabric).in(1_GBps), 6 * 1000, 1e-3);
}

TEST(FatTree, NeedsNoSpineWhereOneSwitchHasThePorts) {
  const Fabric fabric = fabric_of("dgx-h100", 8, preset(FabricPreset::fat_tree));
  EXPECT_TRUE(fabric.levels().levels.empty());
  EXPECT_EQ(inventory(fabric, catalog()).switches(), 1);
  EXPECT_EQ(diameter(fabric).links, 2);
}

// Cores with a seventh of the spines' rate, as in Llama 3's training cluster (Grattafiori et al. 2024, section 3.3.1).
TEST(FatTree, OversubscribesCoresAsAsked) {
  FabricSpec spec = preset(FabricPreset::fat_tree_3);
  spec.core_oversubscription = 7;
  const Fabric fabric = fabric_of("dgx-h100", 256, spec);
  const auto& levels = fabric.levels().levels;
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_NEAR(levels[0].up.in(1_GBps), levels[0].nodes * 400.0, 1e-6);
  EXPECT_EQ(levels[1].nodes, 128);
  EXPECT_NEAR(levels[1].up.in(1_GBps), 128 * 400 / 7.0, 1e-6);
  EXPECT_NEAR(bisection_bandwidth(fabric).in(1_GBps), 128 * 400 / 7.0, 0.01);
}

TEST(RailOnly, HasOneSwitchForEachRailAndNothingAbove) {
  const Fabric fabric = fabric_of("dgx-h100", 64, preset(FabricPreset::rail_only));
  const FabricInventory counted = inventory(fabric, catalog());
  EXPECT_EQ(switches_of(counted, "leaf"), 8);
  EXPECT_EQ(counted.switches(), 8);
  EXPECT_TRUE(fabric.rails_apart());
  EXPECT_EQ(diameter(fabric).links, 2);
}

// Kim et al. 2008, figure 5: p = h = 2, a = 4 makes 7-port routers, 9 groups and 72 terminals.
TEST(Dragonfly, OfSevenPortsJoins72Hosts) {
  const SwitchPart part = switch_of(7);
  const Fabric fabric = plain_fabric(72, part, preset(FabricPreset::dragonfly));
  const FabricInventory counted = inventory(fabric, catalog());
  EXPECT_EQ(counted.switches(), 36);
  EXPECT_EQ(counted.tiers.front().most_ports, 7);
  // Each of 9 groups has 4·3/2 cables inside; 9·8/2 cables join them.
  EXPECT_EQ(cables_of(counted, "leaf to leaf"), 9 * 6 + 36);
  EXPECT_EQ(diameter(fabric).links, 5);
  EXPECT_THROW(plain_fabric(73, part, preset(FabricPreset::dragonfly)), InputError);
}

// Two of those routers alone are joined by as many cables as hosts hang on each, or by half of them; faster NICs, of
// which a switch holds fewer, are no slower for it.
TEST(Dragonfly, RoutersOfASmallGroupShareTheirFreePorts) {
  const SwitchPart part = switch_of(7);
  FabricSpec spec = preset(FabricPreset::dragonfly);
  EXPECT_EQ(cables_of(inventory(plain_fabric(4, part, spec), catalog()), "leaf to leaf"), 2);
  spec.oversubscription = 2;
  EXPECT_EQ(cables_of(inventory(plain_fabric(4, part, spec), catalog()), "leaf to leaf"), 1);
  BytesPerSecond before;
  for (const double gbps : {100.0, 200.0, 400.0, 800.0}) {
    spec = preset(FabricPreset::dragonfly);
    spec.nic_bandwidth = gbps * 1_Gbps;
    const BytesPerSecond across = bisection_bandwidth(fabric_of("dgx-h100", 8, spec));
    EXPECT_GE(across, before) << gbps;
    before = across;
  }
}

// Eight of those groups: four on each side, one cable between every two.
TEST(Dragonfly, BisectionIsTheGlobalCablesBetweenHalves) {
  const SwitchPart part = switch_of(7);
  const Fabric fabric = plain_fabric(64, part, preset(FabricPreset::dragonfly));
  EXPECT_NEAR(bisection_bandwidth(fabric).in(100_Gbps), 16, 1e-6);
  EXPECT_NEAR(bisection_by_levels(FabricPreset::dragonfly, fabric.levels(), 64, 100_Gbps)->in(100_Gbps), 16, 1e-6);
}

// Shpiner et al. 2017: of k = 4 ports, two leaves of two hosts below two spines of two global ports; 2·2 + 1 groups.
TEST(DragonflyPlus, OfFourPortsJoinsTwentyHosts) {
  const SwitchPart part = switch_of(4);
  const Fabric fabric = plain_fabric(20, part, preset(FabricPreset::dragonfly_plus));
  const FabricInventory counted = inventory(fabric, catalog());
  EXPECT_EQ(switches_of(counted, "leaf"), 10);
  EXPECT_EQ(switches_of(counted, "spine"), 10);
  EXPECT_EQ(cables_of(counted, "leaf to spine"), 20);
  EXPECT_EQ(cables_of(counted, "spine to spine"), 10);
  for (const SwitchTier& tier : counted.tiers) EXPECT_EQ(tier.most_ports, 4) << tier.name;
  EXPECT_EQ(diameter(fabric).links, 5);
}

// TPU v4 pod: 4,096 chips as 16×16×16, links of 50 GB/s; two faces of 256 links cross the middle (Jouppi et al. 2023).
TEST(Torus, OfATpuV4PodIsSixteenCubed) {
  const Fabric fabric = fabric_of("tpu-v4-host", 1024, preset(FabricPreset::torus_3d));
  ASSERT_NE(fabric.torus(), nullptr);
  for (int axis = 0; axis < 3; ++axis) EXPECT_EQ(fabric.torus()->size(axis), 16);
  EXPECT_NEAR(fabric.torus()->link.in(1_GBps), 50, 1e-9);
  EXPECT_EQ(inventory(fabric, catalog()).all_cables(), 3L * 4096);
  EXPECT_NEAR(bisection_bandwidth(fabric).in(1_GBps), 2 * 256 * 50, 1e-3);
  EXPECT_EQ(diameter(fabric).links, 24);
}

// TPU v5e pod: 16×16 of hosts of 2×4 chips.
TEST(Torus, OfATpuV5ePodIsSixteenSquared) {
  const Fabric fabric = fabric_of("tpu-v5e-host", 32, preset(FabricPreset::torus_2d));
  EXPECT_EQ(fabric.torus()->size(0), 16);
  EXPECT_EQ(fabric.torus()->size(1), 16);
  EXPECT_EQ(fabric.torus()->block, (std::array{2, 4, 1}));
  EXPECT_NEAR(bisection_bandwidth(fabric).in(1_GBps), 2 * 16 * 50, 1e-3);
}

// Two along an axis have both links between them.
TEST(Torus, OfTwoByTwoJoinsNeighboursTwice) {
  const SwitchPart part = switch_of(4);
  const Fabric fabric = plain_fabric(4, part, preset(FabricPreset::torus_2d));
  EXPECT_EQ(inventory(fabric, catalog()).all_cables(), 8);
  for (int id = fabric.first_network_link(); id < fabric.link_count(); ++id)
    EXPECT_NEAR(fabric.link(id).bandwidth.in(1_Gbps), 50, 1e-9);
}

TEST(Torus, TakesTheDimensionsGiven) {
  FabricSpec spec = preset(FabricPreset::torus_3d);
  spec.dimensions = {4, 4, 8};
  const Fabric fabric = fabric_of("tpu-v4-host", 32, spec);
  EXPECT_EQ(fabric.torus()->size(2), 8);
  EXPECT_NEAR(bisection_bandwidth(fabric).in(1_GBps), 2 * 16 * 50, 1e-3);
}

TEST(Sites, ShareOneConnectionEach) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.wan = FabricSitesSpec{2, 100_Gbps, 10_ms};
  const Fabric fabric = fabric_of("dgx-h100", 16, spec);
  EXPECT_NEAR(bisection_bandwidth(fabric).in(100_Gbps), 1, 1e-6);
  EXPECT_GT(diameter(fabric).latency, 10_ms);
  EXPECT_LT(diameter(fabric).latency, 10.01_ms);
  ASSERT_EQ(fabric.levels().levels.size(), 1U);
  EXPECT_EQ(fabric.levels().levels[0].nodes, 8);
  EXPECT_EQ(fabric.levels().levels[0].hop, 10_ms);
}

TEST(CustomFabric, IsBuiltFromItsLists) {
  FabricSpec spec = preset(FabricPreset::custom);
  spec.switches = {{"left"}, {"right"}};
  spec.cables = {{"node0", "left", 100_Gbps, 1, std::nullopt},
                 {"node1", "left", 100_Gbps, 1, std::nullopt},
                 {"node2", "right", 100_Gbps, 1, std::nullopt},
                 {"node3:nic0", "right", 100_Gbps, 1, std::nullopt},
                 {"left", "right", 50_Gbps, 2, 3_us}};
  const SwitchPart part = switch_of(8);
  const Fabric fabric = plain_fabric(4, part, spec);
  EXPECT_NEAR(bisection_bandwidth(fabric).in(1_Gbps), 100, 1e-6);
  ASSERT_EQ(fabric.levels().levels.size(), 1U);
  EXPECT_EQ(fabric.levels().levels[0].nodes, 2);
  EXPECT_NEAR(fabric.levels().levels[0].up.in(1_Gbps), 100, 1e-9);
  EXPECT_EQ(diameter(fabric).links, 3);
  EXPECT_EQ(fabric.name(fabric.first_switch() + 1), "right");
}

// 5 ms instead of 49 ns at one end of a message, and two trunks of 3 µs and 1 µs after switches of their own.
TEST(CustomFabric, CountsWhatItsCablesTake) {
  FabricSpec spec = preset(FabricPreset::custom);
  spec.switches = {{"left"}, {"middle"}, {"right"}};
  spec.cables = {{"node0", "left", 100_Gbps, 1, 5_ms},
                 {"node1", "right", 100_Gbps, 1, std::nullopt},
                 {"left", "middle", 100_Gbps, 1, 3_us},
                 {"middle", "right", 100_Gbps, 1, 1_us}};
  const SwitchPart part = switch_of(8);
  const FabricLevels levels = fabric_levels(spec, 2, 1, 100_Gbps, &part);
  ASSERT_EQ(levels.levels.size(), 2U);
  EXPECT_EQ(levels.levels[0].nodes, 1);
  EXPECT_NEAR(levels.levels[0].hop.in(1_ms), 5, 1e-3);
  EXPECT_NEAR(diameter(plain_fabric(2, part, spec)).latency.in(1_ms), 5, 0.01);
  spec.cables[1].latency = 1_ms;
  EXPECT_NEAR(fabric_levels(spec, 2, 1, 100_Gbps, &part).levels[0].hop.in(1_ms), 6, 1e-3);
  const Seconds pass = SwitchFigures::of(&part, 100_Gbps).latency;
  EXPECT_NEAR(levels.levels[1].hop.in(1_us), 4 + 2 * pass.in(1_us), 1e-9);
  EXPECT_EQ(levels.together(), 1);
}

TEST(CustomFabric, NicsAreAsFastAsTheSlowestOfTheirCables) {
  FabricSpec spec = preset(FabricPreset::custom);
  spec.switches = {{"s"}};
  spec.cables = {{"node0", "s", 400_Gbps, 1, std::nullopt}, {"node1", "s", 50_Gbps, 2, std::nullopt}};
  EXPECT_NEAR(cabled_nic_rate(spec, 2, 8, 400_Gbps).in(1_Gbps), 100, 1e-9);
  spec.cables[1].count = 16;
  EXPECT_NEAR(cabled_nic_rate(spec, 2, 8, 400_Gbps).in(1_Gbps), 400, 1e-9);
  spec.preset = FabricPreset::fat_tree;
  EXPECT_NEAR(cabled_nic_rate(spec, 2, 8, 200_Gbps).in(1_Gbps), 200, 1e-9);
}

// Two nodes of eight NICs: blocks of 2 × 4 side by side, four links on each of the two faces between them.
TEST(Torus, ANodesFacesAreATier) {
  const FabricSpec spec = preset(FabricPreset::torus_2d);
  const FabricLevels levels = fabric_levels(spec, 2, 8, 400_Gbps, nullptr);
  ASSERT_EQ(levels.levels.size(), 1U);
  EXPECT_EQ(levels.levels[0].nodes, 1);
  EXPECT_EQ(levels.levels[0].links, 8);
  EXPECT_NEAR(levels.levels[0].up.in(1_Gbps), 800, 1e-9);
  EXPECT_NEAR(levels.message.in(1_Gbps), 100, 1e-9);
}

/// What an exchange of all pairs gets of a node's links, by the level that leaves least: bytes that every node sends to
/// the others together, over a second.
BytesPerSecond all_pairs(const FabricLevels& levels, int nodes) {
  BytesPerSecond least{1e18};
  for (const FabricLevel& level : levels.levels) {
    const double load = static_cast<double>(level.nodes) * (nodes - level.nodes) / (nodes - 1);
    least = std::min(least, level.up / load);
  }
  return least;
}

// A message passes avg = Σmin(i, k − i)/k links of an axis of k, and a router has two links there: S·avg/2 over a link.
// Three axes, halves and sites: five tiers.
TEST(Torus, MaySpanSites) {
  FabricSpec spec;
  spec.preset = FabricPreset::torus_3d;
  spec.wan = FabricSitesSpec{2, 100_Gbps, 10_ms};
  EXPECT_EQ(fabric_levels(spec, 16, 8, 400_Gbps, nullptr).levels.size(), 5U);
}

TEST(Torus, AnExchangeOfAllPairsIsHeldUpByItsLongestAxis) {
  for (const std::vector<int>& dimensions : std::vector<std::vector<int>>{
           {1, 7}, {7, 7}, {15, 15}, {5, 7}, {4, 4}, {8, 2}, {9, 2}, {3, 3, 5}, {7, 7, 7}, {8, 1, 2}}) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(dimensions, " x ")));
    FabricSpec spec = preset(dimensions.size() == 2 ? FabricPreset::torus_2d : FabricPreset::torus_3d);
    spec.dimensions = dimensions;
    double nodes = 1, farthest = 0;
    for (const int k : dimensions) {
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += std::min(i, k - i);
      farthest = std::max(farthest, sum / k);
      nodes *= k;
    }
    const BytesPerSecond link = 100_GBps / (2.0 * static_cast<double>(dimensions.size()));
    const FabricLevels levels = fabric_levels(spec, static_cast<int>(nodes), 1, 100_GBps, nullptr);
    EXPECT_NEAR(all_pairs(levels, static_cast<int>(nodes)).in(1_GBps),
                (2 * link / farthest * (nodes - 1) / nodes).in(1_GBps), 1e-9);
  }
}

// Hosts of 2×2 chips, 5×5 of them: the middle of an axis of ten goes through a host, so the nearest whole hosts count.
TEST(Torus, TheMiddleOfAnAxisMayGoThroughAHost) {
  FabricSpec spec = preset(FabricPreset::torus_2d);
  const FabricLevels levels = fabric_levels(spec, 25, 4, 100_GBps, nullptr);
  EXPECT_EQ(levels.levels.back().links, 20);
  EXPECT_NEAR(levels.levels.back().nodes, 12.5, 0.5);
}

/// A square of v5e hosts, whose axes wrap around from 16 chips on.
Fabric v5e_slice(int hosts) {
  FabricSpec spec = preset(FabricPreset::torus_2d);
  take_wraps(spec, test::catalog().find<Accelerator>("tpu-v5e"));
  return fabric_of("tpu-v5e-host", hosts, spec);
}

// 8 × 8 chips: eight links of 50 GB/s between two halves, fourteen from corner to corner; the pod of 16 × 16 wraps.
TEST(Torus, AnAxisThatDoesNotWrapIsOpen) {
  const Fabric open = v5e_slice(8);
  EXPECT_THAT(open.torus()->open_axes(), testing::ElementsAre(8, 8));
  EXPECT_EQ(open.torus()->fewest_links(), 2);
  EXPECT_NEAR(bisection_bandwidth(open).in(1_GBps), 8 * 50, 1e-6);
  EXPECT_NEAR(bisection_by_levels(FabricPreset::torus_2d, open.levels(), 8, 1600_GBps)->in(1_GBps), 8 * 50, 1e-6);
  EXPECT_EQ(diameter(open).links, 14);
  const Fabric pod = v5e_slice(32);
  EXPECT_TRUE(pod.torus()->open_axes().empty());
  EXPECT_EQ(pod.torus()->fewest_links(), 4);
  EXPECT_EQ(diameter(pod).links, 16);
}

// The tiers of the first nodes, which lie in a corner, are the cuts of the graph.
TEST(Torus, TiersOfOpenAxesAreCuts) {
  for (const int hosts : {2, 4, 8, 16, 32}) {
    const Fabric fabric = v5e_slice(hosts);
    for (const FabricLevel& level : fabric.levels().levels)
      EXPECT_NEAR(level.up.in(1_GBps), cut_bandwidth(fabric, level.nodes).in(1_GBps), 1e-3)
          << hosts << " hosts, " << level.nodes << " together";
  }
}

// 864 hosts of 2×2×1 could be 12×16×18, of which 18 is no multiple of four.
TEST(Torus, OfWholeCubesGoesBeforeAnEvenerOne) {
  FabricSpec spec = preset(FabricPreset::torus_3d);
  spec.wrap_multiple = 4;
  const TorusPlan plan = torus_plan(spec, 864, 4, 1_GBps);
  EXPECT_TRUE(plan.open_axes().empty());
  EXPECT_EQ(std::max({plan.size(0), plan.size(1), plan.size(2)}), 24);
}

TEST(Torus, OfChipsIsWhatTheirHostsFormWhereNobodyStatesAPreset) {
  const auto usual = [](const char* id, std::optional<NetworkKind> network = std::nullopt) {
    return usual_preset(*test::catalog().find<Node>(id), network);
  };
  EXPECT_EQ(usual("tpu-v5e-host"), FabricPreset::torus_2d);
  EXPECT_EQ(usual("tpu-v5p-host"), FabricPreset::torus_3d);
  EXPECT_EQ(usual("tpu-v5p-host", NetworkKind::ethernet_tcp), FabricPreset::fat_tree);
  EXPECT_EQ(usual("dgx-h100"), FabricPreset::fat_tree);
}

// NICs of one node are no ends of a message: the slow cable of their node counts once.
TEST(Diameter, IsThatBetweenTwoNodes) {
  FabricSpec spec = preset(FabricPreset::custom);
  spec.switches = {{"s"}};
  spec.cables = {{"node0", "s", 400_Gbps, 1, 100_us}, {"node1", "s", 400_Gbps, 1, std::nullopt}};
  const FabricDiameter farthest = diameter(fabric_of("dgx-h100", 2, spec));
  EXPECT_EQ(farthest.links, 2);
  EXPECT_NEAR(farthest.latency.in(1_us), 101, 0.9);
}

TEST(FabricSize, IsRefusedBeforeItIsBuilt) {
  EXPECT_THROW(fabric_of("dgx-h100", 1'000'000, preset(FabricPreset::rail_optimized)), InputError);
}

TEST(Placement, ScatteredDealsNeighboursToDifferentLeaves) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.nodes_per_leaf = 4;
  spec.placement = FabricPlacement::scattered;
  const Fabric fabric = fabric_of("dgx-h100", 16, spec);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(fabric.node_of(i), 4 * i);
  EXPECT_EQ(fabric.node_of(4), 1);
  EXPECT_EQ(place_nodes(spec, fabric.levels(), 16),
            (std::vector<int>{0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15}));
}

TEST(Placement, FollowsTheOrderGiven) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.node_order = {2, 0, 1};
  const Fabric fabric = fabric_of("dgx-h100", 3, spec);
  EXPECT_EQ(fabric.graph()[fabric.device(0)].node, 2);
  EXPECT_EQ(fabric.graph()[fabric.device(9)].node, 0);
  EXPECT_EQ(fabric.graph()[fabric.device(9)].index, 1);
}

// 400 Gb/s switches at $40,000 and 747 W and transceivers at $700 and 9 W, as the catalogue has them.
TEST(Inventory, AddsUpPowerAndPrice) {
  const FabricInventory counted = inventory(fabric_of("dgx-h100", 32, preset(FabricPreset::rail_optimized)), catalog());
  EXPECT_EQ(counted.ports, 256 + 2 * 256);
  EXPECT_EQ(counted.transceivers, 2 * 512);
  ASSERT_TRUE(counted.power && counted.price);
  EXPECT_NEAR(counted.power->value(), 12 * 747 + 1024 * 9, 1e-6);
  EXPECT_NEAR(counted.price->value(), 12 * 40000 + 1024 * 700, 1e-6);
}

}  // namespace
}  // namespace stepcast::fabric_test
