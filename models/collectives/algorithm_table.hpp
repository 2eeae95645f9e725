#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "models/collectives/algorithms.hpp"
#include "models/collectives/machine.hpp"

/// All that Stepcast knows of an algorithm, a row each; docs/extending/collective.md adds one.
namespace stepcast::algorithms {

class KindSet {
 public:
  constexpr KindSet(std::initializer_list<CollectiveKind> kinds) {
    for (const CollectiveKind kind : kinds) bits_ |= 1U << static_cast<unsigned>(kind);
  }
  [[nodiscard]] constexpr bool has(CollectiveKind kind) const {
    return (bits_ >> static_cast<unsigned>(kind) & 1U) != 0;
  }

 private:
  unsigned bits_ = 0;
};

/// Protocols that can be asked of an algorithm.
enum class ProtocolChoice : std::uint8_t { any, simple_alone, ll_alone };

struct AlgorithmEntry {
  const char* name;  ///< in scenarios, on the command line and in reports
  KindSet kinds;     ///< that it runs
  /// What the call costs. It names itself in Shape::algorithm, or what it comes to on this group.
  Timed (*cost)(const Asked& asked, const Call& call);
  MessagePattern pattern = MessagePattern::ring;  ///< who sends to whom
  int (*steps)(CollectiveKind kind, const Call& call) = [](CollectiveKind, const Call&) { return 1; };
  /// Why a machine cannot run it, in words for a message; null: every machine can.
  std::optional<std::string> (*refuses)(CollectiveKind kind, const GroupShape& group,
                                        const CollectiveMachine& machine) = nullptr;
  ProtocolChoice protocols = ProtocolChoice::any;
  /// Phases of a plan that are not one of `pattern` over the whole group; null: they are.
  void (*phases)(CollectivePlan& plan, const Asked& asked, const Call& call) = nullptr;
};

/// By the place of CollectiveAlgorithm. Rows beyond its enumerators are known by their names alone.
std::span<const AlgorithmEntry> algorithm_table();
const AlgorithmEntry& entry_of(CollectiveAlgorithm algorithm);

/// Reasons to refuse (availability.cpp).
std::optional<std::string> without_two_levels(CollectiveKind kind, const GroupShape& group,
                                              const CollectiveMachine& machine);
std::optional<std::string> without_power_of_two(CollectiveKind kind, const GroupShape& group,
                                                const CollectiveMachine& machine);
std::optional<std::string> without_switch_sums(CollectiveKind kind, const GroupShape& group,
                                               const CollectiveMachine& machine);
std::optional<std::string> without_trees_of_switches(CollectiveKind kind, const GroupShape& group,
                                                     const CollectiveMachine& machine);
std::optional<std::string> without_network_sums(CollectiveKind kind, const GroupShape& group,
                                                const CollectiveMachine& machine);
std::optional<std::string> without_one_rank_a_node(CollectiveKind kind, const GroupShape& group,
                                                   const CollectiveMachine& machine);

}  // namespace stepcast::algorithms

namespace stepcast {

/// Who sends to whom in an algorithm, which decides what it loads the levels of a fabric with.
MessagePattern pattern_of(CollectiveAlgorithm algorithm);

}  // namespace stepcast
