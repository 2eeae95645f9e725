#include "report/collective_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "models/fabric/network_switch.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kStar = "single-gpu-star";
// Raw hosts: issue of ASTRA-sim's ring all-reduce figures, 25 GB/s and 1 µs per direction and link.
constexpr BytesPerSecond kRawRate = 25_GBps;
constexpr Seconds kRawLink = 1_us;

[[noreturn]] void fail(std::string option, std::string message, std::string hint) {
  throw InputError({{std::move(option), "", std::move(message), std::move(hint)}});
}

bool names_a_file(const std::string& name) {
  std::error_code error;
  return name.find('/') != std::string::npos || name.ends_with(".json") ||
         std::filesystem::is_regular_file(name, error);
}

FabricSpec read_fabric(const Json& document, Diagnostics& diagnostics) {
  FabricSpec out;
  if (!document.contains("cluster")) return out;
  const Json& cluster = document["cluster"];
  for (const auto& [key, value] : cluster.items())
    if (key != "fabric")
      diagnostics.error("/cluster/" + key, "is a key of scenarios, and the cluster is none",
                        "name a scenario file, or set cluster.fabric keys");
  if (cluster.contains("fabric")) FabricSpec::fields().read(out, cluster["fabric"], "/cluster/fabric", diagnostics);
  return out;
}

