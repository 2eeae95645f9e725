#include "report/collective_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>

#include "fields/option_fault.hpp"
#include "models/collectives/calibrated.hpp"
#include "models/collectives/double_tree.hpp"
#include "models/fabric/check.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/network_switch.hpp"
#include "models/fabric/placement.hpp"
#include "models/fabric/plan/custom.hpp"
#include "models/fabric/plan/torus.hpp"
#include "models/fabric/preset_kinds.hpp"
#include "sim/collective/network_links.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kStar = "single-gpu-star";
// Raw hosts: issue of ASTRA-sim's ring all-reduce figures, 25 GB/s and 1 µs per direction and link.
constexpr BytesPerSecond kRawRate = 25_GBps;
constexpr Seconds kRawLink = 1_us;
/// Devices of a fabric that is drawn for a collective though nothing is random: tens of milliseconds of work.
constexpr long kMostLaidDevices = 4096;

bool is_star(const CollectiveCluster& cluster) { return cluster.fabric.preset == FabricPreset::single_switch; }

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

/// A preset of raw hosts that has the keys of a fabric: the one that these state, if it is any.
std::string preset_to_name(const Json& fabric) {
  const std::vector<std::string> known = raw_presets();
  const bool stated = fabric.contains("preset") && fabric["preset"].is_string() &&
                      std::find(known.begin(), known.end(), fabric["preset"].get<std::string>()) != known.end();
  return stated ? fabric["preset"].get<std::string>() : std::string(name_of(FabricPreset::fat_tree));
}

/// Raw hosts are what their preset says: keys that change nothing about them are faults.
void refuse_unheeded(const Json& fabric, const std::string& preset, Diagnostics& diagnostics) {
  const bool one_switch = preset == kStar || preset == name_of(FabricPreset::single_switch);
  const std::string better = preset_to_name(fabric);
  for (const auto& [key, value] : fabric.items()) {
    const std::string at = "/cluster/fabric/" + key;
    if (key == "preset") {
      if (value != preset && !(one_switch && value == name_of(FabricPreset::single_switch)))
        diagnostics.error(at, fmt::format("found {}, but the raw hosts asked for are on a {}", value.dump(), preset),
                          "name the preset: --cluster " + better);
    } else if (one_switch) {
      diagnostics.error(at, "changes nothing about hosts on one switch",
                        "leave it out, or name another preset: --cluster " + better);
    } else if (key == "nics_per_node" || key == "nic_bandwidth_Gbps" || key == "network") {
      diagnostics.error(at, fmt::format("raw hosts have one NIC of {:.0f} GB/s", kRawRate.in(1_GBps)),
                        "leave it out, or name a node");
    }
  }
}

