#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/collectives/nccl_settings.hpp"
#include "calibration/validation/known_tables.hpp"
#include "models/collectives/machine.hpp"
#include "models/collectives/mpi.hpp"

namespace stepcast {

/// Where collectives were measured, as far as their errors differ.
enum class MeasuredWhere { node_native, node_pcie, rdma, other_network, processors };
template <>
struct EnumNames<MeasuredWhere> {
  static constexpr std::array names{"one node, NVLink or xGMI", "one node, PCIe", "several nodes, InfiniBand or RoCE",
                                    "several nodes, other NIC", "processors, MPI"};
};

/// A measured collective: what a row of a table states, as machine and call.
struct MeasuredCollective {
  int line = 0;
  std::string system;
  std::string refusal;  ///< why it cannot be predicted; the rest is void then
  bool healthy = true;  ///< the source calls it so
  double time_us = 0;   ///< measured
  CollectiveKind kind = CollectiveKind::all_reduce;
  Bytes size;
  GroupShape group;
  ElementWidth width = ElementWidth::usual;
  bool in_place = false;
  std::string call;  ///< all that repeats of one measurement share, in words
  MeasuredWhere where = MeasuredWhere::node_native;
  Node node;                    ///< of device rows
  CollectiveMachine machine;    ///< its node is null until `predicted_us` sets it
  NcclSettings settings;        ///< of device rows
  std::string network_profile;  ///< id, where the row's words choose another than its kind's
  HostCollective host;          ///< of rows between processors
  std::optional<HostNetwork> host_network;
};

/// Kinds of tables of collectives.
std::vector<KnownTable> collective_tables();
/// Whether a table has the columns of one of the collective data sets.
bool is_collective_table(const CsvTable& table);

/// Reads every row. Throws InputError with every field that cannot be read; a row that cannot be predicted keeps its
/// place, with the reason. Nothing is decided by a system's name.
std::vector<MeasuredCollective> read_collectives(const CsvTable& table, const Catalog& catalog);

/// Predicted time in µs of a row without refusal.
double predicted_us(const MeasuredCollective& row);

}  // namespace stepcast
