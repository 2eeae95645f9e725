#pragma once

#include "models/collectives/collective.hpp"

namespace stepcast {

using NativeShares = decltype(Interconnect::link_share_by_ranks);

/// Share of a device's native links that the first p devices of a node can use among themselves, by p: its own links to
/// the others in a mesh, one dimension's in a torus, all of them behind a switch.
NativeShares link_shares_of(const Node& node);

}  // namespace stepcast
