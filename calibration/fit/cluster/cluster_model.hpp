#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/cluster/cluster_rows.hpp"
#include "models/collectives/machine.hpp"
#include "models/collectives/mpi.hpp"

namespace stepcast {

/// The collective model of one cluster with profiles of its own, which a fit moves.
struct ClusterModel {
  CollectiveMachine machine;  ///< its profiles are not read: those below are
  LinkProfile links;
  NetworkProfile network;
  LibraryProfile library;
  HostLibrary host_library = kDefaultHostLibrary;
  std::optional<HostNetwork> host;  ///< processes in host memory: these costs count, and not the profiles

  /// Times of all rows in µs, in their order: by the constants alone, without measured curves.
  void predict(const std::vector<ClusterRow>& rows, std::vector<double>& times) const;
  /// Time of one place by the library's own choice.
  [[nodiscard]] ModelTime time_of(CollectiveKind kind, ElementWidth width = ElementWidth::usual) const;
};

/// The model of a machine as the catalogue has it. `library`: of processes in host memory; nothing on accelerators.
ClusterModel cluster_model(const CollectiveMachine& machine, std::optional<HostLibrary> library);

/// One constant of the model that a fit moves (prior_fit.hpp).
struct ClusterConstant {
  std::string profile;  ///< kind and id of its catalogue entry
  std::string key;      ///< unit included
  double prior = 0;     ///< the catalogue's, in the key's unit
  double spread = 0;    ///< of the logarithm: how far single clusters lie from their kind
  double most = 0;      ///< upper bound; 0: none
  std::function<void(ClusterModel&, double)> set;
  bool grows = false;  ///< decides how times grow with nodes: cannot be told from the start with one count of nodes
};

/// Constants that rows of these kinds tell: of links (rows inside of nodes), network (rows between them), library, or
/// of messages in host memory. Those that the catalogue has at 0 are no part of its model of this machine.
std::vector<ClusterConstant> cluster_constants(const ClusterModel& model, const std::vector<ClusterRow>& rows);

}  // namespace stepcast
