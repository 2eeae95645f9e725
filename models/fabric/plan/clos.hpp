#pragma once

#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/levels.hpp"
#include "models/fabric/plan/switch_figures.hpp"

namespace stepcast {

/// A folded Clos network in numbers: switches in up to three tiers, the cables between them and their rates.
///
/// Nodes fall into *groups* that share a leaf, or a leaf for each rail. Groups fall into *pods*. The leaves of a pod
/// that share spines are a *plane*: all of them, or with rails in three tiers those of one rail, so that traffic of a
/// rail stays below the cores (as in NVIDIA's DGX SuperPOD reference architectures). A spine takes as many cables from
/// each leaf as its ports allow; spines of equal number in all planes share a group of cores.
struct ClosPlan {
  int nodes = 0, nics = 0;  ///< NICs of a node
  BytesPerSecond rate;      ///< of a NIC and of a cable
  int tiers = 1;
  int rails = 1;             ///< leaves of a group
  bool rails_joined = true;  ///< false: no switch joins two rails
  int nodes_per_leaf = 1;    ///< of a full group
  int groups = 1;
  int nics_per_leaf = 1;  ///< of one node on one leaf

  int leaf_up = 0;              ///< cables of a leaf to its spines
  BytesPerSecond leaf_up_rate;  ///< of all of them
  int groups_per_pod = 1;       ///< of a full pod
  int pods = 1;
  int planes = 1;  ///< of the whole network
  int spines_per_plane = 0;

  int spine_up = 0;              ///< cables of a spine to the cores
  BytesPerSecond spine_up_rate;  ///< of all of them
  int core_sets = 0;             ///< a set joins the spines of `spines_per_set` numbers of every plane
  int spines_per_set = 0;
  int cores_per_set = 0;

  /// What a switch of each tier must offer.
  int leaf_ports = 0, spine_ports = 0, core_ports = 0;

  [[nodiscard]] int leaves() const { return groups * rails; }
  [[nodiscard]] int spines() const { return planes * spines_per_plane; }
  [[nodiscard]] int cores() const { return core_sets * cores_per_set; }
  [[nodiscard]] int group_of(int node) const { return node / nodes_per_leaf; }
  [[nodiscard]] int rail_of(int nic) const { return rails > 1 ? nic % rails : 0; }
  [[nodiscard]] int leaf(int group, int rail) const { return group * rails + rail; }
  [[nodiscard]] int pod_of(int group) const { return group / groups_per_pod; }
  [[nodiscard]] int plane_of(int group, int rail) const;
  /// Planes of a pod: one, or one for each rail.
  [[nodiscard]] int planes_per_pod() const { return planes / pods; }
};

/// The Clos network of a preset (single-switch, fat-tree, fat-tree-3, rail-optimized, rail-only).
///
/// A leaf gives P·o/(1+o) of its P ports to nodes (o: oversubscription), or as many as nodes_per_leaf asks for. Its
/// up-links have 1/o of the down-links' rate exactly; their number is rounded up. fat-tree and the rail presets take
/// two tiers where a spine has ports for every leaf, else three; fat-tree-3 always takes three.
ClosPlan clos_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate, const SwitchFigures& figures);

/// Its tiers as seen from nodes. Without `pxn` traffic between rails passes all of them, even those that one leaf or
/// one pod of each rail makes needless.
FabricLevels clos_levels(const ClosPlan& plan, const SwitchFigures& figures, bool pxn);

}  // namespace stepcast
