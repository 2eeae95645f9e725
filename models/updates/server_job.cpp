#include "models/updates/server_job.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "models/collectives/machine.hpp"
#include "models/parallelism/tensors.hpp"
#include "models/updates/job_ports.hpp"
#include "models/updates/server_shards.hpp"
#include "models/updates/worker_noise.hpp"

namespace stepcast {

namespace {

// Host memory where the catalogue does not know it: a socket with eight channels of DDR4-3200.
constexpr BytesPerSecond kUnknownMemory = 200_GBps;
// Adding a gradient reads it and the sum and writes the sum; threads reach about a half of the memory's rate.
// Estimated.
constexpr double kSumAccesses = 3;
constexpr double kHostMemoryShare = 0.5;

BytesPerSecond host_memory(const Scenario& scenario) {
  const Node& node = scenario.server_node != nullptr ? *scenario.server_node : *scenario.node;
  return node.memory_bandwidth > BytesPerSecond(0) ? node.memory_bandwidth : kUnknownMemory;
}

/// What an update by the strategy's optimizer takes over one by the model's usual one, which a server's rate stands
/// for, by their least traffic on fp32. Servers that sum the gradients of several workers first apply the sum.
double update_over_usual(const Scenario& scenario) {
  if (scenario.framework->exchange.workers_update) return 1;
  const double over =
      least_update_bytes(optimizer_of(scenario), {}) / least_update_bytes(usual_optimizer(*scenario.model), {});
  const bool summed = scenario.update == UpdateMode::synchronous || scenario.update == UpdateMode::backup_workers;
  const int pushes = summed ? workers_of(scenario) - scenario.spec.strategy.backup_workers : 1;
  return 1 + (over - 1) / std::max(1, pushes);
}

/// Network of a server's node: of a kind of its own, what its NICs carry in the workers' kind of network.
BytesPerSecond server_network(const Scenario& scenario, BytesPerSecond worker_node) {
  const int nics = scenario.server_node != nullptr ? scenario.server_node->training_nics() : 0;
  if (nics == 0) return worker_node;
  CollectiveMachine machine = machine_of(scenario);
  machine.nics = nics;
  machine.nic_bandwidth = scenario.server_node->training_bandwidth() / nics;
  return interconnect_of(machine).node_network;
}

/// What one process sends or takes at most (0: no limit), with the sum over a node's devices on its processors.
BytesPerSecond process_limit(const Job& job) {
  const ExchangeProfile& exchange = job.scenario->framework->exchange;
  double seconds_per_byte = exchange.transport > BytesPerSecond(0) ? 1 / exchange.transport.value() : 0;
  if (exchange.reduce_on_host) {
    // Every device's gradients come over its link; processors read them all and write the sum; the results go back.
    const double devices = job.scenario->devices_per_node();
    const BytesPerSecond memory =
        (job.scenario->node->memory_bandwidth > BytesPerSecond(0) ? job.scenario->node->memory_bandwidth
                                                                  : kUnknownMemory) *
        kHostMemoryShare;
    seconds_per_byte += 1 / job.interconnect.host_link.value() + (devices + 1) / memory.value();
  }
  return seconds_per_byte > 0 ? BytesPerSecond(1 / seconds_per_byte) : BytesPerSecond(0);
}

/// What servers behind each member of a level hold of all parameters: those beside workers with their nodes, those on
/// nodes of their own dealt out in turn.
std::vector<double> shares_behind(const PeerPorts::Level& level, int members, const std::vector<double>& shares,
                                  bool colocated) {
  if (!colocated) return dealt_out(shares, members);
  std::vector<double> out(static_cast<std::size_t>(members), 0);
  const std::vector<double> of_nodes = dealt_out(shares, static_cast<int>(level.members.size()));
  for (std::size_t node = 0; node < of_nodes.size(); ++node)
    out[static_cast<std::size_t>(level.members[node])] += of_nodes[node];
  return out;
}

/// The fabric's up-links as pushes and pulls meet them; `shares`: what each server holds. What an up-link carries is
/// linear in what lies behind it, so of members with as many workers those that hold least and most decide.
std::vector<ServerUplink> server_uplinks(const PeerPorts& peers, const std::vector<double>& shares, bool colocated,
                                         double network_share) {
  std::vector<ServerUplink> out;
  for (const PeerPorts::Level& level : peers.levels) {
    const int members = *std::max_element(level.members.begin(), level.members.end()) + 1;
    const std::vector<double> behind = shares_behind(level, members, shares, colocated);
    std::map<std::ptrdiff_t, std::pair<double, double>> by_workers;
    for (int member = 0; member < members; ++member) {
      const double here = behind[static_cast<std::size_t>(member)];
      const auto workers = std::count(level.members.begin(), level.members.end(), member);
      auto& [least, most] = by_workers.try_emplace(workers, here, here).first->second;
      least = std::min(least, here);
      most = std::max(most, here);
    }
    for (const auto& [workers, held] : by_workers)
      for (const double here : {held.first, held.second}) {
        const double part = static_cast<double>(workers) / static_cast<double>(level.members.size());
        const ServerUplink uplink{level.up, part, (1 - here) / network_share, here / network_share};
        if (std::find(out.begin(), out.end(), uplink) == out.end()) out.push_back(uplink);
      }
  }
  return out;
}

}  // namespace

ServerJob server_job(const Job& job, const WorkerStep& step) {
  const Scenario& scenario = *job.scenario;
  const ParameterServerSpec& servers = *scenario.servers;
  const ExchangeProfile& exchange = scenario.framework->exchange;
  const StrategySpec& strategy = scenario.spec.strategy;
  const PeerPorts peers = peer_ports_of(job);
  const int nodes = scenario.spec.cluster.nodes;
  const bool colocated = servers.placement == ServerHost::on_workers;

  ServerJob out;
  out.mode = scenario.update;
  out.workers = workers_of(scenario);
  out.servers = servers.count;
  out.step = step;
  out.local_steps = strategy.local_steps;
  out.staleness_bound = strategy.staleness_bound.value_or(0);
  out.backup_workers = strategy.backup_workers;
  out.overlap_pull = exchange.overlap_pull;
  out.pull_after_push = exchange.pull_after_push;
  out.workers_update = exchange.workers_update;
  out.locked_server = exchange.locked_server;
  out.launch_per_worker = exchange.launch_per_worker;

  const std::vector<double> shares =
      server_shares(*servers.sharding, tensors_of(job), servers.count, exchange.large_array_elements);
  const double of_process = busiest_share(shares);
  // Servers of one node share its ports and its memory: what they hold adds up.
  const double of_node = colocated ? busiest_share(dealt_out(shares, nodes)) : of_process;
  const bool remote = !colocated || nodes > 1;
  if (remote && !(peers.node > BytesPerSecond(0)))
    throw InputError({{"", "/cluster/fabric/nics_per_node", "missing: parameter servers on other nodes need a network",
                       "state nics_per_node and nic_bandwidth_Gbps"}});
  out.network_share = remote ? (colocated ? 1 - 1.0 / nodes : 1.0) : 1.0;
  ServerPorts& ports = out.ports;
  ports.nodes = nodes;
  ports.colocated = colocated && remote;
  // Inside one node everything passes through host memory.
  const BytesPerSecond inside = host_memory(scenario) * kHostMemoryShare;
  ports.worker_node = remote ? peers.node : inside;
  ports.worker = scenario.worker == WorkerUnit::node ? ports.worker_node : (remote ? peers.rank : inside);
  const BytesPerSecond limit = process_limit(job);
  // Flows are what leaves a worker's node; processes copy what servers of that node get, too.
  if (limit > BytesPerSecond(0)) ports.worker = std::min(ports.worker, limit * out.network_share);
  ports.server_node = colocated ? ports.worker_node : server_network(scenario, peers.node);
  // Relative to what of a worker's bytes is on the network: its own node's part is not.
  ports.server_share = remote ? of_node : 0;
  ports.server_process = exchange.transport * out.network_share;
  ports.process_share = of_process;
  if (remote) ports.uplinks = server_uplinks(peers, shares, colocated, out.network_share);
  ports.one_process = servers.placement == ServerHost::driver;
  out.message = remote ? peers.hop + peers.gap * (std::min(servers.count, 64) - 1.0) : peers.native_hop;
  const bool process_limits = exchange.server_update > BytesPerSecond(0);
  out.update_share = process_limits ? of_process : of_node;
  out.server_update =
      process_limits ? exchange.server_update : host_memory(scenario) * (kHostMemoryShare / kSumAccesses);
  out.server_update *= 1 / update_over_usual(scenario);
  const WorkerNoise noise = worker_noise(scenario);
  out.worker_spread = noise.worker;
  out.step_spread = noise.step;
  out.seed = static_cast<std::uint64_t>(scenario.spec.run.seed);
  return out;
}

}  // namespace stepcast
