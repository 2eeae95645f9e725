#pragma once

#include <optional>
#include <string>

#include "fields/field_table.hpp"

namespace stepcast {

/// What the cluster suffers and how the job deals with it. What is left out follows published figures
/// (docs/models/reliability.md).
struct ReliabilitySpec {
  std::string published;  ///< id of a reliability record whose rate is taken; empty: by the kind of device
  std::optional<double> interruptions_per_1000_node_days;
  double rate_factor = 1;
  std::optional<Seconds> detection, restart;
  std::optional<int> spares;      ///< absent: another node is always to be had
  std::optional<Seconds> repair;  ///< until a node that failed is back
  bool elastic = false;           ///< goes on with the nodes that are left, where spares are out
  std::optional<bool> spot;       ///< on instances that the provider takes back; default: where they are priced so
  std::optional<double> spot_interruptions_per_1000_node_days;
  double slow_nodes_per_1000_node_days = 0;  ///< onsets of slowness
  double slow_node_speed = 0.8;              ///< share of a healthy one's speed
  std::optional<Seconds> slow_node_found;    ///< time until it is replaced
  double link_flaps_per_1000_nic_days = 0;
  std::optional<Seconds> link_flap;  ///< time for which one stalls the job
  Seconds horizon{30 * 86400.0};     ///< of the forecast, where the scenario states no work
  int trials = 200;                  ///< Monte Carlo runs
  static const FieldTable<ReliabilitySpec>& fields();
};

/// `full`: one node gathers all states and writes them; `sharded`: every node writes its share of them;
/// `asynchronous`: sharded, written from host memory while training goes on.
enum class CheckpointKind { none, full, sharded, asynchronous };
template <>
struct EnumNames<CheckpointKind> {
  static constexpr std::array names{"none", "full", "sharded", "asynchronous"};
};
enum class CheckpointTarget { local, shared };
template <>
struct EnumNames<CheckpointTarget> {
  static constexpr std::array names{"local", "shared"};
};

struct CheckpointSpec {
  CheckpointKind kind = CheckpointKind::sharded;
  std::optional<CheckpointTarget> target;  ///< default: shared storage where the cluster has one
  std::optional<Seconds> interval;         ///< between the starts of two; absent: the best
  std::optional<Bytes> size;               ///< of the whole model; default: from the memory model
  static const FieldTable<CheckpointSpec>& fields();
};

}  // namespace stepcast
