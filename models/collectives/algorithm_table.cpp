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
Timed by_pairs(const Asked& asked, const Call& call) {
  if (asked.kind == all_to_all || asked.kind == send_recv) return by_library(asked, call);
  return direct(asked.volume(call), asked.passes(), call);
}

constexpr AlgorithmEntry kTable[] = {
    {.name = "auto",
     .kinds = {all_reduce, barrier, all_gather, reduce_scatter, all_to_all, broadcast, send_recv, reduce},
     .cost = by_library},
    {.name = "ring", .kinds = kReductionsAndGathers, .cost = by_ring, .steps = ring_steps},
    {.name = "tree", .kinds = kReductions, .cost = by_tree, .pattern = Pattern::tree},
    {.name = "hierarchical", .kinds = kReductions, .cost = by_hierarchy, .phases = add_hierarchical_phases},
    {.name = "halving-doubling",
     .kinds = kReductions,
     .cost = by_halves,
     .pattern = Pattern::halving_doubling,
     .steps = there_and_back,
     .refuses = without_power_of_two},
    {.name = "recursive-doubling",
     .kinds = kReductions,
     .cost = by_doubling,
     .pattern = Pattern::doubling,
     .steps = doublings,
     .refuses = without_power_of_two},
    {.name = "nvls",
     .kinds = kReductionsAndGathers,
     .cost = by_switch,
     .pattern = Pattern::in_switch,
     .refuses = without_switch_sums,
     .simple_alone = true},
    {.name = "nvls-tree",
     .kinds = kReductionsAndGathers,
     .cost = by_switch,
     .pattern = Pattern::tree,
     .refuses = without_trees_of_switches,
     .simple_alone = true},
    {.name = "collnet",
     .kinds = kReductionsAndGathers,
     .cost = by_network,
     .pattern = Pattern::in_switch,
     .refuses = without_network_sums,
     .simple_alone = true},
    {.name = "pat",
     .kinds = kGathers,
     .cost = by_pat,
     .pattern = Pattern::doubling,
     .steps = doublings,
     .refuses = without_one_rank_a_node,
     .simple_alone = true},
    {.name = "chain", .kinds = {broadcast, reduce}, .cost = by_chain, .pattern = Pattern::chain},
    {.name = "direct",
     .kinds = {all_reduce, barrier, all_gather, reduce_scatter, all_to_all, send_recv},
     .cost = by_pairs,
     .pattern = Pattern::direct,
     .steps = others},
};

constexpr bool same_names() {
  const auto& names = EnumNames<CollectiveAlgorithm>::names;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::string_view(kTable[i].name) != names[i]) return false;
  return names.size() == std::size(kTable);
}
static_assert(same_names(), "a row for every enumerator of CollectiveAlgorithm, in its order");

}  // namespace

std::span<const AlgorithmEntry> algorithm_table() { return kTable; }
const AlgorithmEntry& entry_of(CollectiveAlgorithm algorithm) { return kTable[static_cast<std::size_t>(algorithm)]; }

}  // namespace algorithms

bool joins_all_pairs(CollectiveAlgorithm algorithm) {
  return algorithms::entry_of(algorithm).pattern == MessagePattern::direct;
}

}  // namespace stepcast
