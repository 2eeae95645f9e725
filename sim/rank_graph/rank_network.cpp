#include "sim/rank_graph/rank_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/collectives/algorithm_table.hpp"

namespace stepcast {

namespace {
constexpr LinkId kAbsent = -1;
}

RankNetwork::RankNetwork(const GraphCluster& cluster, const RankClasses& classes, StepGraph& graph)
    : cluster_(cluster), classes_(classes), graph_(graph) {
  const Interconnect& net = cluster.interconnect;
  for (int of = 0; of < classes.count(); ++of) {
    const auto name = [&](std::string_view what) {
      return fmt::format("rank {} {}", classes.representative(of), what);
    };
    // A rank's own NICs limit it only when the node's other ranks leave theirs unused.
    const BytesPerSecond own = net.rank_network * classes.per_node(of);
    const BytesPerSecond nics = own < net.node_network ? own : BytesPerSecond(0);
    ports_.push_back({link(name("native out"), net.native, of), link(name("native in"), net.native, of),
                      link(name("NIC out"), nics, of), link(name("NIC in"), nics, of)});
  }
}

LinkId RankNetwork::link(std::string name, BytesPerSecond bandwidth, int device) {
  return bandwidth > BytesPerSecond(0) ? graph_.add_link({std::move(name), bandwidth, device}) : kAbsent;
}

PathId RankNetwork::path(std::vector<LinkId> links, double weight, BytesPerSecond cap) {
  std::erase(links, kAbsent);
  const auto [entry, fresh] = paths_.try_emplace({links, weight, cap.value()}, 0);
  if (fresh) entry->second = graph_.add_path({std::move(links), weight, cap});
  return entry->second;
}

const RankNetwork::NodeLinks& RankNetwork::node_of(int of) {
  const int node = cluster_.node_of(classes_.representative(of));
  const auto [entry, fresh] = nodes_.try_emplace(node, NodeLinks{});
  if (!fresh) return entry->second;
  const BytesPerSecond nics = cluster_.interconnect.node_network;
  entry->second = {link(fmt::format("node {} NICs out", node), nics, -1),
                   link(fmt::format("node {} NICs in", node), nics, -1),
                   link(fmt::format("node {} drives", node), cluster_.drives.value_or(BytesPerSecond(0)), -1)};
  return entry->second;
}

RankNetwork::UpDown RankNetwork::level_links(std::size_t level, int member) {
  const auto [entry, fresh] = levels_.try_emplace({level, member}, UpDown{});
  if (!fresh) return entry->second;
  const BytesPerSecond up = cluster_.interconnect.uplinks[level].up;
  entry->second = {link(fmt::format("level {} member {} up-links", level, member), up, -1),
                   link(fmt::format("level {} member {} down-links", level, member), up, -1)};
  return entry->second;
}

std::vector<Flow> RankNetwork::collective(int of, const CollectiveCost& cost, const GroupShape& group) {
  const Port& port = ports_[of];
  std::vector<Flow> flows;
  // What a collective does not reach of a link's rate is lost to protocol and to ranks that share it, not left to
  // others: its bytes occupy the link for as long as they take.
  if (cost.native_bytes > Bytes(0))
    flows.push_back(
        {path({port.native_out, port.native_in}, 1, BytesPerSecond(0)), cost.native_bytes / cost.native_cap});
  if (cost.network_bytes <= Bytes(0)) return flows;
  const NodeLinks& node = node_of(of);
  const double ranks = classes_.per_node(of);
  const Bytes of_node = cost.network_bytes * (ranks / cost.network_cap);
  flows.push_back({path({port.nic_out, node.nic_out, node.nic_in, port.nic_in}, ranks, BytesPerSecond(0)), of_node});
  const int at = cluster_.node_of(classes_.representative(of));
  for (std::size_t level = 0; level < cluster_.interconnect.uplinks.size(); ++level) {
    const double load = group.above[level].of(pattern_of(cost.algorithm));
    if (load <= 0) continue;
    const auto [up, down] = level_links(level, cluster_.member(level, at));
    flows.push_back({path({up, down}, std::max(1.0, ranks * load), BytesPerSecond(0)), of_node * load});
  }
  return flows;
}

std::vector<Flow> RankNetwork::message(int from, int to, const CollectiveCost& cost) {
  const Interconnect& net = cluster_.interconnect;
  const Port &out = ports_[from], &in = ports_[to];
  std::vector<Flow> flows;
  if (cost.native_bytes > Bytes(0))
    flows.push_back({path({out.native_out, in.native_in}, 1, net.native * cost.native_cap), cost.native_bytes});
  if (cost.network_bytes <= Bytes(0)) return flows;
  const double ranks = classes_.per_node(from);
  const NodeLinks &sender = node_of(from), &receiver = node_of(to);
  const BytesPerSecond rate = std::min(net.rank_network * ranks, net.node_network);
  std::vector<LinkId> links{out.nic_out, sender.nic_out};
  const int source = cluster_.node_of(classes_.representative(from));
  const int target = cluster_.node_of(classes_.representative(to));
  for (std::size_t level = 0; level < net.uplinks.size(); ++level) {
    const int leaves = cluster_.member(level, source), enters = cluster_.member(level, target);
    if (leaves == enters) continue;
    links.push_back(level_links(level, leaves).up);
    links.push_back(level_links(level, enters).down);
  }
  links.insert(links.end(), {receiver.nic_in, in.nic_in});
  flows.push_back({path(std::move(links), ranks, rate * cost.network_cap), cost.network_bytes * ranks});
  return flows;
}

std::vector<Flow> RankNetwork::storage(int of, Bytes bytes) {
  const LinkId drives = node_of(of).drives;
  if (drives == kAbsent || bytes <= Bytes(0)) return {};
  const double ranks = classes_.per_node(of);
  return {{path({drives}, ranks, BytesPerSecond(0)), bytes * ranks}};
}

}  // namespace stepcast
