#include "models/fabric/plan/clos.hpp"

#include "models/fabric/build/builder.hpp"

namespace stepcast {

namespace {

using Vertices = std::vector<Fabric::Vertex>;

/// Wires one site's Clos network. With the detail `tiers`, a plane's spines are one vertex, and so are the cores that
/// the same spines reach.
class ClosBuilder {
 public:
  ClosBuilder(FabricBuilder& builder, const ClosPlan& plan, SiteRange& site, const SwitchFigures& figures)
      : builder_(builder),
        plan_(plan),
        site_(site),
        figures_(figures),
        joined_(builder.detail() == FabricDetail::tiers),
        first_plane_(site.first_plane) {
    site.first_plane += plan.planes;
  }

  Vertices build() {
    for (int group = 0; group < plan_.groups; ++group)
      for (int rail = 0; rail < plan_.rails; ++rail) add(leaves_, 0, plan_.plane_of(group, rail));
    for (int n = 0; n < site_.nodes; ++n) hang_node(n);
    if (plan_.tiers < 2) return leaves_;
    for (int plane = 0; plane < plan_.planes; ++plane)
      for (int s = 0; s < (joined_ ? 1 : plan_.spines_per_plane); ++s) add(spines_, 1, plane);
    for (int group = 0; group < plan_.groups; ++group)
      for (int rail = 0; rail < plan_.rails; ++rail) join_leaf(group, rail);
    if (plan_.tiers < 3) return spines_;
    for (int c = 0; c < (joined_ ? core_networks() : plan_.cores()); ++c) add(cores_, 2, -1);
    for (int plane = 0; plane < plan_.planes; ++plane) join_plane(plane);
    return cores_;
  }

 private:
  void add(Vertices& tier, int level, int plane) {
    // Sites have planes of their own, which the numbers of their switches tell apart.
    const int own = plane < 0 ? -1 : first_plane_ + plane;
    tier.push_back(builder_.add_switch(level, site_.first_switch[level]++, own));
  }

  /// Rails that no switch joins have cores of their own.
  [[nodiscard]] int core_networks() const { return plan_.rails_joined ? 1 : plan_.rails; }

  void hang_node(int n) {
    const int group = plan_.group_of(n);
    const NodeInterior& interior = builder_.fabric().interior();
    const int cables = std::max(1, plan_.nics / std::max(1, interior.nics()));
    for (int nic = 0; nic < interior.nics(); ++nic)
      builder_.join_nic(site_.first_node + n, nic, leaves_[at(plan_.leaf(group, plan_.rail_of(nic)))], plan_.rate,
                        cables, figures_);
  }

  void join_leaf(int group, int rail) {
    const auto leaf = leaves_[at(plan_.leaf(group, rail))];
    const int plane = plan_.plane_of(group, rail);
    if (joined_) return builder_.join_switches(leaf, spines_[at(plane)], plan_.leaf_up_rate, plan_.leaf_up, figures_);
    const int count = plan_.spines_per_plane;
    for (int s = 0; s < count; ++s)
      join_share(leaf, spines_[at(plane * count + s)], plan_.leaf_up_rate, plan_.leaf_up, count, s);
  }

  void join_plane(int plane) {
    const int spines = plan_.spines_per_plane;
    const int network = plan_.rails_joined ? 0 : plane % plan_.rails;
    if (joined_)
      return builder_.join_switches(spines_[at(plane)], cores_[at(network)], plan_.spine_up_rate * spines,
                                    plan_.spine_up * spines, figures_);
    const int sets_of_network = spines / plan_.spines_per_set;
    for (int s = 0; s < spines; ++s) {
      const int set = network * sets_of_network + s / plan_.spines_per_set;
      for (int c = 0; c < plan_.cores_per_set; ++c)
        join_share(spines_[at(plane * spines + s)], cores_[at(set * plan_.cores_per_set + c)], plan_.spine_up_rate,
                   plan_.spine_up, plan_.cores_per_set, c);
    }
  }

  /// The i-th of `count` links that a switch's cables upwards make: as many cables as the others, or one more.
  void join_share(Fabric::Vertex low, Fabric::Vertex high, BytesPerSecond rate, int cables, int count, int i) {
    const int mine = cables / count + (i < cables % count ? 1 : 0);
    builder_.join_switches(low, high, rate * mine / cables, mine, figures_);
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  FabricBuilder& builder_;
  const ClosPlan& plan_;
  SiteRange& site_;
  const SwitchFigures& figures_;
  bool joined_;
  int first_plane_;
  Vertices leaves_, spines_, cores_;
};

}  // namespace

TopSwitches build_clos(FabricBuilder& builder, const FabricSpec& spec, SiteRange& site, const SwitchFigures& figures) {
  const ClosPlan plan = clos_plan(spec, site.nodes, site.nics, site.rate, figures);
  return ClosBuilder(builder, plan, site, figures).build();
}

}  // namespace stepcast
