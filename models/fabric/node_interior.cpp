#include "models/fabric/node_interior.hpp"

#include <algorithm>

#include "models/compute/host_link.hpp"
#include "models/fabric/plan/switch_figures.hpp"
#include "models/fabric/plan/torus.hpp"

namespace stepcast {

namespace {

/// A PCIe switch adds 100 to 150 ns each way (links pcie-latency).
constexpr Seconds kPcieLatency{125e-9};
/// From one socket to another: 90 to 110 ns (links xgmi-epyc-rome-milan).
constexpr Seconds kSocketLatency{100e-9};
/// Of a NIC in a server without accelerators: PCIe 3 ×16 (links pcie3-x16).
constexpr BytesPerSecond kPlainPcie{15.75e9};
/// Sockets of larger nodes (racks of NVL72) stand on boards of their own, which PCIe does not join.
constexpr int kMostJoinedSockets = 8;

/// Puts a node together place by place.
class InteriorBuilder {
 public:
  InteriorBuilder(const Node& node, const InteriorOptions& options, const Catalog& catalog)
      : node_(node), options_(options), devices_(node.devices()) {
    if (node.has_accelerators()) accelerator_ = catalog.find<Accelerator>(node.accelerator);
    if (!node.cpu.empty()) cpu_ = catalog.find<Cpu>(node.cpu);
    // NICs of one device do the same: one place of their joint rate, unless each is a rail.
    const bool bundled =
        !options.each_nic_apart && devices_ > 0 && options.nics > devices_ && options.nics % devices_ == 0;
    nics_ = bundled ? devices_ : options.nics;
    cables_ = bundled ? options.nics / devices_ : 1;
    on_device_ =
        nics_ % std::max(1, devices_) == 0 &&
        std::any_of(node.nics.begin(), node.nics.end(), [](const Nic& n) { return n.training && n.on_device; });
  }

  NodeInterior build() {
    for (int d = 0; d < devices_; ++d) add(VertexKind::device, d);
    for (int n = 0; n < nics_; ++n) add(VertexKind::nic, n);
    if (options_.nics_are_routers) {
      for (int d = 0; d < devices_; ++d)
        join(d, NodeInterior::nic_place(devices_, d), FabricLinkKind::nic, options_.nic_bandwidth, Seconds(0), 1);
    } else {
      native();
      host();
      if (on_device_) join_nics_of_devices();
    }
    return {std::move(places_), std::move(wires_), devices_, nics_};
  }

 private:
  int add(VertexKind kind, int index) {
    places_.push_back({kind, 0, index, 0});
    return static_cast<int>(places_.size()) - 1;
  }

  void join(int a, int b, FabricLinkKind kind, BytesPerSecond rate, Seconds latency, int cables) {
    if (a == b || rate <= BytesPerSecond(0)) return;
    wires_.push_back({a, b, {kind, rate, latency, cables, 0}});
    wires_.push_back({b, a, {kind, rate, latency, cables, 0}});
  }

  // Native links have no latency of their own: it is part of a collective's step (models/collectives).
  void join_native(int a, int b, int links) {
    join(a, b, FabricLinkKind::native, node_.interconnect.per_link * links, Seconds(0), links);
  }

  void native() {
    const NodeInterconnect& net = node_.interconnect;
    switch (net.kind) {
      case NodeTopology::nvswitch:
      case NodeTopology::nvswitch_rack: {
        // Every device has equal links to every chip, so the chips are one switch.
        const int native_switch = add(VertexKind::native_switch, 0);
        for (int d = 0; d < devices_; ++d) join_native(d, native_switch, net.links_per_accelerator);
        break;
      }
      case NodeTopology::pair:
        for (int d = 0; d + 1 < devices_; d += 2) join_native(d, d + 1, net.links_per_pair);
        break;
      case NodeTopology::mesh:
      case NodeTopology::hybrid_cube_mesh:
        mesh();
        break;
      case NodeTopology::torus_2d:
      case NodeTopology::torus_3d:
        torus();
        break;
      case NodeTopology::single:
      case NodeTopology::pcie:
        break;
    }
  }

  void mesh() {
    const NodeInterconnect& net = node_.interconnect;
    for (const std::vector<int>& link : net.links)
      if (link.size() >= 3 && link[0] < devices_ && link[1] < devices_) join_native(link[0], link[1], link[2]);
    if (!net.links.empty() || devices_ < 2) return;
    const int each =
        net.links_per_pair > 0 ? net.links_per_pair : std::max(1, net.links_per_accelerator / (devices_ - 1));
    for (int a = 0; a < devices_; ++a)
      for (int b = a + 1; b < devices_; ++b) join_native(a, b, each);
  }

