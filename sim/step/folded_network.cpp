#include "sim/step/folded_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/collectives/algorithm_table.hpp"
#include "models/storage/storage.hpp"
#include "sim/step/node_storage.hpp"

namespace stepcast {

namespace {

int rank_of(const Job& job, const Column& column, int stage) { return column.base_rank + job.layout.first_rank(stage); }

bool share_nodes(const Job& job) { return job.layout.in_node(Axis::pipeline) > 1; }

}  // namespace

std::vector<int> ranks_that_meet(const RankLayout& layout, GroupKind kind, int rank) {
  std::vector<int> out = layout.group(kind, rank);
  if (kind == GroupKind::pipeline && out.size() > 2) out = {out.front(), out.back()};
  return out;
}

PathId PathTable::path(std::vector<LinkId> links, double weight, BytesPerSecond cap) {
  std::erase(links, kNoLink);
  const auto [entry, fresh] = paths_.try_emplace({links, weight, cap.value()}, 0);
  if (fresh) entry->second = graph_.add_path({std::move(links), weight, cap});
  return entry->second;
}

void FoldedNetwork::watch_representatives(const Job& job, const std::vector<Column>& columns, SharedLinks& shared) {
  for (const Column& column : columns)
    for (int stage = 0; stage < job.scenario->degrees.pp; ++stage)
      for (std::size_t level = 0; level < job.nodes.levels(); ++level)
        if (job.nodes.limits(level))
          shared.watch(level, job.nodes.member(level, job.layout.node_of(rank_of(job, column, stage))));
}

FoldedNetwork::FoldedNetwork(const Job& job, const std::vector<Column>& columns, StepGraph& graph, SharedLinks& shared,
                             const std::vector<Member>& members)
    : job_(job), columns_(columns), graph_(graph), shared_(shared), paths_(graph) {
  ranks_ = job.placement.ranks_per_node;
  ports_.resize(columns.size());
  for (const Member& member : members) {
    const Job& here = job_of(member);
    const Interconnect& net = here.interconnect;
    if (!nodes_.contains(node_key(member.column, member.stage))) add_node(member.column, member.stage);
    const auto link = [&](std::string_view name, BytesPerSecond bandwidth) {
      if (bandwidth <= BytesPerSecond(0)) return kNoLink;
      return graph.add_link(
          {fmt::format("{} {}", graph.devices()[member.device].name, name), bandwidth, member.device});
    };
    // A device's own NICs limit it only when the node's other devices leave theirs unused.
    const BytesPerSecond own = net.rank_network * ranks_;
    const BytesPerSecond nics = own < net.node_network ? own : BytesPerSecond(0);
    ports_[member.column].push_back({link("native out", net.native), link("native in", net.native),
                                     link("NIC out", nics), link("NIC in", nics), link("host link", net.host_link)});
  }
}

const Job& FoldedNetwork::job_of(const Member& member) const {
  return job_.in_state(columns_[member.column].state[member.stage]);
}

std::pair<int, int> FoldedNetwork::node_key(int column, int stage) const {
  return {column, share_nodes(job_) ? job_.layout.node_of(rank_of(job_, columns_[column], stage)) : stage};
}

void FoldedNetwork::add_node(int column, int stage) {
  const int state = columns_[column].state[stage];
  const Interconnect& net = job_.in_state(state).interconnect;
  const auto link = [&](std::string_view name, BytesPerSecond bandwidth) {
    if (bandwidth <= BytesPerSecond(0)) return kNoLink;
    return graph_.add_link({fmt::format("node {} {}", nodes_.size(), name), bandwidth, -1});
  };
  auto links = std::make_unique<NodeLinks>();
  links->nic_out = link("NICs out", net.node_network);
  links->nic_in = link("NICs in", net.node_network);
  links->storage = link("storage", storage_in_state(job_, state).rate.value_or(BytesPerSecond(0)));
  nodes_.emplace(node_key(column, stage), std::move(links));
}

/// Of a stage's nodes in a member of a level, those of a column's class.
double FoldedNetwork::class_share(std::size_t level, int of, int stage, int column) const {
  if (columns_.size() == 1) return 1;
  double all = 0;
  double own = 0;
  job_.layout.each_node_of_stage(stage, [&](int node, int rank) {
    if (job_.nodes.member(level, node) != of) return;
    ++all;
    own += job_.fold.class_of(job_.layout.coordinate(rank, Axis::data)) == columns_[column].replica_class;
  });
  return all > 0 ? own / all : 0;
}

const std::vector<FoldedNetwork::Crossing>& FoldedNetwork::crossings(const Member& member, GroupKind kind) {
  const auto [entry, fresh] = crossings_.try_emplace({member.column, member.stage, kind});
  std::vector<Crossing>& out = entry->second;
  if (!fresh || !job_.nodes.any_limits()) return out;
  const std::vector<int> group =
      ranks_that_meet(job_.layout, kind, rank_of(job_, columns_[member.column], member.stage));
  const std::vector<int> nodes = nodes_of(job_.layout, group);
  const int ranks_per_node = nodes.empty() ? 0 : static_cast<int>(group.size() / nodes.size());
  for (std::size_t level = 0; level < job_.nodes.levels(); ++level) {
    if (!job_.nodes.limits(level)) continue;
    for (const int of : shared_.watched(level)) {
      const double share = class_share(level, of, member.stage, member.column);
      const NodeMap::Load load = job_.nodes.group_load(level, of, member.stage, nodes, ranks_per_node);
      if (share * std::max({load.ring, load.tree, load.direct}) <= 0) continue;
      const auto links =
          shared_.of(level, of, job_.nodes.rails_of(level, member.rank), job_.interconnect.uplinks[level].up);
      out.push_back({paths_.path({links.up, links.down}, std::max(1.0, ranks_ * share * load.ring)),
                     {share * load.ring, share * load.tree, share * load.direct}});
    }
  }
  return out;
}

const std::vector<FoldedNetwork::Crossing>& FoldedNetwork::message_crossings(const Member& from, const Member& to) {
  const auto [entry, fresh] = message_crossings_.try_emplace({from.column, from.stage, to.stage});
  std::vector<Crossing>& out = entry->second;
  if (!fresh || !job_.nodes.any_limits()) return out;
  for (std::size_t level = 0; level < job_.nodes.levels(); ++level) {
    if (!job_.nodes.limits(level)) continue;
    const auto links_of = [&](int member) {
      if (!shared_.watched(level).contains(member)) return SharedLinks::UpDown{kNoLink, kNoLink};
      return shared_.of(level, member, job_.nodes.rails_of(level, from.rank), job_.interconnect.uplinks[level].up);
    };
    for (const NodeMap::MessageLoad& messages : job_.nodes.message_loads(level, from.stage, to.stage)) {
      const LinkId up = links_of(messages.from).up, down = links_of(messages.to).down;
      if (up == kNoLink && down == kNoLink) continue;
      const double load = messages.load * class_share(level, messages.from, from.stage, from.column);
      if (load > 0) out.push_back({paths_.path({up, down}, std::max(1.0, ranks_ * load)), {load, load, load}});
    }
  }
  return out;
}

std::vector<Flow> FoldedNetwork::collective(const Member& member, GroupKind kind, const CollectiveCost& cost) {
  const DevicePort& own = port(member);
  std::vector<Flow> flows;
  // What a collective does not reach of a link's rate is lost to protocol and to ranks that share it, not left to
  // others: its bytes occupy the link for as long as they take.
  if (cost.native_bytes > Bytes(0))
    flows.push_back({paths_.path({own.native_out, own.native_in}, 1), cost.native_bytes / cost.native_cap});
  if (cost.network_bytes <= Bytes(0)) return flows;
  const NodeLinks& links = node(member);
  const Bytes of_node = cost.network_bytes * (ranks_ / cost.network_cap);
  flows.push_back({paths_.path({own.nic_out, links.nic_out, links.nic_in, own.nic_in}, ranks_), of_node});
  for (const Crossing& crossing : crossings(member, kind))
    if (const double load = crossing.load.of(pattern_of(cost.algorithm)); load > 0)
      flows.push_back({crossing.path, of_node * load});
  return flows;
}

std::vector<Flow> FoldedNetwork::message(const Member& from, const Member& to, const CollectiveCost& cost) {
  const Interconnect& net = job_of(from).interconnect;
  const Interconnect& far = job_of(to).interconnect;
  const DevicePort& out = port(from);
  const DevicePort& in = port(to);
  std::vector<Flow> flows;
  if (cost.native_bytes > Bytes(0))
    flows.push_back({paths_.path({out.native_out, in.native_in}, 1, net.native * cost.native_cap), cost.native_bytes});
  if (cost.network_bytes <= Bytes(0)) return flows;
  const NodeLinks& sender = node(from);
  const NodeLinks& receiver = node(to);
  const BytesPerSecond rate =
      std::min({net.rank_network * ranks_, net.node_network, far.rank_network * ranks_, far.node_network});
  const Bytes of_node = cost.network_bytes * ranks_;
  flows.push_back(
      {paths_.path({out.nic_out, sender.nic_out, receiver.nic_in, in.nic_in}, ranks_, rate * cost.network_cap),
       of_node});
  // It reaches its share of the up-links too, as in the closed form; what it does not reach is lost to all.
  for (const Crossing& crossing : message_crossings(from, to))
    flows.push_back({crossing.path, of_node * (crossing.load.ring / cost.network_cap)});
  return flows;
}

std::vector<Flow> FoldedNetwork::storage_read(const Member& member, Bytes per_device) {
  const NodeLinks& links = node(member);
  const Scenario& scenario = *job_.scenario;
  if (per_device <= Bytes(0)) return {};
  const NodeStorage storage = storage_in_state(job_, columns_[member.column].state[member.stage]);
  const Bytes of_node = per_device * (ranks_ * storage.fetched);
  std::vector<Flow> flows;
  if (links.storage != kNoLink) {
    const LinkId way = storage.over_nics ? links.nic_in : kNoLink;
    flows.push_back({paths_.path({links.storage, way}, ranks_), of_node});
  }
  if (reads_shared(scenario) && scenario.storage->aggregate_read) {
    const double nodes = columns_[member.column].multiplicity / ranks_;
    const LinkId system = shared_.storage(scenario.storage->id, *scenario.storage->aggregate_read);
    flows.push_back({paths_.path({system}, std::max(1.0, nodes * ranks_)), of_node * nodes});
  }
  return flows;
}

std::vector<Flow> FoldedNetwork::storage_write(const Member& member, Bytes per_device, BytesPerSecond rate) {
  const LinkId way = node(member).nic_out;
  if (way == kNoLink || per_device <= Bytes(0)) return {};
  return {{paths_.path({way}, ranks_, rate * ranks_), per_device * ranks_}};
}

std::vector<Flow> FoldedNetwork::host_to_device(const Member& member, Bytes per_device) {
  if (port(member).host == kNoLink || per_device <= Bytes(0)) return {};
  const BytesPerSecond most = input_copy_rate(*job_of(member).scenario).value_or(BytesPerSecond(0));
  return {{paths_.path({port(member).host}, 1, most), per_device}};
}

}  // namespace stepcast
