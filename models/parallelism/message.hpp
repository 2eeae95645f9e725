#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// A message between two pipeline ranks: its cost, and how its group lies.
struct Message {
  CollectiveCost cost;
  GroupShape pair;
  [[nodiscard]] Seconds alone(const Interconnect& interconnect) const { return cost.alone(interconnect, pair); }
};

/// Whether the framework cuts the messages between two stages up over the tensor ranks, and the node that receives them
/// gathers the parts.
bool scatters_messages(const Job& job, int from, int to);

/// How two pipeline ranks that meet lie. Messages of one job and as many bytes cost the same between equal pairs.
GroupShape message_pair(const Job& job, int from, int to);

/// Handing an activation of `bytes` per device from one pipeline rank to another. With the framework's scatter/gather
/// of messages, each tensor-parallel rank sends its share over the network and the node gathers them (Narayanan et al.
/// 2021, section 4.1); the gather meets no other traffic and counts as latency.
Message stage_message(const Job& job, int from, int to, Bytes bytes);

}  // namespace stepcast
