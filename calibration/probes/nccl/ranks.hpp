#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibration/probes/nccl/launch.hpp"
#include "calibration/probes/nccl/nccl_library.hpp"

namespace stepcast::probes {

/// A rank of this process: a device, a stream on it and its communicator.
struct LocalRank {
  CudaDevice* device;
  int rank;
  CudaHandle stream;
  NcclCommunicator communicator = nullptr;
};

/// All ranks of a run: this process's own, one or several, and what is known of the others.
class Ranks {
 public:
  /// Joins a communicator of every device of every process. Ranks count process by process.
  Ranks(const NcclLibrary& nccl, std::vector<std::unique_ptr<CudaDevice>>& devices, const LaunchPlace& place,
        const Rendezvous& rendezvous);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Communicators anew, with NCCL_ALGO and NCCL_PROTO as asked ("auto": NCCL's choice), which NCCL reads when a
  /// communicator is made. Throws Fault when NCCL refuses.
  void reconnect(const std::string& algorithm, const std::string& protocol);
  /// A second communicator and stream for every rank of this process, to run beside the first.
  [[nodiscard]] std::vector<LocalRank> second();
  /// Gives such communicators back.
  void leave(std::vector<LocalRank>& ranks) const;

  /// One NCCL call for each rank of this process, as one group.
  void each(const std::vector<LocalRank>& ranks, const std::function<int(const LocalRank&)>& call,
            const std::string& what) const;
  /// Returns when every rank has come here.
  void barrier();
  /// The largest of all processes, element by element.
  void largest(std::vector<double>& values);
  void wait(const std::vector<LocalRank>& ranks) const;

  [[nodiscard]] const std::vector<LocalRank>& local() const { return local_; }
  [[nodiscard]] const NcclLibrary& nccl() const { return nccl_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool first() const { return place_.rank == 0; }
  [[nodiscard]] const std::vector<std::string>& hosts() const { return hosts_; }
  [[nodiscard]] int node_of(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int ranks_per_node() const { return ranks_per_node_; }
  /// As "node0:gpu3".
  [[nodiscard]] std::string name_of(int rank) const;

 private:
  void join(std::vector<LocalRank>& ranks, const NcclId& id) const;
  [[nodiscard]] NcclId next_id();
  void find_hosts();

  const NcclLibrary& nccl_;
  LaunchPlace place_;
  std::vector<LocalRank> control_;  ///< with NCCL's own choices, for barriers and samples, whatever is measured
  std::vector<LocalRank> local_;
  int size_;
  std::vector<std::string> hosts_;
  std::vector<int> node_of_, place_on_node_;
  int ranks_per_node_ = 1;
  std::vector<DeviceBuffer> scratch_;
};

}  // namespace stepcast::probes
