#include "models/collectives/algorithm_table.hpp"

#include <string_view>

#include "models/collectives/double_tree.hpp"

namespace stepcast {

namespace algorithms {

namespace {

using enum CollectiveKind;
using Pattern = MessagePattern;

constexpr KindSet kReductions{all_reduce, barrier};
constexpr KindSet kGathers{all_gather, reduce_scatter};
constexpr KindSet kReductionsAndGathers{all_reduce, barrier, all_gather, reduce_scatter};

int others(CollectiveKind, const Call& call) { return call.group.size - 1; }
int ring_steps(CollectiveKind kind, const Call& call) {
  if (kind == send_recv) return 1;
  return kReductions.has(kind) ? 2 * others(kind, call) : others(kind, call);
}
/// Steps over n ranks that double their distance.
int doublings(CollectiveKind, const Call& call) {
  return tree_levels(static_cast<int>(call.p)) + tree_levels(call.nodes);
}
int there_and_back(CollectiveKind kind, const Call& call) { return 2 * doublings(kind, call); }

Timed by_switch(const Asked& asked, const Call& call) { return switch_sum(asked.kind, asked.payload, call); }
Timed by_network(const Asked& asked, const Call& call) { return network_sum(asked.kind, asked.payload, call); }
Timed by_pat(const Asked& asked, const Call& call) { return pat(asked.volume(call), call); }
Timed by_halves(const Asked& asked, const Call& call) { return halving_doubling(asked.payload, call); }
Timed by_doubling(const Asked& asked, const Call& call) { return recursive_doubling(asked.payload, call); }
/// Where every rank sends to the next one, that is one step of a ring.
Timed by_neighbours(const Asked& asked, const Call& call) {
  return asked.kind == send_recv ? by_library(asked, call) : by_ring(asked, call);
}
Timed by_pairs(const Asked& asked, const Call& call) {
  if (asked.kind == all_to_all) return by_library(asked, call);
  return direct(asked.volume(call), asked.passes(), call);
}

constexpr AlgorithmEntry kTable[] = {
    {.name = "auto",
     .kinds = {all_reduce, barrier, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, reduce},
     .cost = by_library},
    {.name = "ring",
     .kinds = {all_reduce, barrier, all_gather, reduce_scatter, send_recv},
     .cost = by_neighbours,
     .steps = ring_steps},
    {.name = "tree", .kinds = kReductions, .cost = by_tree, .pattern = Pattern::tree},
    {.name = "hierarchical",
     .kinds = kReductions,
     .cost = by_hierarchy,
     .refuses = without_two_levels,
     .phases = add_hierarchical_phases},
    {.name = "halving-doubling",
     .kinds = kReductions,
     .cost = by_halves,
     .pattern = Pattern::halving_doubling,
     .steps = there_and_back,
     .refuses = without_power_of_two,
     .protocols = ProtocolChoice::simple_alone},
    {.name = "recursive-doubling",
     .kinds = kReductions,
     .cost = by_doubling,
     .pattern = Pattern::doubling,
     .steps = doublings,
     .refuses = without_power_of_two,
     .protocols = ProtocolChoice::ll_alone},
    {.name = "nvls",
     .kinds = kReductionsAndGathers,
     .cost = by_switch,
     .pattern = Pattern::in_switch,
     .refuses = without_switch_sums,
     .protocols = ProtocolChoice::simple_alone},
    {.name = "nvls-tree",
     .kinds = kReductionsAndGathers,
     .cost = by_switch,
     .pattern = Pattern::tree,
     .refuses = without_trees_of_switches,
     .protocols = ProtocolChoice::simple_alone},
    {.name = "collnet",
     .kinds = kReductionsAndGathers,
     .cost = by_network,
     .pattern = Pattern::in_switch,
     .refuses = without_network_sums,
     .protocols = ProtocolChoice::simple_alone},
    {.name = "pat",
     .kinds = kGathers,
     .cost = by_pat,
     .pattern = Pattern::doubling,
     .steps = doublings,
     .refuses = without_one_rank_a_node,
     .protocols = ProtocolChoice::simple_alone},
    {.name = "chain", .kinds = {broadcast, reduce}, .cost = by_chain, .pattern = Pattern::chain},
    {.name = "direct",
     .kinds = {all_reduce, barrier, all_gather, reduce_scatter, all_to_all},
     .cost = by_pairs,
     .pattern = Pattern::direct,
     .steps = others,
     .protocols = ProtocolChoice::simple_alone},
};

constexpr auto kNames = [] {
  std::array<const char*, std::size(kTable)> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kTable[i].name;
  return names;
}();

constexpr bool stands_at(CollectiveAlgorithm algorithm, std::string_view name) {
  return kTable[static_cast<std::size_t>(algorithm)].name == name;
}
using Named = CollectiveAlgorithm;
static_assert(stands_at(Named::automatic, "auto") && stands_at(Named::ring, "ring") && stands_at(Named::tree, "tree") &&
              stands_at(Named::hierarchical, "hierarchical") &&
              stands_at(Named::halving_doubling, "halving-doubling") &&
              stands_at(Named::recursive_doubling, "recursive-doubling") && stands_at(Named::nvls, "nvls") &&
              stands_at(Named::nvls_tree, "nvls-tree") && stands_at(Named::collnet, "collnet") &&
              stands_at(Named::pat, "pat") && stands_at(Named::chain, "chain") && stands_at(Named::direct, "direct"));

}  // namespace

std::span<const AlgorithmEntry> algorithm_table() { return kTable; }
const AlgorithmEntry& entry_of(CollectiveAlgorithm algorithm) { return kTable[static_cast<std::size_t>(algorithm)]; }

}  // namespace algorithms

constinit const std::span<const char* const> EnumNames<CollectiveAlgorithm>::names{algorithms::kNames};

MessagePattern pattern_of(CollectiveAlgorithm algorithm) { return algorithms::entry_of(algorithm).pattern; }

}  // namespace stepcast
