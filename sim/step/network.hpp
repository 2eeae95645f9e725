#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sim/step/columns.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// Where the traffic of a step goes: the flows of what a device sends, over links of the step graph.
class StepNetwork {
 public:
  StepNetwork() = default;
  StepNetwork(const StepNetwork&) = delete;
  StepNetwork& operator=(const StepNetwork&) = delete;
  virtual ~StepNetwork() = default;

  /// Flows of one device's part of a collective, on idle links as fast as CollectiveCost::alone says.
  virtual std::vector<Flow> collective(const Member& member, GroupKind kind, const CollectiveCost& cost) = 0;
  /// Flows of a message between two stages of a column.
  virtual std::vector<Flow> message(const Member& from, const Member& to, const CollectiveCost& cost) = 0;
  /// Reading `per_device` bytes of input to the memory of the device's node: what its page cache does not hold comes
  /// from storage.
  virtual std::vector<Flow> storage_read(const Member& member, Bytes per_device) = 0;
  /// Writing `per_device` bytes from the memory of the device's node to shared storage over the NICs that train, at
  /// `rate` for each device at most.
  virtual std::vector<Flow> storage_write(const Member& member, Bytes per_device, BytesPerSecond rate) = 0;
  /// Copying `per_device` bytes of input from there to the device.
  virtual std::vector<Flow> host_to_device(const Member& member, Bytes per_device) = 0;
};

/// Ranks between which a collective's traffic goes, in the order of its ring. Along a pipeline none meets but the two
/// ends, which add up the gradients of a tied embedding.
std::vector<int> ranks_that_meet(const RankLayout& layout, GroupKind kind, int rank);

inline constexpr LinkId kNoLink = -1;

/// Links of one device's own.
struct DevicePort {
  LinkId native_out, native_in, nic_out, nic_in, host;
};
/// Links that the devices of a node have together.
struct NodeLinks {
  LinkId nic_out, nic_in, storage;
};

/// Makes paths of a graph, each once.
class PathTable {
 public:
  explicit PathTable(StepGraph& graph) : graph_(graph) {}
  /// Links that are kNoLink are left out.
  PathId path(std::vector<LinkId> links, double weight, BytesPerSecond cap = BytesPerSecond(0));

 private:
  StepGraph& graph_;
  std::map<std::tuple<std::vector<LinkId>, double, double>, PathId> paths_;
};

}  // namespace stepcast
