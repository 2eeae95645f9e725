#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/fabric/fabric.hpp"

namespace stepcast {

/// Shortest routes over a fabric, worked out when first asked for.
///
/// Among equal next hops a flow takes one by a hash of its number (`ecmp`), or the flows of a switch take them in turn
/// (`adaptive`). A device reaches the network by the NIC nearest to it; with rails, by the NIC of its rail.
class Router {
 public:
  Router(const Fabric& fabric, FabricRouting routing, std::uint64_t seed = 1);

  /// Link ids from one device to another, in order; empty when they are the same. `out` is overwritten.
  /// Throws InputError when there is no way.
  void route(int from_device, int to_device, std::uint64_t flow, std::vector<int>& out);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace stepcast
