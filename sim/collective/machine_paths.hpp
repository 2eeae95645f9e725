#pragma once

#include <unordered_map>
#include <vector>

#include "models/collectives/channels.hpp"
#include "sim/collective/collective_run.hpp"
#include "sim/collective/flow_program.hpp"

namespace stepcast {

/// The links of a machine in a flow program, and the paths of messages over them: the network's links by id, then the
/// native port out and in of each device.
///
/// What devices send to each other inside a node goes through their ports, whatever joins them: a library lays its
/// channels over all links of a mesh, so that a device's whole native rate counts, not the one link to its neighbour.
class MachinePaths {
 public:
  MachinePaths(const CollectiveRun& run, std::uint64_t seed, FlowProgram& program);

  /// Index of the path between two devices of a node.
  int native(int from, int to);
  /// Half a native path: to what joins the devices of a node, or from it.
  int native_out(int device);
  int native_in(int device);
  /// `strand` tells several messages between the same two apart.
  int network(int from, int to, int strand);

  /// Devices one link of a torus away; empty in other networks.
  [[nodiscard]] std::vector<int> neighbours(int device) const;

  /// What a byte between nodes takes of the links there: they have raw rates, of which a collective reaches a share.
  [[nodiscard]] double network_occupancy() const { return network_occupancy_; }
  /// Messages that a device splits its network traffic into: one for each NIC that it has to itself.
  [[nodiscard]] int strands() const { return strands_; }
  /// Parts of such a message of a ring or tree that take ways of their own: hashing tells its channels apart.
  [[nodiscard]] int channels() const { return run_.setting.hashed ? kChannelsOfNic : 1; }
  /// Most peers that a rank sends to at the same time; 0: no limit.
  [[nodiscard]] int peers_in_flight() const { return run_.setting.peers_in_flight; }
  /// Of the others', where conditions slow it down.
  [[nodiscard]] double speed(int device) const { return speeds_.empty() ? 1 : speeds_[device]; }

 private:
  int add(std::vector<int> links, int sender);
  void add_detour(int path, int from, int to, std::uint64_t flow);
  [[nodiscard]] bool fails(const std::vector<int>& links) const;

  const CollectiveRun& run_;
  NetworkLinks network_, network_after_failures_;
  FlowProgram& program_;
  int first_port_ = 0;
  double network_occupancy_ = 1;
  int strands_ = 1;
  std::vector<double> speeds_;  ///< by device; empty: all 1
  std::unordered_map<std::uint64_t, int> known_;
  std::vector<int> route_;
};

}  // namespace stepcast
