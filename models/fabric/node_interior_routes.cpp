#include <algorithm>
#include <deque>

#include "models/fabric/node_interior.hpp"

namespace stepcast {

/// Finds the routes inside a node, breadth first; among equally short ones the widest.
class NodeInteriorRoutes {
 public:
  explicit NodeInteriorRoutes(NodeInterior& interior) : in_(interior), ends_(in_.devices_ + in_.nics_) {
    out_wires_.resize(in_.places_.size());
    for (std::size_t w = 0; w < in_.wires_.size(); ++w)
      out_wires_[static_cast<std::size_t>(in_.wires_[w].from)].push_back(static_cast<int>(w));
  }

  void find_all() {
    in_.routes_.resize(static_cast<std::size_t>(ends_) * static_cast<std::size_t>(ends_));
    for (int from = 0; from < ends_; ++from) {
      if (from < in_.devices_) search(from, true);
      search(from, false);
    }
    in_.nearest_.resize(static_cast<std::size_t>(in_.devices_));
    for (int device = 0; device < in_.devices_; ++device) find_nearest(device);
  }

 private:
  [[nodiscard]] bool is_device(int place) const { return place < in_.devices_; }

  /// Native: over native links, devices may be passed. Otherwise over the rest, where only the ends are devices.
  void search(int from, bool native) {
    std::vector<int> by(in_.places_.size(), -1), distance(in_.places_.size(), -1);
    std::vector<double> width(in_.places_.size(), 0);
    std::deque<int> queue{from};
    distance[static_cast<std::size_t>(from)] = 0;
    width[static_cast<std::size_t>(from)] = 1e300;
    while (!queue.empty()) {
      const int place = queue.front();
      queue.pop_front();
      if (!native && place != from && place < ends_) continue;
      for (const int w : out_wires_[static_cast<std::size_t>(place)]) {
        const NodeInterior::Wire& wire = in_.wires_[static_cast<std::size_t>(w)];
        if ((wire.link.kind == FabricLinkKind::native) != native) continue;
        const auto to = static_cast<std::size_t>(wire.to), at = static_cast<std::size_t>(place);
        const double wide = std::min(width[at], wire.link.bandwidth.value());
        const bool fresh = distance[to] < 0;
        if (!fresh && (distance[to] != distance[at] + 1 || wide <= width[to])) continue;
        distance[to] = distance[at] + 1;
        width[to] = wide;
        by[to] = w;
        if (fresh) queue.push_back(wire.to);
      }
    }
    for (int to = 0; to < ends_; ++to) keep(from, to, by);
  }

  void keep(int from, int to, const std::vector<int>& by) {
    std::vector<int>& route = in_.routes_[in_.place_of(from, to)];
    if (from == to || !route.empty() || by[static_cast<std::size_t>(to)] < 0) return;
    for (int place = to; place != from; place = in_.wires_[static_cast<std::size_t>(route.back())].from)
      route.push_back(by[static_cast<std::size_t>(place)]);
    std::reverse(route.begin(), route.end());
  }

  /// With as many NICs as devices each has its own; with fewer, neighbours share one; else each has an equal run.
  void find_nearest(int device) {
    std::vector<int>& nearest = in_.nearest_[static_cast<std::size_t>(device)];
    const int first = device * in_.nics_ / std::max(1, in_.devices_);
    const int last = std::max(first + 1, (device + 1) * in_.nics_ / std::max(1, in_.devices_));
    for (int nic = first; nic < std::min(last, in_.nics_); ++nic) nearest.push_back(nic);
  }

  NodeInterior& in_;
  int ends_;
  std::vector<std::vector<int>> out_wires_;
};

NodeInterior::NodeInterior(std::vector<FabricVertex> places, std::vector<Wire> wires, int devices, int nics)
    : places_(std::move(places)), wires_(std::move(wires)), devices_(devices), nics_(nics) {
  NodeInteriorRoutes(*this).find_all();
}

std::span<const int> NodeInterior::route(int from, int to) const { return routes_[place_of(from, to)]; }

bool NodeInterior::natively_joined(int from, int to) const {
  const auto way = route(from, to);
  return !way.empty() && wires_[static_cast<std::size_t>(way.front())].link.kind == FabricLinkKind::native;
}

std::span<const int> NodeInterior::nearest_nics(int device) const { return nearest_[static_cast<std::size_t>(device)]; }

int NodeInterior::device_of_nic(int nic) const {
  return std::min(devices_ - 1, static_cast<int>(static_cast<long>(nic) * devices_ / std::max(1, nics_)));
}

}  // namespace stepcast
