#include <bit>
#include <vector>

#include "models/collectives/algorithm_table.hpp"
#include "models/collectives/machine.hpp"

namespace stepcast {

namespace algorithms {

std::optional<std::string> without_two_levels(CollectiveKind, const GroupShape& group, const CollectiveMachine&) {
  if (group.nodes() <= 1) return "hierarchical joins several nodes, and the ranks are on one";
  if (std::min(group.per_node, group.size) <= 1) return "a single rank on each node leaves nothing to do inside";
  return std::nullopt;
}

std::optional<std::string> without_power_of_two(CollectiveKind, const GroupShape& group, const CollectiveMachine&) {
  if (std::has_single_bit(static_cast<unsigned>(group.size))) return std::nullopt;
  return fmt::format("it needs a power of two of ranks, found {}", group.size);
}

namespace {

std::optional<std::string> no_switch_adds(const GroupShape& group, const CollectiveMachine& machine) {
  const NodeTopology topology = machine.node->interconnect.kind;
  if (topology != NodeTopology::nvswitch && topology != NodeTopology::nvswitch_rack)
    return fmt::format("node \"{}\" has no NVSwitch between its devices", machine.node->id);
  if (machine.links == nullptr || machine.links->nvls_share <= 0)
    return fmt::format("the switches of node \"{}\" cannot add: NVLink SHARP came with Hopper", machine.node->id);
  if (std::min(group.per_node, group.size) < 2) return "a single device on each node leaves the switch nothing to add";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> without_switch_sums(CollectiveKind, const GroupShape& group,
                                               const CollectiveMachine& machine) {
  if (group.nodes() > 1) return "nvls adds in the switches of one node; over several: nvls-tree, or collnet with SHARP";
  return no_switch_adds(group, machine);
}

std::optional<std::string> without_trees_of_switches(CollectiveKind kind, const GroupShape& group,
                                                     const CollectiveMachine& machine) {
  const bool gathers = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
  if (group.nodes() <= 1 || gathers)
    return "nvls-tree joins the switches of several nodes for an all_reduce; inside one node: nvls";
  return no_switch_adds(group, machine);
}

std::optional<std::string> without_network_sums(CollectiveKind, const GroupShape& group,
                                                const CollectiveMachine& machine) {
  if (group.nodes() <= 1) return "collnet adds in the network, and the ranks are on one node";
  if (!machine.network_sums) return "the fabric's switches do not add: they have no SHARP";
  return std::nullopt;
}

std::optional<std::string> without_one_rank_a_node(CollectiveKind, const GroupShape& group, const CollectiveMachine&) {
  if (group.per_node > 1 && group.nodes() > 1) return "PAT runs with one rank on each node";
  return std::nullopt;
}

}  // namespace algorithms

namespace {

using algorithms::AlgorithmEntry;

/// "all_reduce, all_gather and reduce_scatter have"; a barrier goes without saying.
std::string who_has(const AlgorithmEntry& entry) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < EnumNames<CollectiveKind>::names.size(); ++i)
    if (const auto kind = static_cast<CollectiveKind>(i); kind != CollectiveKind::barrier && entry.kinds.has(kind))
      names.emplace_back(name_of(kind));
  if (names.size() == 1) return names.front() + " has";
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {} have", fmt::join(names, ", "), last);
}

std::optional<std::string> protocol_reason(CollectiveKind kind, const AlgorithmEntry& entry,
                                           CollectiveProtocol protocol, const CollectiveMachine& machine) {
  using algorithms::ProtocolChoice;
  if (protocol == CollectiveProtocol::automatic) return std::nullopt;
  if (kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_recv)
    return "messages between peers take ll or simple by their size, which nobody chooses";
  if (entry.protocols == ProtocolChoice::ll_alone && protocol != CollectiveProtocol::ll)
    return fmt::format("{} has the protocol ll alone", entry.name);
  if (protocol == CollectiveProtocol::simple) return std::nullopt;
  if (entry.protocols == ProtocolChoice::simple_alone)
    return fmt::format("{} has the protocol simple alone", entry.name);
  if (protocol == CollectiveProtocol::ll128 &&
      (machine.links == nullptr || machine.links->generation == TunerGeneration::none))
    return "ll128 needs NVLink between the devices";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unavailable_reason(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                              CollectiveProtocol protocol, const GroupShape& group,
                                              const CollectiveMachine& machine) {
  const AlgorithmEntry& entry = algorithms::entry_of(algorithm);
  if (!entry.kinds.has(kind)) return fmt::format("no {} runs by {}; {}", name_of(kind), entry.name, who_has(entry));
  if (entry.refuses)
    if (auto reason = entry.refuses(kind, group, machine)) return reason;
  return protocol_reason(kind, entry, protocol, machine);
}

}  // namespace stepcast