  void torus() {
    const TorusPlan plan = node_torus(node_, accelerator_);
    for (int d = 0; d < devices_; ++d)
      for (int axis = 0; axis < plan.axes; ++axis) {
        auto next = plan.coordinates(d, 0);
        int& c = next[static_cast<std::size_t>(axis)];
        if (plan.open(axis) && c + 1 == plan.size(axis)) continue;
        c = (c + 1) % plan.size(axis);
        // Two along an axis that wraps around have two links between them, met once from each: the loop adds one each
        // time.
        join_native(d, plan.at(next)[0], 1);
      }
  }

  [[nodiscard]] BytesPerSecond device_rate() const {
    return accelerator_ != nullptr ? raw_host_link(node_, *accelerator_) : kPlainPcie;
  }

  /// Sockets, PCIe switches where there are, and NICs.
  void host() {
    const BytesPerSecond between = cpu_ != nullptr ? cpu_->between_sockets() : kUnknownSocketLinks;
    const int sockets = std::max(1, node_.has_accelerators() ? node_.cpu_count : devices_);
    std::vector<int> socket;
    socket.reserve(sockets);
    for (int s = 0; s < sockets; ++s) socket.push_back(add(VertexKind::socket, s));
    if (sockets <= kMostJoinedSockets)
      for (int a = 0; a < sockets; ++a)
        for (int b = a + 1; b < sockets; ++b)
          join(socket[static_cast<std::size_t>(a)], socket[static_cast<std::size_t>(b)], FabricLinkKind::socket,
               between, kSocketLatency, 1);
    const auto of = [&](int index, int count) {
      return socket[static_cast<std::size_t>(static_cast<long>(index) * sockets / std::max(1, count))];
    };
    if (!node_.has_accelerators()) {
      for (int d = 0; d < devices_; ++d)
        join(d, of(d, devices_), FabricLinkKind::socket, node_.memory_bandwidth / devices_, Seconds(0), 1);
      for (int n = 0; n < nics_; ++n) join_nic(n, of(n, nics_), kPlainPcie);
      return;
    }
    const BytesPerSecond rate = device_rate();
    const bool coherent = accelerator_ != nullptr && coherent_host_link(node_, *accelerator_) != nullptr;
    const bool switched = devices_ >= 4 && 2 * nics_ >= devices_ && !coherent;
    const int hubs = switched ? (devices_ + 1) / 2 : 0;
    std::vector<int> hub;
    for (int h = 0; h < hubs; ++h) {
      hub.push_back(add(VertexKind::pcie_switch, h));
      join(hub.back(), of(h, hubs), FabricLinkKind::pcie, rate, kPcieLatency, 1);
    }
    const auto above = [&](int index, int count) {
      return hubs > 0 ? hub[static_cast<std::size_t>(static_cast<long>(index) * hubs / count)] : of(index, count);
    };
    for (int d = 0; d < devices_; ++d) join(d, above(d, devices_), FabricLinkKind::pcie, rate, kPcieLatency, 1);
    if (on_device_) return;
    for (int n = 0; n < nics_; ++n) join_nic(n, above(n, nics_), rate);
  }

  /// Ports of the devices themselves are met as fast as they are.
  void join_nics_of_devices() {
    for (int n = 0; n < nics_; ++n)
      join(n * devices_ / nics_, NodeInterior::nic_place(devices_, n), FabricLinkKind::nic,
           options_.nic_bandwidth * cables_, Seconds(0), cables_);
  }

  /// A NIC's slot is as fast as its devices', or as the NIC itself where that is faster: nobody buys one that is not.
  void join_nic(int nic, int to, BytesPerSecond slot) {
    const BytesPerSecond rate = std::max(slot, options_.nic_bandwidth) * cables_;
    join(NodeInterior::nic_place(devices_, nic), to, FabricLinkKind::pcie, rate, kPcieLatency, cables_);
  }

  const Node& node_;
  const InteriorOptions& options_;
  const Accelerator* accelerator_ = nullptr;
  const Cpu* cpu_ = nullptr;
  int devices_, nics_ = 0, cables_ = 1;
  bool on_device_ = false;  ///< NICs are ports of the devices
  std::vector<FabricVertex> places_;
  std::vector<NodeInterior::Wire> wires_;
};

}  // namespace

NodeInterior node_interior(const Node& node, const InteriorOptions& options, const Catalog& catalog) {
  return InteriorBuilder(node, options, catalog).build();
}

}  // namespace stepcast
