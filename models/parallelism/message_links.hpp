#pragma once

#include <array>
#include <vector>

#include "models/parallelism/message.hpp"
#include "models/parallelism/pipeline_time.hpp"

namespace stepcast {

/// How long the messages of one micro-batch occupy the links that they share: each device's streams (a message of a
/// direction starts when the one before it has arrived), ports and NICs, and the up-links of a fabric.
class MessageLinks {
 public:
  /// Of one pipeline of a class of replicas.
  MessageLinks(const Job& job, const ReplicaClass& replicas);

  /// So many messages forward between two stages, each `alone` on idle links, and their gradients backward.
  void add(const Message& message, Seconds alone, int from, int to, double times);
  /// Of the busiest link.
  [[nodiscard]] LinkPeriod period() const;

 private:
  /// What leaves by a link or arrives by it.
  struct Use {
    Seconds forward, backward;
  };
  /// Links of one kind by their owner: stage, node or member of a level.
  struct Links {
    std::vector<Use> out, in;
    /// The ends may need different times: links of their own, of nodes that differ.
    void add(int from, int to, Seconds sending, Seconds receiving);
  };
  [[nodiscard]] const Interconnect& links_of(int stage) const;

  const Job& job_;
  const ReplicaClass& replicas_;
  Links streams_, ports_, nodes_;
  std::array<Links, kFabricLevels> levels_;
};

}  // namespace stepcast
