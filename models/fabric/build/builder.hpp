#pragma once

#include "models/fabric/fabric.hpp"
#include "models/fabric/parts_tally.hpp"
#include "models/fabric/plan/switch_figures.hpp"

namespace stepcast {

/// Puts a fabric together: nodes first, then switches, then the links of the network.
class FabricBuilder {
 public:
  using Vertex = Fabric::Vertex;

  FabricBuilder(NodeInterior interior, int nodes, FabricDetail detail);
  /// Draws nothing: switches and cables are tallied, as with the detail `switches`.
  FabricBuilder(NodeInterior interior, int nodes, PartsTally& tally);

  [[nodiscard]] const Fabric& fabric() const { return fabric_; }
  [[nodiscard]] FabricDetail detail() const { return detail_; }
  /// A switch of the network; `index` counts within its level.
  Vertex add_switch(int level, int index, int plane = -1);
  Vertex add_switch(int level, int index, std::string name);

  /// Both directions of a link. With the detail `cables`, each of its cables is a link of its share of the rate.
  void join(Vertex a, Vertex b, const FabricLink& link);
  /// The NIC's link to a switch: its adapter, a cable, and the way back through the switch.
  void join_nic(int node, int nic, Vertex network_switch, BytesPerSecond rate, int cables,
                const SwitchFigures& figures);
  /// Two switches; `joint` is the rate of all cables.
  void join_switches(Vertex a, Vertex b, BytesPerSecond joint, int cables, const SwitchFigures& figures);

  void set(const FabricSpec& spec, const FabricLevels& levels, const SwitchPart* part);
  void set_torus(const TorusPlan& plan);
  void set_order(std::vector<int> order);
  Fabric finish() { return std::move(fabric_); }

 private:
  void add_link(Vertex from, Vertex to, FabricLink link);

  Fabric fabric_;
  FabricDetail detail_;
  PartsTally* tally_ = nullptr;
};

/// One function for each kind of network. `first_node` and `nodes` are those of one site. They return the switches of
/// the topmost tier, on which a site's connection hangs (torus: none).
using TopSwitches = std::vector<Fabric::Vertex>;

struct SiteRange {
  int first_node = 0, nodes = 0;
  int nics = 0;         ///< of a node, as the spec counts them
  BytesPerSecond rate;  ///< of each
  int first_plane = 0;
  int first_switch[3] = {0, 0, 0};  ///< numbers of this site's first leaf, spine and core
};

TopSwitches build_clos(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site, const SwitchFigures& figures);
TopSwitches build_dragonfly(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site,
                            const SwitchFigures& figures);
TopSwitches build_torus(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site);
TopSwitches build_custom(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site, const SwitchFigures& figures);

}  // namespace stepcast
