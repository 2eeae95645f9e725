#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/fabric/check.hpp"
#include "models/fabric/findings.hpp"
#include "tests/unit/fabrics.hpp"

namespace stepcast::fabric_check_test {
namespace {

using test::catalog;
using test::fabric_of;
using test::preset;
using test::switch_of;
using testing::ElementsAre;
using testing::HasSubstr;

/// Faults of a fabric of so many hosts, each of one NIC unless told, as `pointer: message; suggestion`.
std::vector<std::string> faults(const FabricSpec& spec, int nodes, int nics = 1) {
  Diagnostics diagnostics("");
  const SwitchPart part = switch_of(64);
  check_fabric(spec, nodes, nics, 100_Gbps, &part, "/cluster/fabric", diagnostics);
  std::vector<std::string> out;
  for (const Fault& fault : diagnostics.faults())
    out.push_back(fault.pointer + ": " + fault.message + "; " + fault.suggestion);
  return out;
}

FabricSpec custom() {
  FabricSpec spec = preset(FabricPreset::custom);
  spec.switches = {{"leaf1"}, {"leaf2"}};
  spec.cables = {{"node0", "leaf1", 100_Gbps, 1, std::nullopt},
                 {"node1", "leaf2", 100_Gbps, 1, std::nullopt},
                 {"leaf1", "leaf2", 100_Gbps, 1, std::nullopt}};
  return spec;
}

TEST(FabricCheck, AcceptsEveryPresetByItself) {
  for (std::size_t i = 0; i < EnumNames<FabricPreset>::names.size(); ++i) {
    const auto each = static_cast<FabricPreset>(i);
    if (each == FabricPreset::custom) continue;
    EXPECT_THAT(faults(preset(each), 48, 8), ElementsAre()) << name_of(each);
  }
  EXPECT_THAT(faults(custom(), 2), ElementsAre());
}

TEST(FabricCheck, SaysWhichKeysAPresetDoesNotHave) {
  FabricSpec spec = preset(FabricPreset::single_switch);
  spec.oversubscription = 2;
  spec.nodes_per_leaf = 4;
  spec.switches = {{"a"}};
  spec.dimensions = {2, 2};
  EXPECT_THAT(faults(spec, 4),
              ElementsAre(HasSubstr("/cluster/fabric/oversubscription: found 2, but a single switch has no up-links"),
                          HasSubstr("/cluster/fabric/nodes_per_leaf"), HasSubstr("/cluster/fabric/dimensions"),
                          HasSubstr("/cluster/fabric/switches")));
}

TEST(FabricCheck, SuggestsDimensionsThatHoldTheNics) {
  FabricSpec spec = preset(FabricPreset::torus_3d);
  spec.dimensions = {4, 4, 4};
  EXPECT_THAT(faults(spec, 32, 4),
              ElementsAre(AllOf(HasSubstr("/dimensions: 4 × 4 × 4 = 64, expected 32 nodes × 4 NICs = 128"),
                                HasSubstr("4 × 4 × 8 fits"))));
  spec.dimensions = {128, 1, 1};
  EXPECT_THAT(faults(spec, 32, 4), ElementsAre(HasSubstr("/dimensions/1: found 1, expected a multiple of 2")));
  spec.dimensions = {16, 8};
  EXPECT_THAT(faults(spec, 32, 4), ElementsAre(HasSubstr("found 2 of them, expected 3")));
}

// 64 ports: 16 to NICs, 31 to the group, 16 to other groups: 513 groups of 512 hosts.
TEST(FabricCheck, SaysHowManyNodesADragonflyHolds) {
  const auto found = faults(preset(FabricPreset::dragonfly), 513 * 512 + 1);
  EXPECT_THAT(found, ElementsAre(AllOf(HasSubstr("need 514 groups"), HasSubstr("at most 262656 nodes"))));
}

TEST(FabricCheck, WantsEveryNodeOnceInTheOrder) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.node_order = {0, 1};
  EXPECT_THAT(faults(spec, 3), ElementsAre(HasSubstr("found 2 entries, expected one for each of 3 nodes")));
  spec.node_order = {0, 3, 1};
  EXPECT_THAT(faults(spec, 3), ElementsAre(HasSubstr("/node_order/1: found 3, expected at most 2")));
  spec.node_order = {0, 1, 0};
  EXPECT_THAT(faults(spec, 3), ElementsAre(HasSubstr("/node_order/2: node 0 is already taken by entry 0")));
}

TEST(FabricCheck, RefusesMoreSitesThanNodes) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.wan = FabricSitesSpec{4, 100_Gbps, 1_ms};
  EXPECT_THAT(faults(spec, 3), ElementsAre(HasSubstr("/wan/sites: found 4, but there are only 3 nodes")));
}

