#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// What a strategy is chosen for, where nobody states one.
struct DefaultQuestion {
  const Node* node = nullptr;
  const Accelerator* accelerator = nullptr;  ///< null: processors train
  std::shared_ptr<const Model> model;
  int nodes = 1;
  int seq_len = 0;
  Json rest;    ///< the scenario that a strategy is chosen for, without one
  Json stated;  ///< keys of the strategy that are not for choice; null: all are
  [[nodiscard]] int devices() const { return nodes * node->devices(); }
  [[nodiscard]] bool states_length() const { return rest.contains("/workload/seq_len"_json_pointer); }
  [[nodiscard]] bool states_batch() const { return rest.contains("/workload/global_batch"_json_pointer); }
};

/// A strategy to try.
struct DefaultCandidate {
  std::string framework{};
  int tensor = 1;
  int pipeline = 1;
  int expert = 1;
  int context = 1;
  long micro_batch = 1;
  Recompute recompute = Recompute::none;
  std::optional<Sharding> sharding{};
  /// Whether both spread the model alike: they differ in samples at once and recomputation alone.
  [[nodiscard]] bool spreads_as(const DefaultCandidate& other) const;
};

/// Strategies to try, the plainest first, in groups: one is tried only where none before it gives a strategy that
/// leaves room (docs/formats/scenario.md). Not all are legal, and what the question states is not yet in them.
std::vector<std::vector<DefaultCandidate>> default_candidates(const DefaultQuestion& question);

/// The candidate with what the question states in place of its own; none where that cuts no replicas.
std::optional<DefaultCandidate> as_stated(const DefaultQuestion& question, DefaultCandidate candidate);

/// The batch of a candidate where nobody states one: near the rule's for the model, and whole micro-batches.
long standard_batch(const DefaultQuestion& question, const DefaultCandidate& candidate);
/// The largest batch that is still near the rule's; none where the rule is a number of samples a device.
std::optional<long> largest_batch(const DefaultQuestion& question);

/// The candidate as a scenario's `strategy`, with the keys that the question states.
Json strategy_of(const DefaultQuestion& question, const DefaultCandidate& candidate);

}  // namespace stepcast
