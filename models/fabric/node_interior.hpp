#pragma once

#include <span>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "models/fabric/fabric_link.hpp"

namespace stepcast {

/// What is inside a node of a fabric: every node of a kind has the same, so it is worked out once.
///
/// Places are numbered from 0: devices first, then NICs, then the rest. A wire is one direction of a link. Routes keep
/// to the native links where these join two devices, over an intermediate device if need be (as NCCL does on a hybrid
/// cube mesh), and else take PCIe and sockets, on which no device is passed.
class NodeInterior {
 public:
  struct Wire {
    int from = 0, to = 0;
    FabricLink link;
  };

  NodeInterior() = default;
  NodeInterior(std::vector<FabricVertex> places, std::vector<Wire> wires, int devices, int nics);

  [[nodiscard]] int devices() const { return devices_; }
  /// NICs that are places of their own; several of one device may be one place (nic_cables of them).
  [[nodiscard]] int nics() const { return nics_; }
  [[nodiscard]] std::span<const FabricVertex> places() const { return places_; }
  [[nodiscard]] std::span<const Wire> wires() const { return wires_; }
  /// Wires from one place to another in order; empty when they are the same or nothing joins them.
  [[nodiscard]] std::span<const int> route(int from, int to) const;
  [[nodiscard]] bool joined(int from, int to) const { return from == to || !route(from, to).empty(); }
  /// Two devices reach one another over native links alone.
  [[nodiscard]] bool natively_joined(int from, int to) const;
  /// The NICs that a device uses: its own, or the nearest.
  [[nodiscard]] std::span<const int> nearest_nics(int device) const;
  /// The device next to a NIC, by which others reach it with PXN.
  [[nodiscard]] int device_of_nic(int nic) const;

  static constexpr int nic_place(int devices, int nic) { return devices + nic; }

 private:
  friend class NodeInteriorRoutes;
  /// In `routes_`.
  [[nodiscard]] std::size_t place_of(int from, int to) const {
    const std::size_t ends = static_cast<std::size_t>(devices_) + static_cast<std::size_t>(nics_);
    return static_cast<std::size_t>(from) * ends + static_cast<std::size_t>(to);
  }
  std::vector<FabricVertex> places_;
  std::vector<Wire> wires_;
  int devices_ = 0, nics_ = 0;
  std::vector<std::vector<int>> routes_;  ///< a row for each end: devices, then NICs
  std::vector<std::vector<int>> nearest_;
};

/// How the NICs of a node are drawn.
struct InteriorOptions {
  int nics = 0;                   ///< that carry training traffic
  BytesPerSecond nic_bandwidth;   ///< of each
  bool each_nic_apart = false;    ///< rails: several NICs of one device stay places of their own
  bool nics_are_routers = false;  ///< TPU hosts: each device is its NIC's, and the torus joins those of a node too
};

/// The interior of a node of the catalogue: its accelerators' native links (switch, mesh, listed links, torus), PCIe
/// switches, sockets and NICs. PCIe switches stand between where a node has a NIC for every two devices or more: one
/// for each two devices and their NICs, as on HGX and DGX boards; otherwise devices hang on their socket. Devices and
/// NICs are dealt to sockets in equal runs.
NodeInterior node_interior(const Node& node, const InteriorOptions& options, const Catalog& catalog);

}  // namespace stepcast
