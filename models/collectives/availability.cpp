#include <bit>

#include "models/collectives/machine.hpp"

namespace stepcast {

namespace {

bool reduces(CollectiveKind kind) { return kind == CollectiveKind::all_reduce || kind == CollectiveKind::barrier; }
bool gathers(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
}
bool power_of_two(int n) { return std::has_single_bit(static_cast<unsigned>(n)); }

std::string not_for(CollectiveKind kind, CollectiveAlgorithm algorithm, std::string_view instead) {
  return fmt::format("no {} runs by {}; {}", name_of(kind), name_of(algorithm), instead);
}

std::optional<std::string> no_switch_sums(const CollectiveMachine& machine, const GroupShape& group) {
  const NodeTopology topology = machine.node->interconnect.kind;
  if (topology != NodeTopology::nvswitch && topology != NodeTopology::nvswitch_rack)
    return fmt::format("node \"{}\" has no NVSwitch between its devices", machine.node->id);
  if (machine.links == nullptr || machine.links->nvls_share <= 0)
    return fmt::format("the switches of node \"{}\" cannot add: NVLink SHARP came with Hopper", machine.node->id);
  if (std::min(group.per_node, group.size) < 2) return "a single device on each node leaves the switch nothing to add";
  return std::nullopt;
}

std::optional<std::string> algorithm_reason(CollectiveKind kind, CollectiveAlgorithm algorithm, const GroupShape& group,
                                            const CollectiveMachine& machine) {
  const bool several = group.nodes() > 1;
  switch (algorithm) {
    case CollectiveAlgorithm::automatic:
      return std::nullopt;
    case CollectiveAlgorithm::ring:
      if (reduces(kind) || gathers(kind)) return std::nullopt;
      return not_for(kind, algorithm, "all_reduce, all_gather and reduce_scatter have");
    case CollectiveAlgorithm::tree:
    case CollectiveAlgorithm::hierarchical:
    case CollectiveAlgorithm::recursive_doubling:
    case CollectiveAlgorithm::halving_doubling: {
      if (!reduces(kind)) return not_for(kind, algorithm, "all_reduce has");
      const bool doubles =
          algorithm == CollectiveAlgorithm::recursive_doubling || algorithm == CollectiveAlgorithm::halving_doubling;
      if (doubles && !power_of_two(group.size))
        return fmt::format("{} needs a power of two of ranks, found {}", name_of(algorithm), group.size);
      return std::nullopt;
    }
    case CollectiveAlgorithm::nvls:
    case CollectiveAlgorithm::nvls_tree:
      if (!reduces(kind) && !gathers(kind)) return not_for(kind, algorithm, "all_reduce has");
      if (algorithm == CollectiveAlgorithm::nvls_tree && (!several || gathers(kind)))
        return "nvls-tree joins the switches of several nodes for an all_reduce; inside one node: nvls";
      if (algorithm == CollectiveAlgorithm::nvls && several && !machine.network_sums)
        return "nvls over several nodes needs a network that adds (SHARP); nvls-tree does not";
      return no_switch_sums(machine, group);
    case CollectiveAlgorithm::collnet:
      if (!reduces(kind) && !gathers(kind)) return not_for(kind, algorithm, "all_reduce has");
      if (!several) return "collnet adds in the network, and the ranks are on one node";
      if (!machine.network_sums) return "the fabric's switches do not add: none with SHARP is named";
      return std::nullopt;
    case CollectiveAlgorithm::pat:
      if (!gathers(kind)) return not_for(kind, algorithm, "all_gather and reduce_scatter have");
      if (group.per_node > 1 && several) return "PAT runs with one rank on each node";
      return std::nullopt;
    case CollectiveAlgorithm::chain:
      if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce) return std::nullopt;
      return not_for(kind, algorithm, "broadcast and reduce have");
    case CollectiveAlgorithm::direct:
      if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce)
        return not_for(kind, algorithm, "all_to_all has");
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string> protocol_reason(CollectiveAlgorithm algorithm, CollectiveProtocol protocol,
                                           const CollectiveMachine& machine) {
  if (protocol == CollectiveProtocol::automatic || protocol == CollectiveProtocol::simple) return std::nullopt;
  const bool simple_alone = algorithm == CollectiveAlgorithm::nvls || algorithm == CollectiveAlgorithm::nvls_tree ||
                            algorithm == CollectiveAlgorithm::collnet || algorithm == CollectiveAlgorithm::pat;
  if (simple_alone) return fmt::format("{} has the protocol simple alone", name_of(algorithm));
  if (protocol == CollectiveProtocol::ll128 &&
      (machine.links == nullptr || machine.links->generation == TunerGeneration::none))
    return "ll128 needs NVLink between the devices";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> unavailable_reason(CollectiveKind kind, CollectiveAlgorithm algorithm,
                                              CollectiveProtocol protocol, const GroupShape& group,
                                              const CollectiveMachine& machine) {
  if (auto reason = algorithm_reason(kind, algorithm, group, machine)) return reason;
  return protocol_reason(algorithm, protocol, machine);
}

}  // namespace stepcast
