#include "calibration/importers/astra_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/importers/like_node.hpp"

namespace stepcast {

namespace {

/// Networks of more cables are given by a preset instead of cable by cable, and lose their latency.
constexpr int kMostCables = 4096;
/// What is larger is no machine: each NPU is a node then.
constexpr int kMostNpusOfNode = 72;

const char* word_of(AstraTopology topology) {
  constexpr std::array kWords{"Ring", "FullyConnected", "Switch"};
  return kWords[static_cast<std::size_t>(topology)];
}

/// Links of one NPU side by side to the same place (1.0's links-count).
int parallel_links(const AstraDimension& one) {
  const int plain = one.topology == AstraTopology::ring              ? 2
                    : one.topology == AstraTopology::fully_connected ? one.npus - 1
                                                                     : 1;
  return std::max(1, plain > 0 ? one.links / plain : 1);
}

NodeInterconnect interior_of(const AstraDimension& one) {
  NodeInterconnect out;
  if (one.npus == 1) return out;
  const int links = parallel_links(one);
  out.per_link = one.bandwidth;
  out.generation = fmt::format("{} of ASTRA-sim", word_of(one.topology));
  if (one.topology == AstraTopology::network_switch) {
    out.kind = NodeTopology::nvswitch;
    out.links_per_accelerator = links;
    out.switches = 1;
  } else if (one.npus == 2 || one.topology == AstraTopology::fully_connected) {
    out.kind = one.npus == 2 ? NodeTopology::pair : NodeTopology::mesh;
    out.links_per_pair = links;
  } else {
    out.kind = NodeTopology::hybrid_cube_mesh;
    for (int i = 0; i < one.npus; ++i) out.links.push_back({i, (i + 1) % one.npus, links});
  }
  return out;
}

/// Rate of an NPU into one of the outer dimensions, as one NIC.
BytesPerSecond outer_rate(const AstraDimension& one) {
  const int peers = one.topology == AstraTopology::fully_connected ? std::max(1, one.npus - 1) : 1;
  return one.bandwidth * peers * parallel_links(one);
}

bool all_rings(const AstraNetwork& network) {
  return std::all_of(network.dimensions.begin(), network.dimensions.end(), [&](const AstraDimension& one) {
    return one.topology == AstraTopology::ring && one.bandwidth == network.dimensions.front().bandwidth && one.npus > 1;
  });
}

/// Every NPU a node, a router for each: the same links as ASTRA-sim's.
AstraCluster torus(const AstraNetwork& network) {
  AstraCluster out;
  Json sizes = Json::array();
  for (const AstraDimension& one : network.dimensions) sizes.push_back(one.npus);
  out.nodes = network.npus();
  out.nics = 1;
  // ASTRA-sim states the rate of a link; a router's NIC is all of them, two in each dimension.
  const AstraDimension& one = network.dimensions.front();
  out.nic_bandwidth = one.bandwidth * parallel_links(one) * (2.0 * static_cast<double>(network.dimensions.size()));
  out.fabric = {{"preset", sizes.size() == 2 ? "torus-2d" : "torus-3d"}, {"dimensions", sizes}};
  out.notes.emplace_back(
      "rings along every dimension are a torus of nodes with one NPU each; latencies are those of the fabric's cables");
  return out;
}

/// Cables of one switch for each NPU of a node: ASTRA-sim's dimensions join NPUs of equal place.
Json switches_of_rails(int nodes, int rails, const AstraDimension& dimension, BytesPerSecond rate) {
  Json switches = Json::array(), cables = Json::array();
  for (int rail = 0; rail < rails; ++rail) {
    switches.push_back(Json{{"name", fmt::format("rail{}", rail)}});
    for (int node = 0; node < nodes; ++node)
      cables.push_back(Json{{"from", fmt::format("node{}:nic{}", node, rail)},
                            {"to", fmt::format("rail{}", rail)},
                            {"bandwidth_Gbps", rate.in(1_Gbps)},
                            {"latency_us", dimension.latency.in(1_us)}});
  }
  return {{"preset", "custom"}, {"switches", std::move(switches)}, {"cables", std::move(cables)}};
}

void set_one_outer(AstraCluster& out, const AstraDimension& outer) {
  const int rails = out.npus_per_node;
  if (out.nodes * rails <= kMostCables) {
    out.fabric = switches_of_rails(out.nodes, rails, outer, out.nic_bandwidth);
  } else {
    out.fabric = {{"preset", rails == 1 ? "single-switch" : "rail-only"}};
    out.notes.push_back(fmt::format("{} cables are more than are listed, so their latency of {:g} ns is not kept",
                                    out.nodes * rails, outer.latency.in(1_ns)));
  }
  if (outer.topology != AstraTopology::network_switch)
    out.notes.push_back(
        fmt::format("{} of {} between nodes is taken as a switch for each NPU of a node, of {:g} GB/s an NPU",
                    word_of(outer.topology), outer.npus, out.nic_bandwidth.in(1_GBps)));
}

/// Tiers of a fat-tree, each as oversubscribed as its dimension is slower than the one below.
void set_tiers(AstraCluster& out, const AstraNetwork& network) {
  const std::vector<AstraDimension>& dimensions = network.dimensions;
  const double first = outer_rate(dimensions[1]) / outer_rate(dimensions[2]);
  out.fabric = {{"preset", dimensions.size() == 3 ? "fat-tree" : "fat-tree-3"}, {"nodes_per_leaf", dimensions[1].npus}};
  if (first > 1) out.fabric["oversubscription"] = first;
  if (dimensions.size() > 3) {
    out.fabric["nodes_per_pod"] = dimensions[1].npus * dimensions[2].npus;
    const double second = outer_rate(dimensions[2]) / outer_rate(dimensions[3]);
    if (second > 1) out.fabric["core_oversubscription"] = second;
  }
  if (dimensions.size() > 4) out.notes.push_back(fmt::format("dimensions beyond the fourth are part of the last tier"));
  out.notes.push_back(
      fmt::format("{} outer dimensions are tiers of a {}, narrower by the ratio of their rates; in ASTRA-sim each NPU "
                  "has links of its own into each",
                  dimensions.size() - 1, out.fabric["preset"].get<std::string>()));
  out.notes.emplace_back("latencies between nodes are those of the fabric's switches and cables");
}

}  // namespace

AstraCluster cluster_of(const AstraNetwork& network) {
  const std::vector<AstraDimension>& dimensions = network.dimensions;
  const bool one = dimensions.size() == 1;
  if (!one && dimensions.size() < 4 && all_rings(network)) return torus(network);
  AstraCluster out;
  const AstraDimension& inner = dimensions.front();
  const bool apart = one && inner.npus > kMostNpusOfNode && inner.topology == AstraTopology::network_switch;
  out.npus_per_node = apart ? 1 : inner.npus;
  out.nodes = network.npus() / out.npus_per_node;
  out.interior = apart ? NodeInterconnect{} : interior_of(inner);
  if (out.nodes == 1) {
    out.notes.push_back(
        fmt::format("one dimension is the inside of a node: {} of {} NPUs; its latency of {:g} ns is not kept, as the "
                    "collective library's own hold there",
                    word_of(inner.topology), inner.npus, inner.latency.in(1_ns)));
    return out;
  }
  const AstraDimension& outer = apart ? inner : dimensions[1];
  out.nics = out.npus_per_node;
  out.nic_bandwidth = outer_rate(outer);
  if (!apart)
    out.notes.push_back(
        fmt::format("the first dimension, {} of {} NPUs, is the inside of a node; its latency of {:g} ns is not kept, "
                    "as the collective library's own hold there",
                    word_of(inner.topology), inner.npus, inner.latency.in(1_ns)));
  if (apart || dimensions.size() == 2) {
    set_one_outer(out, outer);
  } else {
    set_tiers(out, network);
  }
  return out;
}

Json node_of(const AstraCluster& cluster, const std::string& id, const Accelerator& accelerator,
             const std::string& source, const Catalog& catalog) {
  const TypicalHost typical = typical_host(catalog);
  const NodeInterconnect& inside = cluster.interior;
  Json out{
      {"id", id},
      {"accelerator", accelerator.id},
      {"accelerator_count", cluster.npus_per_node},
      {"memory_GB",
       std::round((accelerator.memory * cluster.npus_per_node * typical.memory_over_accelerators).in(1_GB))},
      {"memory_bandwidth_GBps", std::round((typical.bandwidth_per_accelerator * cluster.npus_per_node).in(1_GBps))}};
  Json interior{{"kind", name_of(inside.kind)}};
  if (inside.kind != NodeTopology::single) {
    interior["generation"] = inside.generation;
    interior["link_bandwidth_GBps"] = inside.per_link.in(1_GBps);
  }
  if (inside.links_per_accelerator > 0) interior["links_per_accelerator"] = inside.links_per_accelerator;
  if (inside.links_per_pair > 0) interior["links_per_pair"] = inside.links_per_pair;
  if (!inside.links.empty()) interior["links"] = inside.links;
  if (inside.switches > 0) interior["switches"] = inside.switches;
  out["interconnect"] = std::move(interior);
  if (cluster.nics > 0)
    out["nics"] = Json::array({{{"count", cluster.nics},
                                {"bandwidth_Gbps", cluster.nic_bandwidth.in(1_Gbps)},
                                {"kind", "infiniband"},
                                {"name", "links of ASTRA-sim"}}});
  const std::string median = "median of the catalogue's nodes, per accelerator";
  out["sources"] = {{"all", source},
                    {"accelerator", "stands for ASTRA-sim's NPU"},
                    {"memory_GB", median},
                    {"memory_bandwidth_GBps", median}};
  out["evidence"] = {{"all", "estimated"}};
  out["note"] = "A node of an ASTRA-sim network, not a machine that exists.";
  return out;
}

}  // namespace stepcast