/// The fabric that overrides describe, for clusters that are no scenario: of nodes (null for raw hosts), or of raw
/// hosts by their preset.
FabricSpec overridden_fabric(const CollectiveQuestion& question, const Node* node, const std::string& raw = {}) {
  Json document = Json::object();
  Diagnostics diagnostics("--set");
  for (const std::string& assignment : question.overrides) apply_override(document, assignment, diagnostics);
  for (const auto& [key, value] : document.items())
    if (key != "cluster")
      diagnostics.error("/" + key, "is a key of scenarios, and the cluster is none",
                        "name a scenario file, or set cluster.fabric keys");
  FabricSpec out = read_fabric(document, diagnostics);
  const bool stated = document.contains(Json::json_pointer("/cluster/fabric/preset"));
  if (!stated && node != nullptr) out.preset = usual_preset(*node, out.network);
  if (!raw.empty() && document.contains("cluster") && document["cluster"].contains("fabric"))
    refuse_unheeded(document["cluster"]["fabric"], raw, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

void set_nics(CollectiveMachine& machine, const FabricSpec& fabric, const Catalog& catalog) {
  if (fabric.nics_per_node) machine.nics = *fabric.nics_per_node;
  if (fabric.nic_bandwidth) machine.nic_bandwidth = *fabric.nic_bandwidth;
  if (!fabric.network) return;
  machine.network = *fabric.network;
  machine.network_profile = network_profile_of(*machine.node, *fabric.network, catalog);
}

int most_ranks_of(const Node& node, const Catalog& catalog) {
  if (node.has_accelerators()) return node.accelerator_count;
  const Cpu* cpu = node.cpu.empty() ? nullptr : catalog.find<Cpu>(node.cpu);
  const int cores = node.cpu_cores > 0 ? node.cpu_cores : cpu ? cpu->cores : 0;
  return std::max({1, node.cpu_count * cores, node.vcpus});
}

/// A collective on its own has equal nodes; leaving a scenario's exceptions out silently would be wrong.
void refuse_unequal_nodes(const Scenario& scenario, const std::string& file) {
  Diagnostics diagnostics(file);
  const ClusterSpec& cluster = scenario.spec.cluster;
  if (!cluster.conditions.empty())
    diagnostics.error("/cluster/conditions", "a collective on its own takes place on equal, healthy nodes",
                      "stepcast run, or --set cluster.conditions=[]");
  if (!cluster.other_nodes.empty())
    diagnostics.error("/cluster/other_nodes", "a collective on its own takes place on equal nodes",
                      "stepcast run, or --set cluster.other_nodes=[]");
  diagnostics.throw_if_faulty();
}

CollectiveCluster of_scenario(const CollectiveQuestion& question, const Catalog& catalog) {
  Diagnostics diagnostics(question.cluster);
  Json document = read_json(question.cluster, diagnostics);
  diagnostics.throw_if_faulty();
  CollectiveCluster out;
  out.scenario =
      std::make_shared<const Scenario>(resolve(std::move(document), question.cluster, question.overrides, catalog));
  refuse_unequal_nodes(*out.scenario, question.cluster);
  out.machine = machine_of(*out.scenario);
  out.fabric = out.scenario->spec.cluster.fabric;
  out.most_nodes = out.nodes = out.scenario->spec.cluster.nodes;
  out.most_per_node = most_ranks_of(*out.machine.node, catalog);
  return out;
}

CollectiveCluster of_node(const Node& node, const CollectiveQuestion& question, const Catalog& catalog) {
  CollectiveCluster out;
  out.machine = machine_of(node, catalog);
  out.fabric = overridden_fabric(question, &node);
  set_nics(out.machine, out.fabric, catalog);
  out.most_per_node = most_ranks_of(*out.machine.node, catalog);
  return out;
}

/// A raw host as a catalogue would describe it.
const Node& raw_node() {
  static const Node kNode = [] {
    Node out;
    out.id = "raw-host";
    out.accelerator_count = 1;
    out.nics.push_back({1, kRawRate, NetworkKind::infiniband, true, "", true});
    return out;
  }();
  return kNode;
}

CollectiveCluster of_raw_hosts(const std::string& preset, const CollectiveQuestion& question) {
  CollectiveCluster out;
  out.raw = true;
  out.machine.node = &raw_node();
  out.machine.nics = 1;
  out.machine.nic_bandwidth = kRawRate;
  out.fabric = overridden_fabric(question, nullptr, preset);
  out.fabric.preset = preset == kStar ? FabricPreset::single_switch : *parse_enum<FabricPreset>(preset);
  return out;
}

[[noreturn]] void unknown_cluster(const std::string& name, const Catalog& catalog) {
  std::vector<std::string> known = catalog.ids("nodes");
  for (std::string& preset : raw_presets()) known.push_back(std::move(preset));
  std::string hint = did_you_mean(name, known);
  if (hint.empty()) hint = "name a node (stepcast catalog list nodes), a scenario file or a fabric preset";
  refuse_option("--cluster",
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
    refuse_option("--nodes",
                  fmt::format("{} do not divide evenly over {}", plural(ranks, "rank"), plural(nodes, "node")),
                  fmt::format("{} a node make {}", largest_even_share(ranks, cluster.most_per_node),
                              plural(ranks / largest_even_share(ranks, cluster.most_per_node), "node")));
  if (question.ranks_per_node && *question.ranks_per_node != ranks / nodes)
    refuse_option("--ranks-per-node",
                  fmt::format("found {}, but {} on {} are {} on each", *question.ranks_per_node, plural(ranks, "rank"),
                              plural(nodes, "node"), ranks / nodes),
                  "give one of --nodes and --ranks-per-node");
  return {ranks, ranks / nodes, nodes};
}

RankPlaces by_share(int ranks, const CollectiveQuestion& question, const CollectiveCluster& cluster) {
  const int devices = cluster.machine.devices_per_node;
  const int share = question.ranks_per_node.value_or(std::min(ranks, std::max(1, devices)));
  const int whole_nodes = std::max(1, ranks / std::max(1, share));
  if (share < 1 || ranks % share != 0)
    refuse_option(question.ranks_per_node ? "--ranks-per-node" : "--ranks",
                  fmt::format("{} do not fill nodes of {}", plural(ranks, "rank"), share),
                  fmt::format("the nearest that do are {} and {}, or --ranks-per-node {}", whole_nodes * share,
                              (whole_nodes + 1) * share, largest_even_share(ranks, cluster.most_per_node)));
  return {ranks, share, ranks / share};
}

/// Which member of a level each node of the ranks is in, when node i of them is node order[i] of the fabric.
std::vector<int> members_of(const FabricLevel& level, int nodes, const std::vector<int>& order) {
  std::vector<int> out;
  out.reserve(static_cast<std::size_t>(nodes));
  for (int node = 0; node < nodes; ++node)
    out.push_back((order.empty() ? node : order[static_cast<std::size_t>(node)]) / level.nodes);
  return out;
}

/// What a group of ranks on all nodes sends over a level.
LevelLoad placed_load(const std::vector<int>& members) {
  const auto nodes = static_cast<int>(members.size());
  const auto all = static_cast<std::size_t>(*std::max_element(members.begin(), members.end())) + 1;
  std::vector<int> count(all, 0), leaves(all, 0);  // nodes of each; times that a ring leaves it
  LevelLoad out;
  for (std::size_t node = 0; node < members.size(); ++node) {
    const int here = members[node], next = members[(node + 1) % members.size()];
    ++count[static_cast<std::size_t>(here)];
    if (here == next) continue;
    ++leaves[static_cast<std::size_t>(here)];
    ++out.crossings;
  }
  if (out.crossings == 0) return out;
  for (std::size_t member = 0; member < all; ++member) {
    const auto inside = static_cast<float>(count[member]);
    out.ring = std::max(out.ring, static_cast<float>(leaves[member]));
    out.direct = std::max(out.direct, inside * (static_cast<float>(nodes) - inside) / static_cast<float>(nodes - 1));
  }
  out.tree = static_cast<float>(double_tree_uplinks(members));
  return out;
}

/// How many nodes the fabric joins: a scenario's may be more than ranks and servers take.
int fabric_nodes(const CollectiveCluster& cluster, const RankPlaces& places) {
  return std::max(cluster.most_nodes.value_or(0), places.all_nodes());
}

}  // namespace

FabricLevels cluster_levels(const CollectiveCluster& cluster, const RankPlaces& places) {
  return fabric_levels(cluster.fabric, fabric_nodes(cluster, places), cluster.machine.nics,
                       cluster.machine.nic_bandwidth, cluster.network_switch);
}

std::vector<int> placed_nodes(const CollectiveCluster& cluster, const RankPlaces& places) {
  return place_nodes(cluster.fabric, cluster_levels(cluster, places), fabric_nodes(cluster, places));
}

namespace {

/// A level and what the ranks send over it.
struct LevelTraffic {
  FabricLevel level;
  LevelLoad load;
  std::vector<int> members;  ///< by node of the ranks, then of servers
};

std::vector<LevelTraffic> level_traffic(const CollectiveCluster& cluster, const RankPlaces& places) {
  std::vector<LevelTraffic> out;
  if (places.all_nodes() == 1 || is_star(cluster)) return out;
  const FabricLevels levels = cluster_levels(cluster, places);
  const std::vector<int> order = placed_nodes(cluster, places);
  for (const FabricLevel& level : levels.levels) {
    std::vector<int> members = members_of(level, places.all_nodes(), order);
    out.push_back({level, placed_load(members), std::move(members)});
  }
  return out;
}

}  // namespace

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
  if (!question.ranks && !cluster.nodes)
    refuse_option("--ranks", "is missing", "say how many ranks take part: --ranks 16");
  const int ranks = question.ranks.value_or(cluster.scenario ? cluster.scenario->devices() : 1);
  RankPlaces out = question.nodes ? on_given_nodes(ranks, question, cluster) : by_share(ranks, question, cluster);
  if (question.of_servers()) out.server_nodes = question.server_layout(out.ranks, out.per_node).server_nodes();
  if (out.per_node > cluster.most_per_node)
    refuse_option(question.nodes ? "--nodes" : "--ranks-per-node",
                  fmt::format("{} on a node, but a node has {}", plural(out.per_node, "rank"),
                              plural(cluster.most_per_node, cluster.has_accelerators() ? "device" : "core")),
                  fmt::format("at most {}", cluster.most_per_node));
  if (cluster.most_nodes && out.nodes > *cluster.most_nodes)
    refuse_option("--ranks",
                  fmt::format("{} need {}, but the cluster has {}", plural(ranks, "rank"), plural(out.nodes, "node"),
                              *cluster.most_nodes),
                  fmt::format("at most {}", *cluster.most_nodes * out.per_node));
  if (!cluster.raw && out.all_nodes() > 1 &&
      !(cluster.machine.nics > 0 && cluster.machine.nic_bandwidth > BytesPerSecond(0)))
    refuse_option(out.nodes > 1 ? "--ranks" : "--server-placement",
                  fmt::format("{} {} on {}, but {} has no NIC of known rate", plural(ranks, "rank"),
                              out.server_nodes > 0 ? "and servers are" : "are", plural(out.all_nodes(), "node"),
                              cluster.machine.node->id),
                  fmt::format("at most {}, or --set cluster.fabric.nics_per_node and nic_bandwidth_Gbps",
                              plural(cluster.most_per_node, "rank")));
  return out;
}

void settle_fabric(CollectiveCluster& cluster, const RankPlaces& places, const Catalog& catalog) {
  if (fabric_nodes(cluster, places) == 1 || cluster.machine.nics == 0 || is_star(cluster)) return;
  take_wraps(cluster.fabric, cluster.machine.accelerator);
  Diagnostics diagnostics(cluster.name);
  cluster.machine.nic_bandwidth = cabled_nic_rate(cluster.fabric, fabric_nodes(cluster, places), cluster.machine.nics,
                                                  cluster.machine.nic_bandwidth);
  cluster.network_switch = network_switch(cluster.fabric, cluster.machine.network, cluster.machine.nic_bandwidth,
                                          catalog, "/cluster/fabric", diagnostics);
  check_fabric(cluster.fabric, fabric_nodes(cluster, places), cluster.machine.nics, cluster.machine.nic_bandwidth,
               cluster.network_switch, "/cluster/fabric", diagnostics);
  diagnostics.throw_if_faulty();
  cluster.machine.torus_links = torus_links_of(cluster.machine, cluster.fabric, fabric_nodes(cluster, places));
  // Raw hosts have links alone, unless a switch is named.
  const bool known = !cluster.raw || !cluster.fabric.switch_id.empty();
  cluster.machine.network_sums = known && cluster.network_switch != nullptr && cluster.network_switch->sharp;
}

namespace {

/// Ranks at each NIC of a node, none left out, where its devices share them in equal runs.
std::vector<int> ranks_at_nics(int nics, int ranks, int devices) {
  std::vector<int> out;
  for (int rank = 0; rank < ranks; ++rank) {
    out.resize(static_cast<std::size_t>(rank * nics / devices) + 1, 0);
    ++out.back();
  }
  return out;
}

}  // namespace

void reach_nearest_nics(Interconnect& interconnect, int ranks_per_node, int devices_per_node) {
  if (ranks_per_node >= devices_per_node) return;
  const int nics = interconnect.nics;
  if (nics >= devices_per_node) {
    const int of_last = std::max(1, ranks_per_node * nics / devices_per_node);
    const int shared = (ranks_per_node - 1) * nics / devices_per_node + 1;
    interconnect.node_network = interconnect.nic * std::min(nics, std::max(of_last, shared));
    return;
  }
  // The NIC that most ranks share is what all of them wait for.
  const std::vector<int> sharers = ranks_at_nics(nics, ranks_per_node, devices_per_node);
  const int most = *std::max_element(sharers.begin(), sharers.end());
  interconnect.node_network = interconnect.nic * (static_cast<double>(ranks_per_node) / most);
}

PlacedGroup placed_group(const CollectiveCluster& cluster, const RankPlaces& places) {
  PlacedGroup out{cluster.raw ? single_gpu_star(places.nodes).interconnect : interconnect_of(cluster.machine),
                  {places.ranks, places.per_node, 1}};
  reach_nearest_nics(out.interconnect, places.per_node, cluster.machine.devices_per_node);
  // Up-links lose to headers and flow control what NICs lose.
  const double share = places.all_nodes() > 1 ? out.interconnect.nic / cluster.machine.nic_bandwidth : 1;
  if (places.all_nodes() > 1 && !is_star(cluster))
    out.interconnect.message_rate = cluster_levels(cluster, places).message * share;
  for (const auto& [level, load, members] : level_traffic(cluster, places)) {
    if (out.interconnect.uplinks.size() == kFabricLevels) break;
    out.group.above[out.interconnect.uplinks.size()] = load;
    out.interconnect.uplinks.push_back({level.up * share, cluster.raw ? 2 * kRawLink : level.hop});
  }
  return out;
}

GroupShape on_own_rails(GroupShape group, const CollectiveCluster& cluster, const RankPlaces& places) {
  const CollectiveMachine& machine = cluster.machine;
  if (places.nodes < 2 || is_star(cluster)) return group;
  const FabricLevels levels = cluster_levels(cluster, places);
  if (!levels.rails_apart) return group;
  const int own = std::max(1, machine.nics / std::max(1, machine.devices_per_node));
  // Sites are joined by what all rails share.
  const std::size_t of_rails = levels.levels.size() - (cluster.fabric.wan && !levels.levels.empty() ? 1 : 0);
  for (std::size_t level = 0; level < std::min(of_rails, kFabricLevels); ++level)
    group.above[level].ring *= static_cast<float>(machine.nics) / static_cast<float>(own);
  return group;
}

bool is_laid_on_links(const CollectiveCluster& cluster, const RankPlaces& places) {
  if (places.nodes < 2 || (cluster.raw && is_star(cluster))) return false;
  if (static_cast<long>(fabric_nodes(cluster, places)) * cluster.machine.devices_per_node > kMostLaidDevices)
    return false;
  if (is_torus(cluster.fabric.preset) || cluster.fabric.preset == FabricPreset::custom) return true;
  // A message that changes rails takes its node's PCIe.
  if (!cluster.fabric.pxn && cluster_levels(cluster, places).rails_apart) return true;
  const CollectiveMachine& machine = cluster.machine;
  if (machine.nics < machine.devices_per_node) {
    const std::vector<int> sharers = ranks_at_nics(machine.nics, places.per_node, machine.devices_per_node);
    if (std::adjacent_find(sharers.begin(), sharers.end(), std::not_equal_to<>()) != sharers.end()) return true;
  }
  const BytesPerSecond node = machine.nic_bandwidth * machine.nics;
  const std::vector<LevelTraffic> traffic = level_traffic(cluster, places);
  return std::any_of(traffic.begin(), traffic.end(), [&](const LevelTraffic& of) {
    return node * std::max({of.load.ring, of.load.tree, of.load.direct}) > of.level.up;
  });
}

GroupShape with_collisions(GroupShape group, const CollectiveCluster& cluster, const RankPlaces& places) {
  std::size_t at = 0;
  for (const auto& [level, load, members] : level_traffic(cluster, places)) {
    if (at == kFabricLevels) break;
    LevelLoad& out = group.above[at++];
    if (load.crossings == 0 || level.links < 2) continue;
    // LevelLoad counts a node's whole traffic; its ranks have a message for each rank elsewhere.
    const double messages = static_cast<double>(load.direct) * places.per_node * (places.ranks - places.per_node);
    const double mean = messages / level.links;
    const int of_level = *std::max_element(members.begin(), members.end()) + 1;
    const double cables = 2.0 * level.links * of_level;  // up and down
    out.direct *= static_cast<float>(1 + std::sqrt(2 * std::log(cables) / mean));
  }
  return group;
}

HostNetwork placed_host_network(const CollectiveCluster& cluster, const RankPlaces& places, HostLibrary library) {
  const CollectiveMachine& machine = cluster.machine;
  const std::optional<HostNetwork> measured = calibrated_host_network(machine, library);
  HostNetwork out =
      measured ? *measured : host_network_of(machine.network, machine.nic_bandwidth, machine.nics, library);
  // Copies were measured as the node's memory let them be.
  if (!measured && machine.cpu != nullptr && machine.node != nullptr && machine.node->cpu_count > 0)
    share_memory(out, *machine.cpu, machine.node->cpu_count);
  out.to_all = out.to_next = out.node;
  for (const auto& [level, load, members] : level_traffic(cluster, places)) {
    if (load.crossings == 0) continue;
    out.latency += level.hop;
    out.to_all = std::min(out.to_all, level.up / load.direct);
    out.to_next = std::min(out.to_next, level.up / load.ring);
  }
  return out;
}

std::vector<PeerPorts::Level> peer_levels(const CollectiveCluster& cluster, const RankPlaces& places) {
  std::vector<PeerPorts::Level> out;
  for (auto& [level, load, members] : level_traffic(cluster, places))
    if (load.crossings > 0) out.push_back({level.up, std::move(members)});
  return out;
}

PlacedSetting placed_setting(const CollectiveCluster& cluster, const RankPlaces& places, const Catalog& catalog) {
  PlacedSetting out;
  const int devices = cluster.machine.devices_per_node;
  for (int rank = 0; rank < places.ranks; ++rank)
    out.devices.push_back(rank / places.per_node * devices + rank % places.per_node);
  PlacedGroup placed = placed_group(cluster, places);
  out.group = placed.group;
  if (cluster.raw && is_star(cluster)) {
    out.setting = single_gpu_star(places.nodes);
    return out;
  }
  out.setting.interconnect = std::move(placed.interconnect);
  out.setting.nic_bandwidth = cluster.machine.nic_bandwidth;
  out.setting.nodes = fabric_nodes(cluster, places);
  out.setting.devices_per_node = devices;
  // A torus of ICI links has no library that serves peers in turns.
  if (cluster.machine.network == NetworkKind::ici) out.setting.peers_in_flight = 0;
  out.setting.hashed = cluster.fabric.routing == FabricRouting::ecmp;
  out.setting.network = [&cluster, &catalog, nodes = out.setting.nodes](std::uint64_t seed) {
    auto fabric =
        std::make_shared<const Fabric>(build_fabric(cluster.fabric, *cluster.machine.node, nodes, cluster.machine.nics,
                                                    cluster.machine.nic_bandwidth, cluster.network_switch, catalog));
    return network_links(std::move(fabric), cluster.fabric.routing, seed);
  };
  return out;
}

}  // namespace stepcast
