#pragma once

#include <optional>
#include <string>

#include "calibration/importers/kineto/kineto_trace.hpp"
#include "hardware-catalog/catalog.hpp"
#include "models/collectives/machine.hpp"
#include "models/compute/device.hpp"

namespace stepcast {

/// The cluster that traces were made on, as far as it is known: how long work and collectives take there by the models.
struct TracedCluster {
  std::string node;
  std::optional<Device> device;
  Interconnect interconnect;
  std::optional<CollectiveMachine> machine;  ///< what calibrations are true of; none of raw hosts
  int devices_per_node = 1;

  /// The size at which a collective among so many ranks, each `stride` from the next, takes `time`, by a calibration
  /// where one is in use; nothing where even an empty one takes longer.
  [[nodiscard]] std::optional<Bytes> size_that_takes(Seconds time, CollectiveKind kind, int ranks,
                                                     int stride = 1) const;
};

/// The node that is named, or the first of the catalogue whose accelerator the device's name names. Null when there is
/// none. Throws InputError for a name that the catalogue does not have. `precision`: of the products.
std::optional<TracedCluster> traced_cluster(const KinetoTrace& trace, const std::string& node, int ranks,
                                            Precision precision, const Catalog& catalog);

/// Format of the products of a trace, by the names of its kernels.
Precision precision_of(const KinetoTrace& trace);

}  // namespace stepcast
