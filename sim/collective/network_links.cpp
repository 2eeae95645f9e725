#include "sim/collective/network_links.hpp"

#include "models/fabric/router.hpp"

namespace stepcast {

namespace {

/// The devices of a torus by the places of their routers. Empty unless every device has a router to itself.
std::function<void(int, std::vector<int>&)> torus_neighbours(const std::shared_ptr<const Fabric>& fabric) {
  const NodeInterior& interior = fabric->interior();
  if (fabric->torus() == nullptr || interior.nics() != fabric->devices_per_node()) return {};
  for (int device = 0; device < interior.devices(); ++device)
    if (interior.device_of_nic(device) != device) return {};
  std::vector<int> rank_node(static_cast<std::size_t>(fabric->nodes()));  // by node of the fabric
  for (int i = 0; i < fabric->nodes(); ++i) rank_node[static_cast<std::size_t>(fabric->node_of(i))] = i;
  return [fabric, rank_node = std::move(rank_node)](int device, std::vector<int>& out) {
    out.clear();
    const TorusPlan& torus = *fabric->torus();
    const int each = fabric->devices_per_node();
    const auto here = torus.coordinates(fabric->node_of(device / each), device % each);
    for (int axis = 0; axis < torus.axes; ++axis) {
      const int size = torus.size(axis);
      for (const int step : {1, size - 1}) {
        if (size < 2) continue;
        auto next = here;
        int& c = next[static_cast<std::size_t>(axis)];
        if (torus.open(axis) && c == (step == 1 ? size - 1 : 0)) continue;
        c = (c + step) % size;
        const auto [node, nic] = torus.at(next);
        out.push_back(rank_node[static_cast<std::size_t>(node)] * each + nic);
      }
    }
  };
}

}  // namespace

NetworkLinks network_links(std::shared_ptr<const Fabric> fabric, FabricRouting routing, std::uint64_t seed) {
  NetworkLinks out;
  for (int link = 0; link < fabric->link_count(); ++link)
    out.bandwidths.push_back(fabric->link(link).bandwidth.value());
  auto router = std::make_shared<Router>(*fabric, routing, seed);
  out.fail = [router](int link) { router->fail(link); };
  out.neighbours = torus_neighbours(fabric);
  // The router refers to the fabric, so both live as long as the function does.
  out.route = [fabric = std::move(fabric), router](int from, int to, std::uint64_t flow, std::vector<int>& way) {
    router->route(from, to, flow, way);
  };
  return out;
}

}  // namespace stepcast
