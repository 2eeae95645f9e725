#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "models/parallelism/job.hpp"
#include "sim/step_graph.hpp"

namespace stepcast {

/// The links that the representative devices share, and the paths of their traffic over them.
///
/// Folding: the ranks of a pipeline stage on one node behave alike, so one flow stands for k of them. It carries k
/// times the bytes with weight k over the links that they share (NICs, up-link, drives); links of a rank's own count k
/// times.
class FoldedNetwork {
 public:
  FoldedNetwork(const Job& job, StepGraph& graph);

  /// Flows of a collective in which a stage's devices take part, on idle links as fast as CollectiveCost::alone says.
  std::vector<Flow> collective(int stage, const CollectiveCost& cost);
  /// Flows of a message between two stages.
  std::vector<Flow> message(int from, int to, const CollectiveCost& cost);
  /// Reading input from storage to a node's memory, and copying it to the devices of a stage.
  std::vector<Flow> storage_read(int stage, Bytes per_device);
  std::vector<Flow> host_to_device(int stage, Bytes per_device);

 private:
  struct Port {
    LinkId native_out, native_in, nic_out, nic_in, host;
  };
  struct NodeLinks {
    LinkId nic_out, nic_in, up, down, storage;
  };
  PathId path(std::vector<LinkId> links, double weight, BytesPerSecond cap);

  const Job& job_;
  StepGraph& graph_;
  std::vector<Port> ports_;
  std::vector<NodeLinks> nodes_;
  std::map<std::tuple<std::vector<LinkId>, double, double>, PathId> paths_;
  double ranks_ = 1;
};

}  // namespace stepcast
