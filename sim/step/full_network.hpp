#pragma once

#include <map>
#include <vector>

#include "sim/step/network.hpp"
#include "sim/step/shared_links.hpp"

namespace stepcast {

/// Every rank's own ports, every node's NICs and every leaf's up-links: `run.flows: "full"`.
///
/// A ring's or a tree's flow goes from each rank to the same rank of the next node of its group, and takes the up-links
/// of every leaf on its way. An exchange of all pairs is one flow out of each rank and into it, and one over the
/// up-links with what goes to nodes outside.
class FullNetwork : public StepNetwork {
 public:
  FullNetwork(const Job& job, const std::vector<Column>& columns, StepGraph& graph, SharedLinks& shared,
              const std::vector<Member>& members);

  std::vector<Flow> collective(const Member& member, GroupKind kind, const CollectiveCost& cost) override;
  std::vector<Flow> message(const Member& from, const Member& to, const CollectiveCost& cost) override;
  std::vector<Flow> storage_read(const Member& member, Bytes per_device) override;
  std::vector<Flow> storage_write(const Member& member, Bytes per_device, BytesPerSecond rate) override;
  std::vector<Flow> host_to_device(const Member& member, Bytes per_device) override;

 private:
  /// Who a rank of a group sends to.
  struct Peers {
    int native = 0;               ///< next rank on the same node
    int network = 0;              ///< the same place on the next node, or one that stands for it
    bool has_counterpart = true;  ///< whether that node has the same place
    std::vector<double> outside;  ///< by level: share of an exchange of all pairs that leaves the member
    std::vector<double> tree;     ///< by level: what leaves it in a double tree, in what the busiest node sends
    [[nodiscard]] const std::vector<double>& out_of_members(MessagePattern pattern) const {
      return pattern == MessagePattern::tree ? tree : outside;
    }
  };
  const Job& job_of(const Member& member) const;
  const Peers& peers(int rank, GroupKind kind);
  /// Those of a member that a rank's traffic takes.
  SharedLinks::UpDown uplinks(std::size_t level, int of, int rank);
  /// Up-links that a flow from one rank to another takes, or none.
  void add_levels(std::vector<LinkId>& links, int from, int to);
  void add_node(const Member& member);

  const Job& job_;
  const std::vector<Column>& columns_;
  StepGraph& graph_;
  SharedLinks& shared_;
  PathTable paths_;
  std::vector<DevicePort> ports_;  ///< by rank
  std::map<int, NodeLinks> nodes_;
  std::map<std::pair<int, GroupKind>, Peers> peers_;
};

}  // namespace stepcast
