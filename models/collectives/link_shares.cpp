#include "models/collectives/link_shares.hpp"

#include <algorithm>
#include <vector>

#include "models/fabric/plan/torus.hpp"

namespace stepcast {

namespace {

/// Sets the shares of 2 … devices − 1 ranks.
void set_each(NativeShares& shares, int devices, const auto& share_of) {
  for (int ranks = 2; ranks < std::min<int>(devices, static_cast<int>(shares.size())); ++ranks)
    shares[static_cast<std::size_t>(ranks)] = share_of(ranks);
}

int links_inside(const NodeInterconnect& interconnect, int device, int ranks) {
  int sum = 0;
  for (const auto& link : interconnect.links) {
    if (link.size() < 3) continue;
    const int other = link[0] == device ? link[1] : link[1] == device ? link[0] : -1;
    if (other >= 0 && other < ranks) sum += link[2];
  }
  return sum;
}

/// The scarcest member of the first p devices, as ranks are placed: its links to the others over all its links.
double listed_share(const NodeInterconnect& interconnect, int devices, int ranks) {
  double least = 1;
  for (int device = 0; device < ranks; ++device) {
    const int all = links_inside(interconnect, device, devices);
    if (all > 0) least = std::min(least, static_cast<double>(links_inside(interconnect, device, ranks)) / all);
  }
  return least > 0 ? least : 1;
}

/// Axes along which so many devices lie where they are as even a block of a torus as they come.
int axes_of_block(const TorusPlan& torus, int devices) {
  FabricSpec spec;
  spec.preset = torus.axes == 3 ? FabricPreset::torus_3d : FabricPreset::torus_2d;
  const auto block = torus_plan(spec, 1, devices, BytesPerSecond(0)).block;
  return static_cast<int>(std::count_if(block.begin(), block.end(), [](int length) { return length > 1; }));
}

/// A group smaller than a torus lies along a dimension that wraps around, whose two links it has; where none does, it
/// is a block, at whose corner a device has one link along each axis. The last entry stands for all larger groups,
/// which span every dimension (slices of TPU pods are such nodes): as many links as the device with fewest has.
void set_torus(NativeShares& shares, const TorusPlan& torus) {
  bool wraps = false;
  for (int axis = 0; axis < torus.axes; ++axis) wraps = wraps || !torus.open(axis);
  const double all = 2.0 * torus.axes, whole = std::max(1, torus.fewest_links()) / all;
  shares.fill(whole);
  shares[0] = shares[1] = 1;
  set_each(shares, torus.nodes,
           [&](int ranks) { return wraps ? 1.0 / torus.axes : std::min(whole, axes_of_block(torus, ranks) / all); });
  shares.back() = whole;
}

int links_between(const NodeInterconnect& interconnect, int a, int b) {
  for (const auto& link : interconnect.links)
    if (link.size() >= 3 && std::minmax(link[0], link[1]) == std::minmax(a, b)) return link[2];
  return 0;
}

/// How many of the first so many devices links lead to from one of them, itself included.
int joined_with(const NodeInterconnect& interconnect, int first, int members) {
  std::vector<bool> reached(static_cast<std::size_t>(members));
  reached[static_cast<std::size_t>(first)] = true;
  const auto is_member = [&](int device) { return device >= 0 && device < members; };
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& link : interconnect.links) {
      if (link.size() < 3 || link[2] <= 0 || !is_member(link[0]) || !is_member(link[1])) continue;
      const auto from = static_cast<std::size_t>(link[0]), to = static_cast<std::size_t>(link[1]);
      if (reached[from] == reached[to]) continue;
      reached[from] = reached[to] = grown = true;
    }
  }
  return static_cast<int>(std::count(reached.begin(), reached.end(), true));
}

}  // namespace

int least_joined(const Node& node, int ranks) {
  const NodeInterconnect& interconnect = node.interconnect;
  const int members = std::min(ranks, node.devices());
  if (interconnect.kind == NodeTopology::pair) return members % 2 == 0 ? std::min(members, 2) : 1;
  if (interconnect.links.empty()) return members;
  int least = members;
  for (int first = 0; first < members; ++first) least = std::min(least, joined_with(interconnect, first, members));
  return least;
}

bool links_reach_all(const Node& node, int ranks) {
  return least_joined(node, ranks) == std::min(ranks, node.devices());
}

bool joins_devices_directly(const Node& node) {
  return node.interconnect.kind == NodeTopology::mesh || node.interconnect.kind == NodeTopology::hybrid_cube_mesh;
}

NativeShares single_ring_shares(const Node& node, double host) {
  const NodeInterconnect& interconnect = node.interconnect;
  const int devices = node.devices();
  NativeShares shares;
  shares.fill(1);
  set_each(shares, static_cast<int>(shares.size()), [&](int ranks) {
    if (interconnect.links.empty()) return 1.0 / (devices - 1);
    double least = 1;
    const int members = std::min(ranks, devices);
    for (int device = 0; device < members; ++device) {
      const int links = links_between(interconnect, device, (device + 1) % members);
      least =
          std::min(least, links > 0 ? static_cast<double>(links) / links_inside(interconnect, device, devices) : host);
    }
    return least;
  });
  return shares;
}

NativeShares link_shares_of(const Node& node, const Accelerator* accelerator) {
  NativeShares shares;
  shares.fill(1);
  const int devices = node.devices();
  switch (node.interconnect.kind) {
    case NodeTopology::mesh:
    case NodeTopology::hybrid_cube_mesh:
      if (node.interconnect.links.empty())
        set_each(shares, devices, [&](int ranks) { return (ranks - 1.0) / (devices - 1.0); });
      else
        set_each(shares, devices, [&](int ranks) { return listed_share(node.interconnect, devices, ranks); });
      break;
    case NodeTopology::torus_2d:
    case NodeTopology::torus_3d:
      set_torus(shares, node_torus(node, accelerator));
      break;
    case NodeTopology::pair:
    case NodeTopology::nvswitch:
    case NodeTopology::nvswitch_rack:
    case NodeTopology::single:
    case NodeTopology::pcie:
      break;
  }
  return shares;
}

}  // namespace stepcast
