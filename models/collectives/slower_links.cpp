#include "models/collectives/slower_links.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Of two limits of which 0 is none.
BytesPerSecond lesser_limit(BytesPerSecond a, BytesPerSecond b) {
  const BytesPerSecond none(0);
  return a > none && b > none ? std::min(a, b) : std::max(a, b);
}

void take_slower(SendProtocol& protocol, const SendProtocol& other) {
  for (Seconds SendProtocol::*hop : {&SendProtocol::native_hop, &SendProtocol::network_hop, &SendProtocol::tree_hop})
    protocol.*hop = std::max(protocol.*hop, other.*hop);
  for (double SendProtocol::*share : {&SendProtocol::native_share, &SendProtocol::network_share})
    protocol.*share = std::min(protocol.*share, other.*share);
  protocol.offered = protocol.offered && other.offered;
  protocol.crosses = protocol.crosses && other.crosses;
  protocol.node_limit = lesser_limit(protocol.node_limit, other.node_limit);
}

void take_slower(PeerMessages& peers, const PeerMessages& other) {
  peers.simple_start = std::max(peers.simple_start, other.simple_start);
  peers.network_simple_start = std::max(peers.network_simple_start, other.network_simple_start);
  peers.peer_rate = lesser_limit(peers.peer_rate, other.peer_rate);
  peers.channel = lesser_limit(peers.channel, other.channel);
  peers.small_rate = std::min(peers.small_rate, other.small_rate);
}

/// Ranks tell each other what their nodes have, and all look up the least (NCCL: graph/tuning.cc); switches add on all
/// of them or on none.
void take_slower(TunerTables& tables, const TunerTables& other) {
  tables.known = tables.known && other.known;
  for (double TunerTables::*rate : {&TunerTables::bus, &TunerTables::ll, &TunerTables::ll128, &TunerTables::nvls})
    tables.*rate = std::min(tables.*rate, other.*rate);
}

/// Shares of the native rate, which becomes the lesser one.
void take_slower_native(Interconnect& links, const Interconnect& other) {
  const BytesPerSecond least = std::min(links.native, other.native);
  const auto lesser = [&](double own, double theirs) {
    return std::min(links.native * own, other.native * theirs) / least;
  };
  if (!(least > BytesPerSecond(0))) return;
  for (std::size_t ranks = 0; ranks < links.native_share_by_ranks.size(); ++ranks) {
    links.native_share_by_ranks[ranks] = lesser(links.native_share_by_ranks[ranks], other.native_share_by_ranks[ranks]);
    links.link_share_by_ranks[ranks] = lesser(links.link_share_by_ranks[ranks], other.link_share_by_ranks[ranks]);
  }
  links.all_to_all_native_share = lesser(links.all_to_all_native_share, other.all_to_all_native_share);
  links.torus_share = static_cast<float>(lesser(links.torus_share, other.torus_share));
  links.native = least;
}

}  // namespace

void take_slower(Interconnect& links, const Interconnect& other) {
  take_slower_native(links, other);
  for (BytesPerSecond Interconnect::*rate :
       {&Interconnect::host_link, &Interconnect::nic, &Interconnect::node_network, &Interconnect::rank_network})
    links.*rate = std::min(links.*rate, other.*rate);
  for (Seconds Interconnect::*time :
       {&Interconnect::native_hop, &Interconnect::network_hop, &Interconnect::launch, &Interconnect::network_launch,
        &Interconnect::network_hop_at_scale, &Interconnect::remote_peer_start_at_scale, &Interconnect::peer_start,
        &Interconnect::remote_peer_start})
    links.*time = std::max(links.*time, other.*time);
  for (double Interconnect::*share : {&Interconnect::all_to_all_share, &Interconnect::send_share})
    links.*share = std::min(links.*share, other.*share);
  links.nics = std::min(links.nics, other.nics);
  links.private_native = links.private_native && other.private_native;
  links.loss_per_doubling = std::max(links.loss_per_doubling, other.loss_per_doubling);
  for (bool Interconnect::*runs :
       {&Interconnect::network_sums, &Interconnect::switch_trees, &Interconnect::two_node_tree})
    links.*runs = links.*runs && other.*runs;
  links.message_rate = lesser_limit(links.message_rate, other.message_rate);
  links.switch_sums.rate = std::min(links.switch_sums.rate, other.switch_sums.rate);
  links.switch_sums.start = std::max(links.switch_sums.start, other.switch_sums.start);
  for (SendProtocol Interconnect::*protocol :
       {&Interconnect::small_messages, &Interconnect::middle_messages, &Interconnect::bulk})
    take_slower(links.*protocol, other.*protocol);
  take_slower(links.peers, other.peers);
  take_slower(links.tuner, other.tuner);
}

}  // namespace stepcast
