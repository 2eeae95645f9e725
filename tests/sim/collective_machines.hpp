#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/fabric/fabric.hpp"
#include "sim/collective/collective_run.hpp"
#include "sim/engine/run_program.hpp"
#include "sim/protocol/child_process.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::test {

/// Executes a program on SimGrid in a child of the test.
inline ProgramResult run_in_test_child(const FlowProgram& program, const ProgramOptions& options = {}) {
  const std::string text = run_in_child([&] { return to_json(run_program(program, options)).dump(); });
  return program_result_from_json(Json::parse(text));
}

inline const ProgramRunner kInChild = [](const FlowProgram& program) { return run_in_test_child(program); };

/// Round figures, every one of which shows in a result: native 100 GB/s, one NIC of 20 GB/s a device (25 raw), and
/// different latencies for everything.
inline Interconnect figures(int per_node) {
  Interconnect net;
  net.native = 100_GBps;
  net.native_hop = 1_us;
  net.nic = 20_GBps;
  net.nics = per_node;
  net.node_network = net.nic * per_node;
  net.rank_network = net.nic;
  net.network_hop = 4_us;
  net.launch = 5_us;
  net.network_launch = 7_us;
  net.small_messages = {1_us, 4_us, 6_us, 0.4, 0.1};
  net.bulk = {2_us, 9_us, 20_us, 1, 1};
  net.switch_sums = {120_GBps, 20_us};
  net.network_sums = true;
  net.peer_start = Seconds(0.5e-6);
  net.remote_peer_start = 3_us;
  return net;
}
inline constexpr BytesPerSecond kRawNic = 25_GBps;

/// All NICs on one switch: nobody meets anybody but at a device's own NIC.
inline CollectiveSetting ideal(int nodes, int per_node) {
  CollectiveSetting out;
  out.nodes = nodes;
  out.devices_per_node = per_node;
  out.interconnect = figures(per_node);
  out.nic_bandwidth = kRawNic;
  out.network = [count = nodes * per_node](std::uint64_t) {
    NetworkLinks links;
    links.bandwidths.assign(2 * static_cast<std::size_t>(count), kRawNic.value());
    links.route = [](int from, int to, std::uint64_t, std::vector<int>& out_links) {
      out_links.assign({2 * from, 2 * to + 1});
    };
    return links;
  };
  return out;
}

/// Leaves of `nodes_per_leaf` nodes, each with `ups` links of a NIC's rate up and down. Traffic takes them evenly, or
/// by a hash of flow and seed.
struct Leaves {
  int nodes_per_leaf = 2, ups = 1;
  bool hashed = false;
};
inline CollectiveSetting leafy(int nodes, int per_node, const Leaves& leaves) {
  CollectiveSetting out = ideal(nodes, per_node);
  out.hashed = leaves.hashed;
  // So that no arithmetic over levels is taken for enough.
  out.interconnect.uplinks.push_back({kRawNic * leaves.ups, Seconds(0)});
  out.network = [nodes, per_node, leaves](std::uint64_t seed) {
    const int devices = nodes * per_node, first = 2 * devices;
    const int groups = (nodes + leaves.nodes_per_leaf - 1) / leaves.nodes_per_leaf;
    const int ways = leaves.hashed ? leaves.ups : 1;
    NetworkLinks links;
    links.bandwidths.assign(first, kRawNic.value());
    links.bandwidths.resize(first + 2 * groups * ways, kRawNic.value() * leaves.ups / ways);
    links.route = [=](int from, int to, std::uint64_t flow, std::vector<int>& out_links) {
      const int here = from / per_node / leaves.nodes_per_leaf, there = to / per_node / leaves.nodes_per_leaf;
      out_links.assign({2 * from, 2 * to + 1});
      if (here == there) return;
      const std::uint64_t hash = (flow * 0x9E3779B97F4A7C15ULL ^ seed * 0xD6E8FEB86659FD93ULL) * 0xBF58476D1CE4E5B9ULL;
      const int way = static_cast<int>((hash >> 33U) % static_cast<unsigned>(ways));
      out_links.assign({2 * from, first + 2 * (here * ways + way), first + 2 * (there * ways + way) + 1, 2 * to + 1});
    };
    return links;
  };
  return out;
}

/// Nodes behind a native switch on a fabric of the models, whose links their messages are laid on.
inline CollectiveSetting on_fabric(int nodes, int per_node, const FabricSpec& spec) {
  CollectiveSetting out = ideal(nodes, per_node);
  out.laid = true;
  out.network = [=](std::uint64_t seed) {
    static const SwitchPart kSwitch = [] {
      SwitchPart part;
      part.ports = 64;
      part.port_bandwidth = kRawNic;
      return part;
    }();
    Node node;
    node.accelerator_count = per_node;
    node.interconnect.kind = NodeTopology::nvswitch;
    node.interconnect.per_link = 25_GBps;
    node.interconnect.links_per_accelerator = 6;
    auto fabric =
        std::make_shared<const Fabric>(build_fabric(spec, node, nodes, per_node, kRawNic, &kSwitch, catalog()));
    return network_links(std::move(fabric), spec.routing, seed);
  };
  return out;
}

inline CollectiveRun one_job(CollectiveSetting setting, CollectiveKind kind, Bytes payload,
                             CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic) {
  CollectiveRun run;
  run.setting = std::move(setting);
  run.jobs.push_back({kind, payload, {}, algorithm});
  run.flows = CollectiveFlows::full;
  return run;
}

}  // namespace stepcast::test
