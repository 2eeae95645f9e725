#include "sim/step/full_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/collectives/algorithm_table.hpp"
#include "models/collectives/double_tree.hpp"
#include "models/storage/storage.hpp"
#include "sim/step/node_storage.hpp"

namespace stepcast {

FullNetwork::FullNetwork(const Job& job, const std::vector<Column>& columns, StepGraph& graph, SharedLinks& shared,
                         const std::vector<Member>& members)
    : job_(job),
      columns_(columns),
      graph_(graph),
      shared_(shared),
      paths_(graph),
      ports_(static_cast<std::size_t>(job.layout.devices())) {
  for (const Member& member : members) {
    const Interconnect& net = job_of(member).interconnect;
    add_node(member);
    const auto link = [&](std::string_view name, BytesPerSecond bandwidth) {
      if (bandwidth <= BytesPerSecond(0)) return kNoLink;
      return graph.add_link({fmt::format("rank {} {}", member.rank, name), bandwidth, member.device});
    };
    const BytesPerSecond nics = net.rank_network < net.node_network ? net.rank_network : BytesPerSecond(0);
    ports_[member.rank] = {link("native out", net.native), link("native in", net.native), link("NIC out", nics),
                           link("NIC in", nics), link("host link", net.host_link)};
  }
}

const Job& FullNetwork::job_of(const Member& member) const {
  return job_.in_state(columns_[member.column].state[member.stage]);
}

void FullNetwork::add_node(const Member& member) {
  const int node = job_.layout.node_of(member.rank);
  if (nodes_.contains(node)) return;
  const int state = columns_[member.column].state[member.stage];
  const Interconnect& net = job_.in_state(state).interconnect;
  const auto link = [&](std::string_view name, BytesPerSecond bandwidth) {
    if (bandwidth <= BytesPerSecond(0)) return kNoLink;
    return graph_.add_link({fmt::format("node {} {}", node, name), bandwidth, -1});
  };
  nodes_[node] = {link("NICs out", net.node_network), link("NICs in", net.node_network),
                  link("storage", storage_in_state(job_, state).rate.value_or(BytesPerSecond(0)))};
}

const FullNetwork::Peers& FullNetwork::peers(int rank, GroupKind kind) {
  const auto [entry, fresh] = peers_.try_emplace({rank, kind});
  Peers& out = entry->second;
  if (!fresh) return out;
  const RankLayout& layout = job_.layout;
  const std::vector<int> group = ranks_that_meet(layout, kind, rank);
  const int node = layout.node_of(rank);
  std::vector<int> mine;
  for (const int other : group)
    if (layout.node_of(other) == node) mine.push_back(other);
  const auto place = static_cast<std::size_t>(std::find(mine.begin(), mine.end(), rank) - mine.begin());
  out.native = mine[(place + 1) % mine.size()];
  const std::vector<int> nodes = nodes_of(layout, group);
  const auto at = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
  std::vector<int> next;
  for (const int other : group)
    if (layout.node_of(other) == nodes[(at + 1) % nodes.size()]) next.push_back(other);
  out.network = next[place % next.size()];
  out.has_counterpart = place < next.size();
  const auto remote = static_cast<double>(group.size() - mine.size());
  for (std::size_t level = 0; level < job_.nodes.levels(); ++level) {
    const auto outside =
        std::count_if(group.begin(), group.end(), [&](int other) { return job_.nodes.leaves(level, rank, other); });
    out.outside.push_back(remote > 0 ? static_cast<double>(outside) / remote : 0);
    std::vector<int> members;
    members.reserve(nodes.size());
    for (const int one : nodes) members.push_back(job_.nodes.member(level, one));
    out.tree.push_back(double_tree_crossings(members)[at]);
  }
  return out;
}

SharedLinks::UpDown FullNetwork::uplinks(std::size_t level, int of, int rank) {
  const BytesPerSecond usable = job_.interconnect.uplinks[level].up * job_.nodes.usable(level);
  return shared_.of(level, of, job_.nodes.rails_of(level, rank), usable);
}

void FullNetwork::add_levels(std::vector<LinkId>& links, int from, int to) {
  for (std::size_t level = 0; level < job_.nodes.levels(); ++level) {
    if (!job_.nodes.limits(level) || !job_.nodes.leaves(level, from, to)) continue;
    const int sender = job_.nodes.member(level, job_.layout.node_of(from));
    const int receiver = job_.nodes.member(level, job_.layout.node_of(to));
    links.push_back(uplinks(level, sender, from).up);
    links.push_back(uplinks(level, receiver, from).down);
  }
}

std::vector<Flow> FullNetwork::collective(const Member& member, GroupKind kind, const CollectiveCost& cost) {
  const DevicePort& own = ports_[member.rank];
  const Peers& to = peers(member.rank, kind);
  std::vector<Flow> flows;
  if (cost.native_bytes > Bytes(0))
    flows.push_back(
        {paths_.path({own.native_out, ports_[to.native].native_in}, 1), cost.native_bytes / cost.native_cap});
  if (cost.network_bytes <= Bytes(0)) return flows;
  const int node = job_.layout.node_of(member.rank);
  const Bytes bytes = cost.network_bytes / cost.network_cap;
  if (const MessagePattern pattern = pattern_of(cost.algorithm);
      pattern == MessagePattern::direct || pattern == MessagePattern::tree) {
    const std::vector<double>& outside = to.out_of_members(pattern);
    const NodeLinks& links = nodes_.at(node);
    flows.push_back({paths_.path({own.nic_out, links.nic_out, links.nic_in, own.nic_in}, 1), bytes});
    for (std::size_t level = 0; level < job_.nodes.levels(); ++level) {
      if (!job_.nodes.limits(level) || outside[level] <= 0) continue;
      const auto up = uplinks(level, job_.nodes.member(level, node), member.rank);
      flows.push_back({paths_.path({up.up, up.down}, 1), bytes * outside[level]});
    }
    return flows;
  }
  const int next = job_.layout.node_of(to.network);
  std::vector<LinkId> links{own.nic_out, nodes_.at(node).nic_out};
  add_levels(links, member.rank, to.network);
  links.push_back(nodes_.at(next).nic_in);
  // A group may have fewer ranks on the next node; what they have no port for enters by ports of its others.
  links.push_back(to.has_counterpart ? ports_[to.network].nic_in : own.nic_in);
  flows.push_back({paths_.path(std::move(links), 1), bytes});
  return flows;
}

std::vector<Flow> FullNetwork::message(const Member& from, const Member& to, const CollectiveCost& cost) {
  const Interconnect& net = job_of(from).interconnect;
  const Interconnect& far = job_of(to).interconnect;
  const DevicePort& out = ports_[from.rank];
  const DevicePort& in = ports_[to.rank];
  std::vector<Flow> flows;
  if (cost.native_bytes > Bytes(0))
    flows.push_back({paths_.path({out.native_out, in.native_in}, 1, net.native * cost.native_cap), cost.native_bytes});
  if (cost.network_bytes <= Bytes(0)) return flows;
  const int sender = job_.layout.node_of(from.rank);
  const int receiver = job_.layout.node_of(to.rank);
  const double ranks = job_.placement.ranks_per_node;
  const BytesPerSecond rate =
      std::min({net.rank_network, net.node_network / ranks, far.rank_network, far.node_network / ranks});
  flows.push_back({paths_.path({out.nic_out, nodes_.at(sender).nic_out, nodes_.at(receiver).nic_in, in.nic_in}, 1,
                               rate * cost.network_cap),
                   cost.network_bytes});
  // As the closed form has it, a message reaches its share of the up-links too: its bytes occupy them for as long as
  // they take. At the NICs its cap leaves the rest to others.
  std::vector<LinkId> links;
  add_levels(links, from.rank, to.rank);
  if (!links.empty()) flows.push_back({paths_.path(std::move(links), 1), cost.network_bytes / cost.network_cap});
  return flows;
}

std::vector<Flow> FullNetwork::storage_read(const Member& member, Bytes per_device) {
  const NodeLinks& links = nodes_.at(job_.layout.node_of(member.rank));
  const Scenario& scenario = *job_.scenario;
  if (per_device <= Bytes(0)) return {};
  const LinkId system = reads_shared(scenario) && scenario.storage->aggregate_read
                            ? shared_.storage(scenario.storage->id, *scenario.storage->aggregate_read)
                            : kNoLink;
  const NodeStorage storage = storage_in_state(job_, columns_[member.column].state[member.stage]);
  const LinkId way = storage.over_nics ? links.nic_in : kNoLink;
  if (links.storage == kNoLink && system == kNoLink) return {};
  return {{paths_.path({system, links.storage, way}, 1), per_device * storage.fetched}};
}

std::vector<Flow> FullNetwork::storage_write(const Member& member, Bytes per_device, BytesPerSecond rate) {
  const LinkId way = nodes_.at(job_.layout.node_of(member.rank)).nic_out;
  if (way == kNoLink || per_device <= Bytes(0)) return {};
  return {{paths_.path({way}, 1, rate), per_device}};
}

std::vector<Flow> FullNetwork::host_to_device(const Member& member, Bytes per_device) {
  const LinkId host = ports_[member.rank].host;
  if (host == kNoLink || per_device <= Bytes(0)) return {};
  const BytesPerSecond most = input_copy_rate(*job_of(member).scenario).value_or(BytesPerSecond(0));
  return {{paths_.path({host}, 1, most), per_device}};
}

}  // namespace stepcast
