#include "models/fabric/router.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/fabric/network_routes.hpp"

namespace stepcast {

struct Router::Impl {
  const Fabric& fabric;
  NetworkRoutes network;
  bool pxn;

  Impl(const Fabric& f, FabricRouting routing, std::uint64_t seed)
      : fabric(f), network(f, routing, seed), pxn(f.spec().pxn) {}

  void inside(int node, std::span<const int> wires, std::vector<int>& out) const {
    for (const int wire : wires) out.push_back(fabric.wire(node, wire));
  }

  /// Place by which a device meets the network: the flow's turn among its NICs, or itself when it has none.
  [[nodiscard]] int port(int device, std::uint64_t flow) const {
    const auto nics = fabric.interior().nearest_nics(device);
    if (nics.empty()) return device;
    return NodeInterior::nic_place(fabric.interior().devices(), nics[flow % nics.size()]);
  }

  /// Where the sender meets the network to reach the receiver's port: with rails, at the NIC of the same number.
  [[nodiscard]] int sending_port(int device, int receiver, std::uint64_t flow) const {
    const NodeInterior& interior = fabric.interior();
    const int own = port(device, flow);
    if (!fabric.rails_apart() || own == receiver) return own;
    const int rail = receiver - interior.devices();
    const auto nics = interior.nearest_nics(device);
    if (std::find(nics.begin(), nics.end(), rail) != nics.end()) return receiver;
    const bool must = fabric.spec().preset == FabricPreset::rail_only;
    const bool can = interior.natively_joined(device, interior.device_of_nic(rail));
    return must || (pxn && can) ? receiver : own;
  }

  void out_of_node(int node, int device, int port, std::vector<int>& out) const {
    const NodeInterior& interior = fabric.interior();
    if (port >= interior.devices()) {
      const int owner = interior.device_of_nic(port - interior.devices());
      const auto nics = interior.nearest_nics(device);
      const bool own = std::find(nics.begin(), nics.end(), port - interior.devices()) != nics.end();
      if (!own && pxn && interior.natively_joined(device, owner)) {
        inside(node, interior.route(device, owner), out);
        device = owner;
      }
    }
    inside(node, interior.route(device, port), out);
  }
};

Router::Router(const Fabric& fabric, FabricRouting routing, std::uint64_t seed)
    : impl_(std::make_shared<Impl>(fabric, routing, seed)) {}

void Router::route(int from_device, int to_device, std::uint64_t flow, std::vector<int>& out) {
  out.clear();
  if (from_device == to_device) return;
  const Fabric& fabric = impl_->fabric;
  const NodeInterior& interior = fabric.interior();
  const int each = fabric.devices_per_node();
  const int from_node = fabric.node_of(from_device / each), to_node = fabric.node_of(to_device / each);
  const int from = from_device % each, to = to_device % each;
  if (from_node == to_node && interior.joined(from, to)) return impl_->inside(from_node, interior.route(from, to), out);
  const int receiver = impl_->port(to, flow);
  const int sender = impl_->sending_port(from, receiver, flow);
  impl_->out_of_node(from_node, from, sender, out);
  const bool found = impl_->network.route(fabric.place(from_node, sender), fabric.place(to_node, receiver), flow, out);
  if (!found)
    throw InputError({{"", "/cluster/fabric",
                       fmt::format("no way leads from {} to {}", fabric.name(fabric.place(from_node, sender)),
                                   fabric.name(fabric.place(to_node, receiver))),
                       "links that join them"}});
  impl_->inside(to_node, interior.route(receiver, to), out);
}

void Router::fail(int link) { impl_->network.fail(link); }

LinkLoads count_link_loads(const Fabric& fabric, Router& router, std::span<const FlowEnds> flows) {
  LinkLoads out;
  out.flows.resize(static_cast<std::size_t>(fabric.link_count()));
  std::vector<int> route;
  for (const FlowEnds& ends : flows) {
    router.route(ends.from, ends.to, ends.flow, route);
    for (const int link : route) ++out.flows[static_cast<std::size_t>(link)];
  }
  for (int id = 0; id < fabric.link_count(); ++id) {
    const double load = out.flows[static_cast<std::size_t>(id)] / fabric.link(id).bandwidth.value();
    if (load <= out.worst) continue;
    out.worst = load;
    out.worst_link = id;
  }
  return out;
}

}  // namespace stepcast
