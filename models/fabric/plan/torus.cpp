#include "models/fabric/plan/torus.hpp"

#include <algorithm>
#include <cmath>

#include "models/fabric/preset_kinds.hpp"

namespace stepcast {

namespace {

using Shape = std::array<int, TorusPlan::kMost>;

/// Calls `visit` with every way to write `n` as a product of `axes` factors.
template <class Visit>
void for_each_factoring(int n, int axes, const Visit& visit) {
  const auto second = [&](int first, int rest) {
    if (axes == 2) return visit(Shape{first, rest, 1});
    for (int a = 1; static_cast<long>(a) * a <= rest; ++a) {
      if (rest % a != 0) continue;
      visit(Shape{first, a, rest / a});
      visit(Shape{first, rest / a, a});
    }
  };
  for (int a = 1; static_cast<long>(a) * a <= n; ++a) {
    if (n % a != 0) continue;
    second(a, n / a);
    if (a * a != n) second(n / a, a);
  }
}

/// Factors of n that make n·block as even as possible: the longest axis decides the bisection, so it is made short. A
/// shape all of whose axes wrap around goes before others: large slices are made of whole cubes (3,456 chips of a TPU
/// v4 are 12×12×24, not 12×16×18).
Shape even_shape(int n, int axes, const Shape& block, int wrap_multiple) {
  Shape best{1, 1, n};
  std::array<long, 3> least{-1, 0, 0};
  for_each_factoring(n, axes, [&](const Shape& shape) {
    std::array<long, 3> key{0, 0, 0};
    for (std::size_t i = 0; i < static_cast<std::size_t>(axes); ++i) {
      const long length = static_cast<long>(shape[i]) * block[i];
      if (length % wrap_multiple != 0) key[0] = 1;
      key[1] = std::max(key[1], length);
      key[2] += length;
    }
    // Equal choices: the last axis, which neighbours cross least often, is the longest.
    const bool ordered =
        shape[0] * block[0] <= shape[1] * block[1] && (axes == 2 || shape[1] * block[1] <= shape[2] * block[2]);
    if (least[0] >= 0 && (key > least || (key == least && !ordered))) return;
    least = key;
    best = shape;
  });
  return best;
}

/// Blocks are longest along the last axes of a 2D torus and the first of a 3D one, as TPU hosts are (2×4, 2×2×1).
Shape block_of(int nics, int axes) {
  Shape even = even_shape(nics, axes, {1, 1, 1}, 1);
  if (axes == 3) std::reverse(even.begin(), even.end());
  return even;
}

Shape coordinates_in(int index, const Shape& shape) {
  return {index % shape[0], index / shape[0] % shape[1], index / shape[0] / shape[1]};
}

/// Links along an axis out of a slab across it: one face of a slab at the end of an open axis, else both.
int faces(const TorusPlan& plan, int axis) { return plan.open(axis) ? 1 : 2; }

/// The longest axis of several nodes, an open one counted twice: what crosses its middle has the fewest links for the
/// most traffic.
int longest_axis(const TorusPlan& plan) {
  int longest = -1;
  const auto length = [&](int axis) { return plan.size(axis) * 2 / faces(plan, axis); };
  for (int axis = 0; axis < plan.axes; ++axis)
    if (plan.grid[static_cast<std::size_t>(axis)] > 1 && (longest < 0 || length(axis) >= length(longest)))
      longest = axis;
  return longest;
}

/// Links that a message passes along an axis from any NIC to any, on average: k/4 around, (k² − 1)/3k along a line.
double mean_links(const TorusPlan& plan, int axis) {
  const double size = plan.size(axis);
  return plan.open(axis) ? (size * size - 1) / (3 * size) : size / 4;
}

}  // namespace

Shape TorusPlan::coordinates(int node, int nic) const {
  const Shape outer = coordinates_in(node, grid), inner = coordinates_in(nic, block);
  Shape out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = outer[i] * block[i] + inner[i];
  return out;
}

std::vector<int> TorusPlan::open_axes() const {
  std::vector<int> lengths;
  for (int axis = 0; axis < axes; ++axis)
    if (size(axis) > 1 && open(axis)) lengths.push_back(size(axis));
  return lengths;
}

int TorusPlan::fewest_links() const {
  int links = 0;
  for (int axis = 0; axis < axes; ++axis)
    if (size(axis) > 1) links += faces(*this, axis);
  return links;
}

std::array<int, 2> TorusPlan::at(const Shape& c) const {
  const auto index = [](const Shape& place, const Shape& shape) {
    return (place[2] * shape[1] + place[1]) * shape[0] + place[0];
  };
  const Shape outer{c[0] / block[0], c[1] / block[1], c[2] / block[2]};
  const Shape inner{c[0] % block[0], c[1] % block[1], c[2] % block[2]};
  return {index(outer, grid), index(inner, block)};
}

TorusPlan torus_plan(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate) {
  TorusPlan plan;
  plan.nodes = nodes;
  plan.nics = std::max(1, nics);
  plan.axes = spec.preset == FabricPreset::torus_3d ? 3 : 2;
  plan.block = block_of(plan.nics, plan.axes);
  plan.link = rate / (2.0 * plan.axes);
  plan.wrap_multiple = std::max(1, spec.wrap_multiple);
  if (spec.dimensions.empty()) {
    plan.grid = even_shape(nodes, plan.axes, plan.block, plan.wrap_multiple);
    return plan;
  }
  for (std::size_t i = 0; i < spec.dimensions.size() && i < plan.grid.size(); ++i)
    plan.grid[i] = std::max(1, spec.dimensions[i] / plan.block[i]);
  return plan;
}

TorusPlan node_torus(const Node& node, const Accelerator* accelerator) {
  FabricSpec spec;
  spec.preset = node.interconnect.kind == NodeTopology::torus_3d ? FabricPreset::torus_3d : FabricPreset::torus_2d;
  take_wraps(spec, accelerator);
  return torus_plan(spec, node.devices(), 1, BytesPerSecond(0));
}

FabricPreset usual_preset(const Node& node, std::optional<NetworkKind> network) {
  const auto nic = std::find_if(node.nics.begin(), node.nics.end(), [](const Nic& n) { return n.training; });
  if (!network && nic != node.nics.end()) network = nic->kind;
  if (network != NetworkKind::ici) return FabricSpec{}.preset;
  return node.interconnect.kind == NodeTopology::torus_3d ? FabricPreset::torus_3d : FabricPreset::torus_2d;
}

void take_wraps(FabricSpec& spec, const Accelerator* accelerator) {
  if (!is_torus(spec.preset) || spec.wrap_multiple > 0 || accelerator == nullptr || !accelerator->interconnect) return;
  spec.wrap_multiple = accelerator->interconnect->wrap_multiple;
}

bool devices_are_routers(const FabricSpec& spec, const Node& node, int nics) {
  const NodeTopology inside = node.interconnect.kind;
  const bool torus_inside = inside == NodeTopology::torus_2d || inside == NodeTopology::torus_3d;
  return is_torus(spec.preset) && torus_inside && nics == node.devices();
}

FabricLevels torus_levels(const TorusPlan& plan) {
  FabricLevels out;
  // A message goes one way; two routers along an axis that wraps around have both links to each other.
  int first = 0;
  while (first + 1 < plan.axes && plan.grid[static_cast<std::size_t>(first)] == 1) ++first;
  out.message = plan.link * (plan.size(first) == 2 ? faces(plan, first) : 1);
  int nodes = 1;
  for (int axis = 0; axis < plan.axes; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (plan.grid[i] > 1) {
      // A slab one node thick has two faces along each axis that is left, a node itself along every one; those at the
      // end of an open axis have one.
      int links = 0;
      for (auto j = i; j < static_cast<std::size_t>(plan.axes); ++j)
        if (plan.grid[j] > 1) links += faces(plan, static_cast<int>(j)) * nodes * plan.nics / plan.block[j];
      // From one node to the next is what a network's figures hold already.
      const Seconds hop = nodes > 1 ? kTorusHop * mean_links(plan, axis) : Seconds(0);
      out.levels.push_back({nodes, plan.link * links, links, hop});
    }
    nodes *= plan.grid[i];
  }
  // Half of the torus has as large a surface as one slab across its longest axis. Of an odd length k the smaller half,
  // ⌊k/2⌋: an exchange of all pairs takes a message over avg(min(i, k − i)) = (k² − 1)/4k links of the axis, of even
  // length k/4 (shortest ways, both directions), and that is what this cut says of each. Through the middle of an open
  // axis, which has one face, ⌊k/2⌋·⌈k/2⌉ of its pairs send over one link, which is what it says there.
  if (const int axis = longest_axis(plan); axis >= 0 && nodes > 2) {
    const int size = plan.size(axis), smaller_half = size / 2, links = faces(plan, axis) * (nodes * plan.nics / size);
    const auto half = static_cast<int>(std::lround(static_cast<double>(nodes) * smaller_half / size));
    out.levels.push_back({half, plan.link * links, links, Seconds(0)});
  }
  return out;
}

}  // namespace stepcast