/// The fabric that overrides describe, for clusters that are no scenario.
FabricSpec overridden_fabric(const CollectiveQuestion& question) {
  Json document = Json::object();
  Diagnostics diagnostics("--set");
  for (const std::string& assignment : question.overrides) apply_override(document, assignment, diagnostics);
  for (const auto& [key, value] : document.items())
    if (key != "cluster")
      diagnostics.error("/" + key, "is a key of scenarios, and the cluster is none",
                        "name a scenario file, or set cluster.fabric keys");
  FabricSpec out = read_fabric(document, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void set_nics(CollectiveMachine& machine, const FabricSpec& fabric) {
  if (fabric.nics_per_node) machine.nics = *fabric.nics_per_node;
  if (fabric.nic_bandwidth) machine.nic_bandwidth = *fabric.nic_bandwidth;
  if (fabric.network) machine.network = *fabric.network;
}

int most_ranks_of(const Node& node, const Catalog& catalog) {
  if (node.has_accelerators()) return node.accelerator_count;
  const Cpu* cpu = node.cpu.empty() ? nullptr : catalog.find<Cpu>(node.cpu);
  const int cores = node.cpu_cores > 0 ? node.cpu_cores : cpu ? cpu->cores : 0;
  return std::max({1, node.cpu_count * cores, node.vcpus});
}

/// What interconnect_of takes for the uplinks is told by levels here.
void finish(CollectiveCluster& cluster, const Catalog& catalog) {
  cluster.machine.uplink_oversubscription = 1;
  cluster.machine.in_training = false;
  cluster.most_per_node = most_ranks_of(*cluster.machine.node, catalog);
}

CollectiveCluster of_scenario(const CollectiveQuestion& question, const Catalog& catalog) {
  Diagnostics diagnostics(question.cluster);
  Json document = read_json(question.cluster, diagnostics);
  diagnostics.throw_if_faulty();
  CollectiveCluster out;
  out.scenario =
      std::make_shared<const Scenario>(resolve(std::move(document), question.cluster, question.overrides, catalog));
  out.machine = machine_of(*out.scenario);
  out.fabric = out.scenario->spec.cluster.fabric;
  out.most_nodes = out.nodes = out.scenario->spec.cluster.nodes;
  finish(out, catalog);
  return out;
}

CollectiveCluster of_node(const Node& node, const CollectiveQuestion& question, const Catalog& catalog) {
  CollectiveCluster out;
  out.machine = machine_of(node, catalog);
  out.fabric = overridden_fabric(question);
  set_nics(out.machine, out.fabric);
  finish(out, catalog);
  return out;
}

CollectiveCluster of_raw_hosts(const std::string& preset, const CollectiveQuestion& question) {
  CollectiveCluster out;
  out.raw = true;
  out.fabric = overridden_fabric(question);
  out.fabric.preset = preset == kStar ? FabricPreset::single_switch : *parse_enum<FabricPreset>(preset);
  return out;
}

[[noreturn]] void unknown_cluster(const std::string& name, const Catalog& catalog) {
  std::vector<std::string> known = catalog.ids("nodes");
  for (std::string& preset : raw_presets()) known.push_back(std::move(preset));
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = "name a node (stepcast catalog list nodes), a scenario file or a fabric preset";
  fail("--cluster",
       fmt::format("found \"{}\", which is no node of the catalogue, no scenario file and no preset", name),
       std::move(hint));
}

std::string plural(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Of devices on a node, the count that divides the ranks and is nearest below what a node has.
int largest_even_share(int ranks, int most) {
  for (int share = std::min(ranks, most); share > 1; --share)
    if (ranks % share == 0) return share;
  return 1;
}

RankPlaces on_given_nodes(int ranks, const CollectiveQuestion& question, const CollectiveCluster& cluster) {
  const int nodes = *question.nodes;
  if (nodes < 1 || ranks % nodes != 0)
    fail("--nodes", fmt::format("{} do not divide evenly over {}", plural(ranks, "rank"), plural(nodes, "node")),
         fmt::format("{} a node make {}", largest_even_share(ranks, cluster.most_per_node),
                     plural(ranks / largest_even_share(ranks, cluster.most_per_node), "node")));
  if (question.ranks_per_node && *question.ranks_per_node != ranks / nodes)
    fail("--ranks-per-node",
         fmt::format("found {}, but {} on {} are {} on each", *question.ranks_per_node, plural(ranks, "rank"),
                     plural(nodes, "node"), ranks / nodes),
         "give one of --nodes and --ranks-per-node");
  return {ranks, ranks / nodes, nodes};
}

RankPlaces by_share(int ranks, const CollectiveQuestion& question, const CollectiveCluster& cluster) {
  const int devices = cluster.raw ? 1 : cluster.machine.devices_per_node;
  const int share = question.ranks_per_node.value_or(std::min(ranks, std::max(1, devices)));
  const int whole_nodes = std::max(1, ranks / std::max(1, share));
  if (share < 1 || ranks % share != 0)
    fail(question.ranks_per_node ? "--ranks-per-node" : "--ranks",
         fmt::format("{} do not fill nodes of {}", plural(ranks, "rank"), share),
         fmt::format("the nearest that do are {} and {}, or --ranks-per-node {}", whole_nodes * share,
                     (whole_nodes + 1) * share, largest_even_share(ranks, cluster.most_per_node)));
  return {ranks, share, ranks / share};
}

/// What a packed or scattered group of all ranks sends over each level.
LevelLoad load_of(const FabricLevel& level, int nodes, FabricPlacement placement) {
  LevelLoad out;
  const int members = (nodes + level.nodes - 1) / level.nodes;
  if (members <= 1) return out;
  const int in_member = std::min(level.nodes, nodes);
  const bool packed = placement == FabricPlacement::packed;
  out.ring = packed ? 1.0F : static_cast<float>(in_member);
  out.crossings = packed ? members : nodes;
  out.direct = static_cast<float>(in_member) * static_cast<float>(nodes - in_member) / static_cast<float>(nodes - 1);
  return out;
}

/// α-β hosts: a message passes the sender's link and the receiver's.
Interconnect raw_interconnect() {
  Interconnect out;
  out.nic = out.node_network = out.rank_network = out.native = out.host_link = kRawRate;
  out.nics = 1;
  out.network_hop = 2 * kRawLink;
  out.native_hop = out.network_hop;
  out.bulk = {out.network_hop, out.network_hop, out.network_hop, 1, 1};
  out.small_messages = out.bulk;
  return out;
}

}  // namespace

FabricLevels cluster_levels(const CollectiveCluster& cluster, const RankPlaces& places) {
  if (cluster.raw) return fabric_levels(cluster.fabric, places.nodes, 1, kRawRate, nullptr);
  return fabric_levels(cluster.fabric, cluster.most_nodes.value_or(places.nodes), cluster.machine.nics,
                       cluster.machine.nic_bandwidth, cluster.network_switch);
}

std::vector<std::string> raw_presets() {
  std::vector<std::string> out{std::string(kStar)};
  for (const std::string& preset : names_of<FabricPreset>())
    if (preset != name_of(FabricPreset::custom)) out.push_back(preset);
  return out;
}

std::string CollectiveCluster::words() const {
  if (raw)
    return fmt::format("hosts of one rank on a {}, {:.0f} GB/s and {:.0f} µs per direction and link",
                       name_of(fabric.preset), kRawRate.value() / 1e9, kRawLink.in(1_us));
  const Node& node = *machine.node;
  std::string out = node.has_accelerators() ? fmt::format("{} × {} a node", node.accelerator_count, node.accelerator)
                                            : fmt::format("{} × {} a node", node.cpu_count, node.cpu);
  if (machine.nics == 0) return out + ", no NIC for training";
  return out + fmt::format(", {} of {:g} Gb/s ({})", plural(machine.nics, "NIC"), machine.nic_bandwidth.in(1_Gbps),
                           name_of(machine.network));
}

CollectiveCluster find_cluster(const CollectiveQuestion& question, const Catalog& catalog) {
  const std::vector<std::string> presets = raw_presets();
  CollectiveCluster out;
  if (std::find(presets.begin(), presets.end(), question.cluster) != presets.end()) {
    out = of_raw_hosts(question.cluster, question);
  } else if (names_a_file(question.cluster)) {
    out = of_scenario(question, catalog);
  } else if (const Node* node = catalog.find<Node>(question.cluster)) {
    out = of_node(*node, question, catalog);
  } else {
    unknown_cluster(question.cluster, catalog);
  }
  out.name = question.cluster;
  return out;
}

RankPlaces place_ranks(const CollectiveQuestion& question, const CollectiveCluster& cluster) {
  if (!question.ranks && !cluster.nodes) fail("--ranks", "is missing", "say how many ranks take part: --ranks 16");
  const int ranks = question.ranks.value_or(cluster.scenario ? cluster.scenario->devices() : 1);
  const RankPlaces out = question.nodes ? on_given_nodes(ranks, question, cluster) : by_share(ranks, question, cluster);
  if (out.per_node > cluster.most_per_node)
    fail(question.nodes ? "--nodes" : "--ranks-per-node",
         fmt::format("{} on a node, but a node has {}", plural(out.per_node, "rank"),
                     plural(cluster.most_per_node, cluster.has_accelerators() ? "device" : "core")),
         fmt::format("at most {}", cluster.most_per_node));
  if (cluster.most_nodes && out.nodes > *cluster.most_nodes)
    fail("--ranks",
         fmt::format("{} need {}, but the cluster has {}", plural(ranks, "rank"), plural(out.nodes, "node"),
                     *cluster.most_nodes),
         fmt::format("at most {}", *cluster.most_nodes * out.per_node));
  if (!cluster.raw && out.nodes > 1 && !(cluster.machine.nics > 0 && cluster.machine.nic_bandwidth > BytesPerSecond(0)))
    fail("--ranks",
         fmt::format("{} are on {}, but {} has no NIC of known rate", plural(ranks, "rank"), plural(out.nodes, "node"),
                     cluster.machine.node->id),
         fmt::format("at most {}, or --set cluster.fabric.nics_per_node and nic_bandwidth_Gbps",
                     plural(cluster.most_per_node, "rank")));
  return out;
}

PlacedGroup placed_group(const CollectiveCluster& cluster, const RankPlaces& places) {
  PlacedGroup out{cluster.raw ? raw_interconnect() : interconnect_of(cluster.machine),
                  {places.ranks, places.per_node, 1}};
  const FabricLevels levels = cluster_levels(cluster, places);
  // Up-links lose to headers and flow control what NICs lose.
  const double share = cluster.raw ? 1 : out.interconnect.nic / cluster.machine.nic_bandwidth;
  for (std::size_t i = 0; i < levels.levels.size() && i < kFabricLevels; ++i) {
    out.interconnect.uplinks.push_back(
        {levels.levels[i].up * share, cluster.raw ? 2 * kRawLink : levels.levels[i].hop});
    out.group.above[i] = load_of(levels.levels[i], places.nodes, cluster.fabric.placement);
  }
  return out;
}

HostNetwork placed_host_network(const CollectiveCluster& cluster, const RankPlaces& places, HostLibrary library) {
  const CollectiveMachine& machine = cluster.machine;
  HostNetwork out = host_network_of(machine.network, machine.nic_bandwidth, machine.nics, library);
  if (places.nodes == 1) return out;
  for (const FabricLevel& level : cluster_levels(cluster, places).levels) {
    const LevelLoad load = load_of(level, places.nodes, cluster.fabric.placement);
    if (load.crossings == 0) continue;
    out.latency += level.hop;
    if (load.direct > 0) out.node = std::min(out.node, level.up / load.direct);
  }
  return out;
}

}  // namespace stepcast
