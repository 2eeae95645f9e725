#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/fabric/fabric.hpp"

namespace stepcast {

/// Shortest routes over a fabric (in a Clos network: up and down), worked out when first asked for.
///
/// A device reaches the network by the NIC nearest to it, its flows taking several in turn by their number. With rails
/// a message leaves by the NIC of its receiver's rail: on its own rail directly, else (pxn) over the native links
/// through the device of that rail. Among equal next hops a flow takes one by a hash of its ends and number (`ecmp`),
/// or in turn by receiver (`adaptive`; in a Clos network drawn by tiers there is one way only, of the joint rate). A
/// torus is crossed axis by axis, the shorter way round.
class Router {
 public:
  /// The fabric must outlive the router.
  Router(const Fabric& fabric, FabricRouting routing, std::uint64_t seed = 1);

  /// Link ids from one device to another, in order; empty when they are the same. `out` is overwritten. Devices are
  /// numbered by rank. Throws InputError when there is no way.
  void route(int from_device, int to_device, std::uint64_t flow, std::vector<int>& out);
  /// Takes a link out of service: later routes avoid it.
  void fail(int link);

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// Two ends and the number of a flow between them.
struct FlowEnds {
  int from = 0, to = 0;  ///< devices
  std::uint64_t flow = 0;
};

/// How many of a set of flows cross each link.
struct LinkLoads {
  std::vector<int> flows;  ///< by link id
  int worst_link = -1;     ///< −1: no flow crosses any
  double worst = 0;        ///< flows per byte/s of that link: seconds that one byte of each flow takes there
};

/// The load of flows that all run at once and are of equal size; with ecmp the worst link shows the collisions.
LinkLoads count_link_loads(const Fabric& fabric, Router& router, std::span<const FlowEnds> flows);

}  // namespace stepcast
