#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "models/fabric/check.hpp"
#include "models/fabric/metrics.hpp"
#include "models/fabric/router.hpp"
#include "tests/unit/fabrics.hpp"

namespace stepcast::fabric_property_test {
namespace {

using test::catalog;
using test::switch_of;

struct Case {
  FabricSpec spec;
  SwitchPart part;
  Node node;
  int nodes = 2, nics = 1;

  [[nodiscard]] Fabric build(FabricDetail detail) const {
    return build_fabric(spec, node, nodes, nics, 100_Gbps, &part, catalog(), detail);
  }
  [[nodiscard]] BytesPerSecond node_network() const { return 100_Gbps * nics; }
};

bool is_clos(FabricPreset preset) { return preset <= FabricPreset::rail_only; }

/// Small nodes behind a native switch on small switches, so that every tier is needed.
Case any_case(bool clos) {
  Case c;
  c.spec.preset = static_cast<FabricPreset>(
      *rc::gen::inRange(0, static_cast<int>(clos ? FabricPreset::dragonfly : FabricPreset::custom)));
  c.part = switch_of(*rc::gen::inRange(4, 24));
  c.nics = 1 << *rc::gen::inRange(0, 3);
  c.node = test::plain_host();
  c.node.accelerator_count = 1 << *rc::gen::inRange(0, 3);
  c.node.interconnect.kind = NodeTopology::nvswitch;
  c.node.interconnect.per_link = 25_GBps;
  c.node.interconnect.links_per_accelerator = 6;
  c.nodes = *rc::gen::inRange(2, 40);
  const bool cores = is_clos(c.spec.preset) && c.spec.preset != FabricPreset::single_switch;
  if (cores) c.spec.oversubscription = *rc::gen::inRange(1, 4);
  if (cores) c.spec.core_oversubscription = *rc::gen::inRange(1, 3);
  if (cores && *rc::gen::arbitrary<bool>()) c.spec.nodes_per_leaf = *rc::gen::inRange(1, 6);
  Diagnostics diagnostics("");
  check_fabric(c.spec, c.nodes, c.nics, 100_Gbps, &c.part, "", diagnostics);
  RC_PRE(diagnostics.ok());
  return c;
}

FabricDetail any_detail() { return static_cast<FabricDetail>(*rc::gen::inRange(0, 3)); }

std::vector<int> route_of(const Fabric& fabric, int from, int to) {
  const auto routing = *rc::gen::arbitrary<bool>() ? FabricRouting::ecmp : FabricRouting::adaptive;
  Router router(fabric, routing, *rc::gen::inRange<std::uint64_t>(0, 100));
  std::vector<int> route;
  router.route(from, to, *rc::gen::inRange<std::uint64_t>(0, 100), route);
  return route;
}

RC_GTEST_PROP(FabricRoutes, LeadFromEveryDeviceToEveryOtherWithoutARepeat, ()) {
  const Case c = any_case(false);
  const Fabric fabric = c.build(any_detail());
  const int from = *rc::gen::inRange(0, fabric.devices()), to = *rc::gen::inRange(0, fabric.devices());
  const std::vector<int> route = route_of(fabric, from, to);
  RC_ASSERT(route.empty() == (from == to));
  Fabric::Vertex at = fabric.device(from);
  for (const int link : route) {
    RC_ASSERT(fabric.source(link) == at);
    at = fabric.target(link);
  }
  RC_ASSERT(at == fabric.device(to));
  RC_ASSERT(std::set<int>(route.begin(), route.end()).size() == route.size());
}

RC_GTEST_PROP(FabricRoutes, OfAClosNetworkGoUpThenDown, ()) {
  const Case c = any_case(true);
  const Fabric fabric = c.build(any_detail());
  const int from = *rc::gen::inRange(0, fabric.devices()), to = *rc::gen::inRange(0, fabric.devices());
  int level = -1;
  bool down = false;
  for (const int link : route_of(fabric, from, to)) {
    const FabricVertex& v = fabric.graph()[fabric.target(link)];
    if (v.kind != VertexKind::network_switch) continue;
    RC_ASSERT(v.level != level);
    if (v.level < level) down = true;
    RC_ASSERT(!down || v.level < level);
    level = v.level;
  }
}

RC_GTEST_PROP(FabricRoutes, AvoidAFailedLinkOrSaySo, ()) {
  const Case c = any_case(false);
  const Fabric fabric = c.build(FabricDetail::switches);
  const int from = *rc::gen::inRange(0, fabric.devices()), to = *rc::gen::inRange(0, fabric.devices());
  Router router(fabric, FabricRouting::ecmp);
  std::vector<int> route;
  router.route(from, to, 0, route);
  const auto network =
      std::find_if(route.begin(), route.end(), [&](int link) { return link >= fabric.first_network_link(); });
  RC_PRE(network != route.end());
  const int failed = *network;
  router.fail(failed);
  try {
    router.route(from, to, 0, route);
    RC_ASSERT(std::find(route.begin(), route.end(), failed) == route.end());
    RC_ASSERT(fabric.target(route.back()) == fabric.device(to));
  } catch (const InputError&) {
    // No other way.
  }
}

RC_GTEST_PROP(FabricCuts, NeverPassWhatTheNicsCarry, ()) {
  const Case c = any_case(false);
  const Fabric fabric = c.build(FabricDetail::switches);
  RC_ASSERT(bisection_bandwidth(fabric) <= c.node_network() * (c.nodes / 2) * (1 + 1e-6));
}

RC_GTEST_PROP(FabricCuts, AreTheSameHoweverCloselyAClosNetworkIsDrawn, ()) {
  const Case c = any_case(true);
  const double switches = bisection_bandwidth(c.build(FabricDetail::switches)).in(1_Gbps);
  RC_ASSERT(std::abs(bisection_bandwidth(c.build(FabricDetail::tiers)).in(1_Gbps) - switches) < 1);
  RC_ASSERT(std::abs(bisection_bandwidth(c.build(FabricDetail::cables)).in(1_Gbps) - switches) < 1);
}

// Rates are whole Mb/s in a cut, of which a network has some hundred links.
RC_GTEST_PROP(FabricCuts, AgreeWithTheArithmeticOfTiers, ()) {
  const Case c = any_case(true);
  const Fabric fabric = c.build(FabricDetail::switches);
  for (const FabricLevel& level : fabric.levels().levels)
    if (level.nodes < c.nodes) RC_ASSERT(cut_bandwidth(fabric, level.nodes) <= level.up + 1_Gbps);
  const auto arithmetic = bisection_by_levels(c.spec.preset, fabric.levels(), c.nodes, c.node_network());
  RC_PRE(arithmetic.has_value());
  RC_ASSERT(std::abs(bisection_bandwidth(fabric).in(1_Gbps) - arithmetic->in(1_Gbps)) < 1);
}

RC_GTEST_PROP(FabricSwitches, NeedNoMorePortsThanTheyHaveByDefault, ()) {
  Case c;
  c.spec.preset = *rc::gen::element(FabricPreset::fat_tree, FabricPreset::fat_tree_3, FabricPreset::rail_optimized,
                                    FabricPreset::rail_only);
  const int ports = *rc::gen::inRange(8, 24);
  c.part = switch_of(ports);
  c.nics = 1 << *rc::gen::inRange(0, 3);
  c.node = test::plain_host();
  // Three tiers hold k³/4 NICs, fewer where planes or leaves stay partly filled: a sixteenth fits in any case.
  c.nodes = 2 + *rc::gen::inRange(0, std::max(1, ports * ports * ports / 64 / c.nics));
  for (const SwitchTier& tier : inventory(c.build(FabricDetail::switches), catalog()).tiers)
    RC_ASSERT(tier.most_ports <= ports);
}

}  // namespace
}  // namespace stepcast::fabric_property_test
