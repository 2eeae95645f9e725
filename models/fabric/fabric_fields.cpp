#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/most_nodes.hpp"

namespace stepcast {

namespace {

// Bounds far beyond any machine, so that a slip of the keyboard is caught and products stay in range.
constexpr double kSlowestGbps = 1e-3;  // 1 Mb/s; at 1e-300 the cost of a run is infinite
constexpr double kFastestGbps = 1e5;
const Rules kRate{.min = kSlowestGbps, .max = kFastestGbps};

Rules required(Rules rules) {
  rules.required = true;
  return rules;
}

}  // namespace

const FieldTable<FabricSwitchSpec>& FabricSwitchSpec::fields() {
  static const auto kTable = [] {
    FieldTable<FabricSwitchSpec> t("switch of a custom fabric", "A switch that cables name");
    t.field("name", &FabricSwitchSpec::name, "Its name, as leaf1", {.required = true});
    return t;
  }();
  return kTable;
}

const FieldTable<FabricCableSpec>& FabricCableSpec::fields() {
  static const auto kTable = [] {
    using C = FabricCableSpec;
    FieldTable<C> t("cable of a custom fabric", "Equal cables between two ends");
    t.field("from", &C::from, "A switch's name, node3 (each of its NICs) or node3:nic1; nodes count from 0",
            {.required = true})
        .field("to", &C::to, "The other end", {.required = true})
        .field("bandwidth_Gbps", &C::bandwidth, "Rate of each cable and direction", required(kRate))
        .field("count", &C::count, "How many; between a node and a switch: for each NIC", {.min = 1, .max = 1e5})
        .field("latency_us", &C::latency, "One way; default: 10 m of fibre", {.min = 0, .max = 1e6});
    return t;
  }();
  return kTable;
}

const FieldTable<FabricSitesSpec>& FabricSitesSpec::fields() {
  static const auto kTable = [] {
    using W = FabricSitesSpec;
    FieldTable<W> t("wide-area network", "Sites with a fabric of the preset each; nodes are dealt out in equal runs");
    t.field("sites", &W::sites, "How many", {.min = 2, .max = 1000})
        .field("bandwidth_Gbps", &W::bandwidth, "Rate of each site's connection and direction", required(kRate))
        .field("latency_ms", &W::latency, "One way between two sites", {.required = true, .min = 0, .max = 1e5});
    return t;
  }();
  return kTable;
}

const FieldTable<FabricSpec>& FabricSpec::fields() {
  static const auto kTable = [] {
    using F = FabricSpec;
    FieldTable<F> t("fabric", "How the nodes are joined");
    t.field("preset", &F::preset,
            "single-switch: one switch for all; fat-tree: leaf and spine, and cores where a spine's ports run out; "
            "fat-tree-3: always three tiers; rail-optimized: one leaf for each rail; rail-only: no switch joins rails; "
            "dragonfly and dragonfly-plus: groups joined each to each; torus-2d and torus-3d: every NIC is a router; "
            "custom: the listed switches and cables")
        .field("oversubscription", &F::oversubscription,
               "Capacity of a leaf's down-links over its up-links; dragonflies: of a group's nodes over its global "
               "cables",
               {.min = 1, .max = 1000})
        .field("core_oversubscription", &F::core_oversubscription,
               "The same of spines below cores, where there are three tiers", {.min = 1, .max = 1000})
        .field("nics_per_node", &F::nics_per_node,
               "NICs that carry training traffic; default: the node's training NICs", {.min = 1, .max = 256})
        .field("nic_bandwidth_Gbps", &F::nic_bandwidth, "Rate of each NIC and direction; default: the node's", kRate)
        .field("network", &F::network, "Kind of network; default: that of the node's NICs")
        .field("switch", &F::switch_id,
               "Catalogue id of the switch of every tier; default: one of the network's kind with ports of the NICs' "
               "rate",
               {.refers_to = "switches"})
        .field("nodes_per_leaf", &F::nodes_per_leaf,
               "Nodes on one leaf (or one leaf for each rail, or one router); default: what the switch's ports allow",
               {.min = 1, .max = kMostNodes})
        .field("nodes_per_pod", &F::nodes_per_pod,
               "Nodes below one set of spines, in three tiers; default: what the switch's ports allow",
               {.min = 1, .max = kMostNodes})
        .field("dimensions", &F::dimensions, "NICs along each axis of a torus; default: as even as they come",
               {.min = 1, .max = kMostNodes})
        .field("wrap_multiple", &F::wrap_multiple,
               "Torus: an axis wraps around where its length is a multiple of it, else it is open; 0: what the "
               "catalogue says of the node's chip",
               {.min = 0, .max = kMostNodes})
        .field("pxn", &F::pxn,
               "Rails: traffic for another rail first goes to the node's device of that rail, over the native links")
        .field("routing", &F::routing,
               "adaptive: traffic spreads evenly over equal paths; ecmp: each flow takes one by a hash, so flows "
               "collide")
        .field("placement", &F::placement,
               "packed: neighbouring nodes of ranks fill a leaf before the next; scattered: dealt out over the leaves")
        .field("node_order", &F::node_order, "Node of the fabric that each node of ranks takes; replaces placement",
               {.min = 0, .max = kMostNodes})
        .field("switches", &F::switches, "Switches of a custom fabric")
        .field("cables", &F::cables, "Cables of a custom fabric")
        .field("wan", &F::wan, "Sites that the nodes are spread over");
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
