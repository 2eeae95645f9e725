#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "models/fabric/fabric.hpp"
#include "models/fabric/fabric_spec.hpp"

namespace stepcast {

/// The links of a network between devices, and the way of a message over them.
struct NetworkLinks {
  std::vector<double> bandwidths;  ///< bytes per second and direction, by link
  /// Links from one device to another on another node, in order. `flow` tells apart what may take different ways;
  /// `out` is overwritten.
  std::function<void(int from, int to, std::uint64_t flow, std::vector<int>& out)> route;
  /// Of a torus whose routers are devices' own: what a device meets one link away, once for each of its links there.
  /// Empty in other networks.
  std::function<void(int device, std::vector<int>& out)> neighbours;
  /// Takes a link out of service: later routes avoid it, and throw InputError when there is no other way.
  std::function<void(int link)> fail;
};

/// The network of a fabric: its links by id.
NetworkLinks network_links(std::shared_ptr<const Fabric> fabric, FabricRouting routing, std::uint64_t seed);

}  // namespace stepcast
