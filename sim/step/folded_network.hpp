#pragma once

#include <map>
#include <memory>
#include <vector>

#include "sim/step/network.hpp"
#include "sim/step/shared_links.hpp"

namespace stepcast {

/// The links that representative devices share, and the paths of their traffic over them.
///
/// Folding: the ranks of a pipeline stage on one node behave alike, so one flow stands for k of them. It carries k
/// times the bytes with weight k over the links that they share (NICs, drives); links of a rank's own count k times.
/// What crosses a fabric level goes beside it, over the up-links of every simulated leaf in which the stage has nodes,
/// as much as all of them send there (NodeMap). The operation ends with the slowest.
class FoldedNetwork : public StepNetwork {
 public:
  /// `watch_representatives` must have been called for every job of the graph.
  FoldedNetwork(const Job& job, const std::vector<Column>& columns, StepGraph& graph, SharedLinks& shared,
                const std::vector<Member>& members);
  /// Marks the leaves that hold a job's representatives.
  static void watch_representatives(const Job& job, const std::vector<Column>& columns, SharedLinks& shared);

  std::vector<Flow> collective(const Member& member, GroupKind kind, const CollectiveCost& cost) override;
  std::vector<Flow> message(const Member& from, const Member& to, const CollectiveCost& cost) override;
  std::vector<Flow> storage_read(const Member& member, Bytes per_device) override;
  std::vector<Flow> storage_write(const Member& member, Bytes per_device, BytesPerSecond rate) override;
  std::vector<Flow> host_to_device(const Member& member, Bytes per_device) override;

 private:
  /// A share of the traffic of a stage's node that passes one member's up-links, with the path for it.
  struct Crossing {
    PathId path;
    NodeMap::Load load;
  };
  const Job& job_of(const Member& member) const;
  const DevicePort& port(const Member& member) const { return ports_[member.column][member.stage]; }
  const NodeLinks& node(const Member& member) const { return *nodes_.at(node_key(member.column, member.stage)); }
  [[nodiscard]] std::pair<int, int> node_key(int column, int stage) const;
  [[nodiscard]] double class_share(std::size_t level, int of, int stage, int column) const;
  void add_node(int column, int stage);
  const std::vector<Crossing>& crossings(const Member& member, GroupKind kind);
  const std::vector<Crossing>& message_crossings(const Member& from, const Member& to);

  const Job& job_;
  const std::vector<Column>& columns_;
  StepGraph& graph_;
  SharedLinks& shared_;
  PathTable paths_;
  std::vector<std::vector<DevicePort>> ports_;  ///< by column and stage
  std::map<std::pair<int, int>, std::unique_ptr<NodeLinks>> nodes_;
  std::map<std::tuple<int, int, GroupKind>, std::vector<Crossing>> crossings_;
  std::map<std::tuple<int, int, int>, std::vector<Crossing>> message_crossings_;
  double ranks_ = 1;
};

}  // namespace stepcast
