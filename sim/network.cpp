#include "sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/storage/storage.hpp"

namespace stepcast {

namespace {
constexpr LinkId kNoLink = -1;

/// What the devices of a stage on one node can send together.
BytesPerSecond network_rate(const Interconnect& net, double ranks) {
  const BytesPerSecond shared = net.node_network / std::max(1.0, net.uplink_oversubscription);
  return std::min(net.rank_network * ranks, shared);
}

}  // namespace

FoldedNetwork::FoldedNetwork(const Job& job, StepGraph& graph) : job_(job), graph_(graph) {
  const Interconnect& net = job.interconnect;
  ranks_ = job.placement.ranks_per_node;
  const auto link = [&](std::string name, BytesPerSecond bandwidth, int device) {
    return bandwidth > BytesPerSecond(0) ? graph.add_link({std::move(name), bandwidth, device}) : kNoLink;
  };
  for (int n = 0; n < job.placement.nodes; ++n) {
    const bool narrow = net.uplink_oversubscription > 1;
    const BytesPerSecond up = narrow ? net.node_network / net.uplink_oversubscription : BytesPerSecond(0);
    nodes_.push_back(
        {link(fmt::format("node {} NICs out", n), net.node_network, -1),
         link(fmt::format("node {} NICs in", n), net.node_network, -1), link(fmt::format("node {} up-link", n), up, -1),
         link(fmt::format("node {} down-link", n), up, -1),
         link(fmt::format("node {} storage", n), node_read_rate(*job.scenario).value_or(BytesPerSecond(0)), -1)});
  }
  for (int s = 0; s < static_cast<int>(job.placement.node.size()); ++s) {
    // A device's own NICs limit it only when the node's other devices leave theirs unused.
    const BytesPerSecond own = net.rank_network * ranks_;
    const BytesPerSecond port = own < net.node_network ? own : BytesPerSecond(0);
    ports_.push_back({link(fmt::format("stage {} native out", s), net.native, s),
                      link(fmt::format("stage {} native in", s), net.native, s),
                      link(fmt::format("stage {} NIC out", s), port, s),
                      link(fmt::format("stage {} NIC in", s), port, s),
                      link(fmt::format("stage {} host link", s), net.host_link, s)});
  }
}

PathId FoldedNetwork::path(std::vector<LinkId> links, double weight, BytesPerSecond cap) {
  std::erase(links, kNoLink);
  const auto [entry, fresh] = paths_.try_emplace({links, weight, cap.value()}, 0);
  if (fresh) entry->second = graph_.add_path({std::move(links), weight, cap});
  return entry->second;
}

std::vector<Flow> FoldedNetwork::collective(int stage, const CollectiveCost& cost) {
  const Port& port = ports_[stage];
  std::vector<Flow> flows;
  // What a collective does not reach of a link's rate is lost to protocol and to ranks that share it, not left to
  // others: its bytes occupy the link for as long as they take.
  if (cost.native_bytes > Bytes(0))
    flows.push_back(
        {path({port.native_out, port.native_in}, 1, BytesPerSecond(0)), cost.native_bytes / cost.native_cap});
  if (cost.network_bytes > Bytes(0)) {
    const NodeLinks& node = nodes_[job_.placement.node[stage]];
    flows.push_back(
        {path({port.nic_out, node.nic_out, node.up, node.down, node.nic_in, port.nic_in}, ranks_, BytesPerSecond(0)),
         cost.network_bytes * (ranks_ / cost.network_cap)});
  }
  return flows;
}

std::vector<Flow> FoldedNetwork::message(int from, int to, const CollectiveCost& cost) {
  const Interconnect& net = job_.interconnect;
  const Port& out = ports_[from];
  const Port& in = ports_[to];
  std::vector<Flow> flows;
  if (cost.native_bytes > Bytes(0))
    flows.push_back({path({out.native_out, in.native_in}, 1, net.native * cost.native_cap), cost.native_bytes});
  if (cost.network_bytes > Bytes(0)) {
    const NodeLinks& sender = nodes_[job_.placement.node[from]];
    const NodeLinks& receiver = nodes_[job_.placement.node[to]];
    const BytesPerSecond cap = network_rate(job_.interconnect, ranks_) * cost.network_cap;
    flows.push_back(
        {path({out.nic_out, sender.nic_out, sender.up, receiver.down, receiver.nic_in, in.nic_in}, ranks_, cap),
         cost.network_bytes * ranks_});
  }
  return flows;
}

std::vector<Flow> FoldedNetwork::storage_read(int stage, Bytes per_device) {
  const LinkId drives = nodes_[job_.placement.node[stage]].storage;
  if (drives == kNoLink || per_device <= Bytes(0)) return {};
  return {{path({drives}, ranks_, BytesPerSecond(0)), per_device * ranks_}};
}

std::vector<Flow> FoldedNetwork::host_to_device(int stage, Bytes per_device) {
  if (ports_[stage].host == kNoLink || per_device <= Bytes(0)) return {};
  return {{path({ports_[stage].host}, 1, BytesPerSecond(0)), per_device}};
}

}  // namespace stepcast
