#include "models/fabric/check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "models/fabric/plan/dragonfly.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/fabric/preset_kinds.hpp"

namespace stepcast {

namespace {

bool has_cores(FabricPreset preset) {
  return preset == FabricPreset::fat_tree || preset == FabricPreset::fat_tree_3 ||
         preset == FabricPreset::rail_optimized || preset == FabricPreset::rail_only;
}
bool has_leaves(FabricPreset preset) { return has_cores(preset) || is_dragonfly(preset); }

/// The checks of one fabric; `at` makes pointers below the fabric's.
struct Check {
  const FabricSpec& spec;
  int nodes, nics;
  const std::string& pointer;
  Diagnostics& diagnostics;

  void fault(const char* key, std::string message, std::string suggestion = {}) const {
    diagnostics.error(pointer + "/" + key, std::move(message), std::move(suggestion));
  }
  [[nodiscard]] std::string preset() const { return std::string(name_of(spec.preset)); }
};

void check_keys_fit_preset(const Check& c) {
  const FabricSpec& spec = c.spec;
  if (spec.preset == FabricPreset::single_switch && spec.oversubscription > 1)
    c.fault("oversubscription", fmt::format("found {}, but a single switch has no up-links", spec.oversubscription),
            "oversubscription 1, or preset \"fat-tree\"");
  else if (spec.oversubscription > 1 && !has_leaves(spec.preset))
    c.fault("oversubscription",
            fmt::format("found {}, but preset \"{}\" has no up-links", spec.oversubscription, c.preset()),
            "oversubscription 1; a custom fabric's cables say what they carry");
  if (spec.core_oversubscription > 1 && !has_cores(spec.preset))
    c.fault("core_oversubscription",
            fmt::format("found {}, but preset \"{}\" has no cores", spec.core_oversubscription, c.preset()),
            "leave it out, or preset \"fat-tree-3\"");
  if (spec.nodes_per_leaf && !has_leaves(spec.preset))
    c.fault("nodes_per_leaf",
            fmt::format("found {}, but preset \"{}\" has no leaves", *spec.nodes_per_leaf, c.preset()),
            "leave it out, or preset \"fat-tree\"");
  if (spec.nodes_per_pod && !has_cores(spec.preset))
    c.fault("nodes_per_pod", fmt::format("found {}, but preset \"{}\" has no pods", *spec.nodes_per_pod, c.preset()),
            "leave it out, or preset \"fat-tree-3\"");
  if (!spec.dimensions.empty() && !is_torus(spec.preset))
    c.fault("dimensions", fmt::format("preset \"{}\" has no dimensions", c.preset()),
            "preset \"torus-2d\" or \"torus-3d\"");
  if (!spec.switches.empty() && spec.preset != FabricPreset::custom)
    c.fault("switches", fmt::format("preset \"{}\" finds its own switches", c.preset()), "preset \"custom\"");
  if (!spec.cables.empty() && spec.preset != FabricPreset::custom)
    c.fault("cables", fmt::format("preset \"{}\" finds its own cables", c.preset()), "preset \"custom\"");
}

std::string product(const std::vector<int>& sizes) { return fmt::format("{}", fmt::join(sizes, " × ")); }

void check_dimensions(const Check& c) {
  if (!is_torus(c.spec.preset) || c.spec.dimensions.empty()) return;
  FabricSpec free = c.spec;
  free.dimensions.clear();
  const TorusPlan even = torus_plan(free, c.nodes, c.nics, BytesPerSecond(1));
  std::vector<int> fitting;
  fitting.reserve(even.axes);
  for (int axis = 0; axis < even.axes; ++axis) fitting.push_back(even.size(axis));
  const std::string suggestion = fmt::format("{} fits", product(fitting));
  if (static_cast<int>(c.spec.dimensions.size()) != even.axes)
    return c.fault("dimensions", fmt::format("found {} of them, expected {}", c.spec.dimensions.size(), even.axes),
                   suggestion);
  double all = 1;
  for (const int size : c.spec.dimensions) all *= size;
  const double wanted = static_cast<double>(c.nodes) * std::max(1, c.nics);
  if (all != wanted)
    return c.fault("dimensions",
                   fmt::format("{} = {:.0f}, expected {} nodes × {} NICs = {:.0f}", product(c.spec.dimensions), all,
                               c.nodes, std::max(1, c.nics), wanted),
                   suggestion);
  for (std::size_t axis = 0; axis < c.spec.dimensions.size(); ++axis)
    if (c.spec.dimensions[axis] % even.block[axis] != 0)
      c.fault(fmt::format("dimensions/{}", axis).c_str(),
              fmt::format("found {}, expected a multiple of {}: a node is a block of {}", c.spec.dimensions[axis],
                          even.block[axis], fmt::join(even.block.begin(), even.block.begin() + even.axes, " × ")),
              suggestion);
}

void check_dragonfly(const Check& c, BytesPerSecond rate, const SwitchPart* part) {
  if (!is_dragonfly(c.spec.preset) || c.nodes < 2) return;
  const DragonflyPlan plan = dragonfly_plan(c.spec, c.nodes, c.nics, rate, SwitchFigures::of(part, rate));
  if (plan.groups <= plan.most_groups) return;
  c.fault("preset",
          fmt::format("{} nodes need {} groups of {} nodes, but the global ports of a group reach only {} others",
                      c.nodes, plan.groups, plan.nodes_per_group(), plan.most_groups - 1),
          fmt::format("at most {} nodes, a switch with more ports, or preset \"fat-tree-3\"",
                      static_cast<long>(plan.most_groups) * plan.nodes_per_group()));
}

void check_order(const Check& c) {
  const std::vector<int>& order = c.spec.node_order;
  if (order.empty()) return;
  if (static_cast<int>(order.size()) != c.nodes)
    return c.fault("node_order",
                   fmt::format("found {} entries, expected one for each of {} nodes", order.size(), c.nodes));
  std::vector<int> seen(order.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string key = fmt::format("node_order/{}", i);
    if (order[i] < 0 || order[i] >= c.nodes)
      return c.fault(key.c_str(), fmt::format("found {}, expected at most {}", order[i], c.nodes - 1));
    int& first = seen[static_cast<std::size_t>(order[i])];
    if (first >= 0) return c.fault(key.c_str(), fmt::format("node {} is already taken by entry {}", order[i], first));
    first = static_cast<int>(i);
  }
}

void check_sites(const Check& c) {
  if (!c.spec.wan) return;
  if (is_torus(c.spec.preset) || c.spec.preset == FabricPreset::custom)
    c.fault("wan", fmt::format("preset \"{}\" has no switch that a site's connection could hang on", c.preset()),
            c.spec.preset == FabricPreset::custom ? "list the connections as cables with their latency"
                                                  : "preset \"fat-tree\"");
  if (c.spec.wan->sites > c.nodes)
    c.fault("wan/sites", fmt::format("found {}, but there are only {} nodes", c.spec.wan->sites, c.nodes));
}

void check_switch(const Check& c, BytesPerSecond rate, const SwitchPart* part) {
  if (c.spec.switch_id.empty()) return;
  if (is_torus(c.spec.preset)) return c.fault("switch", "a torus has no switches", "leave it out");
  if (part == nullptr) return;
  if (part->ports <= 0)
    c.fault("switch", fmt::format("the catalogue does not say how many ports \"{}\" has", part->id));
  if (part->port_bandwidth && rate > *part->port_bandwidth * (1 + 1e-9))
    c.fault("switch",
            fmt::format("its ports have {:g} Gb/s, less than the NICs' {:g}", part->port_bandwidth->in(1_Gbps),
                        rate.in(1_Gbps)),
            "a faster switch, or leave it out");
}

}  // namespace

void check_fabric(const FabricSpec& spec, int nodes, int nics, BytesPerSecond nic_bandwidth, const SwitchPart* part,
                  const std::string& pointer, Diagnostics& diagnostics) {
  const Check c{spec, nodes, nics, pointer, diagnostics};
  check_keys_fit_preset(c);
  check_dimensions(c);
  check_dragonfly(c, nic_bandwidth, part);
  check_order(c);
  check_sites(c);
  check_switch(c, nic_bandwidth, part);
  if (spec.preset == FabricPreset::custom) check_custom_fabric(spec, nodes, nics, pointer, diagnostics);
}

}  // namespace stepcast
