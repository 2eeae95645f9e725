#pragma once

#include <vector>

#include "models/parallelism/job.hpp"
#include "models/scenario/scenario.hpp"

namespace stepcast {

/// Power of one training device and of its share of a node, from idle to full load. Smallest honest model: linear in
/// the device's activity between idle and board limit, the host beside it, fans and supply losses on top, PUE last.
struct PowerModel {
  Watts device_idle;           ///< of one device, like all figures of devices here
  Watts device_compute;        ///< running matrix products
  Watts device_memory;         ///< running memory-bound kernels
  Watts device_updating;       ///< in the optimizer: as memory-bound kernels, or ready while hosts update
  Watts device_waiting;        ///< for others: in a collective's kernel, or for hosts with nothing to run
  Watts device_ready;          ///< at full clock with nothing to run, as between kernels or until input has come
  Watts host_idle, host_busy;  ///< of one node without devices: processors, memory, switches, NICs, drives
  double fan_share = 0;        ///< of the node's IT power
  double pue = 1;              ///< power at the meter over that at the plugs
  bool pue_assumed = false;    ///< neither site nor cooling states one
  int devices_per_node = 1;
  int nodes = 1;
  const Psu* psu = nullptr;              ///< null: psu_default_efficiency
  Watts psu_rating_per_node;             ///< of the supplies in use; 0: unknown
  double psu_default_efficiency = 0.94;  ///< MLPerf power logs: 0.94–0.96
  /// Where nodes are of several kinds, one for each; figures of devices and hosts above are then their means.
  std::vector<PowerModel> kinds;

  /// Behind the power supplies of a node whose devices draw so much together, fans among it.
  [[nodiscard]] Watts node_inside(Watts devices) const;
  /// Power at the node's plug for a given power of all its devices, host busy.
  [[nodiscard]] Watts node_at_plug(Watts devices) const;
  /// Power of the whole cluster at the meter (PUE included) for a mean power per device.
  [[nodiscard]] Watts cluster_at_meter(Watts per_device) const;
};

/// The power model of a scenario; figures from the catalogue, what is missing by stated rules (docs/models/power.md).
PowerModel power_model(const Scenario& scenario);
/// The same of the scenario's own kind of node alone, whatever others stand in its cluster.
PowerModel power_of_own_kind(const Scenario& scenario);
/// Of nodes of several kinds together.
PowerModel power_of_kinds(std::vector<PowerModel> kinds);
/// By NodeState::kind.
std::vector<PowerModel> power_by_kind(const Scenario& scenario);

}  // namespace stepcast