TEST(FabricCheck, RefusesASwitchWithSlowerPorts) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.switch_id = "test-switch";
  Diagnostics diagnostics("");
  const SwitchPart part = switch_of(64);
  check_fabric(spec, 8, 1, 400_Gbps, &part, "", diagnostics);
  ASSERT_EQ(diagnostics.faults().size(), 1U);
  EXPECT_THAT(diagnostics.faults()[0].message, HasSubstr("its ports have 100 Gb/s, less than the NICs' 400"));
}

TEST(CustomFabric, NamesTheNearestSwitch) {
  FabricSpec spec = custom();
  spec.cables[2].to = "leaf3";
  EXPECT_THAT(faults(spec, 2),
              ElementsAre(AllOf(HasSubstr("/cables/2/to: no switch \"leaf3\" is listed"), HasSubstr("did you mean"))));
}

TEST(CustomFabric, FindsDoubleNamesMissingNodesAndLoops) {
  FabricSpec spec = custom();
  spec.switches[1].name = "leaf1";
  spec.cables[1] = {"node2", "leaf1", 100_Gbps, 1, std::nullopt};
  spec.cables[2] = {"leaf1", "leaf1", 100_Gbps, 1, std::nullopt};
  EXPECT_THAT(faults(spec, 2), ElementsAre(HasSubstr("\"leaf1\" is already the name of switch 0"),
                                           HasSubstr("found \"node2\", but there are 2 nodes"),
                                           HasSubstr("it leads from \"leaf1\" to itself")));
  spec = custom();
  spec.cables[0].from = "node0:nic1";
  EXPECT_THAT(faults(spec, 2), ElementsAre(HasSubstr("found \"node0:nic1\", but a node has 1 NICs")));
}

TEST(CustomFabric, FindsNicsAndSwitchesWithoutACable) {
  FabricSpec spec = custom();
  spec.cables[0].from = "node0:nic0";
  spec.switches.push_back({"spare"});
  EXPECT_THAT(faults(spec, 2, 2),
              ElementsAre(HasSubstr("/cluster/fabric/cables: node0:nic1 has none: 1 of the node's 2 NICs are cabled"),
                          HasSubstr("/cluster/fabric/switches/2: no cable leads to \"spare\"")));
}

TEST(CustomFabric, FindsNodesThatNothingJoins) {
  FabricSpec spec = custom();
  spec.cables.pop_back();
  EXPECT_THAT(faults(spec, 2), ElementsAre(HasSubstr("/cables: no way leads from node0 to node1")));
  spec.cables.clear();
  EXPECT_THAT(faults(spec, 2), ElementsAre(HasSubstr("/cables: missing")));
}

std::vector<FabricFinding> findings(const std::string& node, int nodes, const FabricSpec& spec) {
  const Fabric fabric = fabric_of(node, nodes, spec);
  const Node& part = *catalog().find<Node>(node);
  return find_in_fabric(fabric, inventory(fabric, catalog()), part.nics.front().kind, part.training_nics(),
                        part.training_bandwidth() / part.training_nics());
}

TEST(FabricFindings, AreNoneForAReferenceArchitecture) {
  EXPECT_TRUE(findings("dgx-h100", 128, preset(FabricPreset::rail_optimized)).empty());
}

TEST(FabricFindings, NameASwitchThatHasTooFewPorts) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.switch_id = "qm9700";
  spec.nodes_per_leaf = 8;
  const auto found = findings("dgx-h100", 16, spec);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].fault);
  EXPECT_THAT(found[0].message, HasSubstr("a leaf switch needs 128 ports of 400 Gb/s, but qm9700 has 64"));
}

TEST(FabricFindings, SayThatOversubscriptionNeedsUpLinks) {
  FabricSpec spec = preset(FabricPreset::fat_tree);
  spec.oversubscription = 4;
  const auto found = findings("dgx-h100", 2, spec);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].fault);
  EXPECT_THAT(found[0].message, HasSubstr("oversubscription 4 has no effect"));
}

TEST(FabricFindings, SayThatChipLinksFormATorus) {
  const auto found = findings("tpu-v4-host", 16, preset(FabricPreset::fat_tree));
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found.back().message, HasSubstr("torus"));
}

}  // namespace
}  // namespace stepcast::fabric_check_test
