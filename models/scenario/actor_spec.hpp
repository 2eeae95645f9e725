#pragma once

#include <optional>
#include <string>

#include "fields/field_table.hpp"

namespace stepcast {

/// Reinforcement learning: actors generate the samples that the cluster's devices, the learners, train on. Every step's
/// weights are broadcast to the actors (Espeholt et al. 2018, arXiv 1802.01561; Fu et al. 2025, arXiv 2505.24298).
struct ActorSpec {
  int nodes = 1;                        ///< beside cluster.nodes
  std::string node;                     ///< catalogue id; empty: the learners' kind
  std::optional<double> samples_per_s;  ///< of one node, as measured; absent: computed from the model that generates
  int tensor_parallel = 1;              ///< devices of one copy of the model
  int concurrent = 64;                  ///< sequences that a copy generates at once; with samples_per_s, of a node
  int prompt_tokens = 0;                ///< of a sequence; the rest of it is generated
  int staleness_bound = 1;              ///< steps that the weights of a sample may be behind; 0: generate, then learn
  double length_spread = 0;             ///< standard deviation of the logarithm of a sample's time
  int max_tokens = 0;                   ///< of a sequence, its prompt included, at which it is cut off; 0: never
  bool interruptible = false;           ///< sequences under way go on with new weights as soon as these arrive
  static const FieldTable<ActorSpec>& fields();
  bool operator==(const ActorSpec&) const = default;
};

}  // namespace stepcast
