#pragma once

#include "models/collectives/collective.hpp"

namespace stepcast {

using NativeShares = decltype(Interconnect::link_share_by_ranks);

/// Share of a device's native links that the first p devices of a node can use among themselves, by p: its own links to
/// the others in a mesh or a torus, all of them behind a switch.
NativeShares link_shares_of(const Node& node, const Accelerator* accelerator);

/// Whether devices have links to each other, and no switch between them.
bool joins_devices_directly(const Node& node);

/// Of the first p devices of a node, how many are joined by native links in the smallest of the groups that these links
/// make: 2 of bridged pairs, p where links lead from each device to each other one.
int least_joined(const Node& node, int ranks);

/// Whether native links lead, over any of them, from each of the first p devices of a node to each other one. Bridged
/// pairs do not reach one another.
bool links_reach_all(const Node& node, int ranks);

/// The shares of such a node where the first p devices form one ring in their order, as NCCL 1 did (core.cu: one ring;
/// a pair that cannot access each other's memory, as without a link across sockets, meets in the host's): the scarcest
/// pair's links over all of a device. `host` is what the way through host memory carries, over a device's native rate.
NativeShares single_ring_shares(const Node& node, double host);

}  // namespace stepcast
