#pragma once

#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "models/scenario/update_spec.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Through what a framework's workers exchange gradients when they are synchronous.
enum class ExchangePattern { all_reduce, parameter_servers };
template <>
struct EnumNames<ExchangePattern> {
  static constexpr std::array names{"all-reduce", "parameter-servers"};
};

/// How a framework's processes exchange gradients, beside what collectives of devices need.
struct ExchangeProfile {
  ExchangePattern pattern = ExchangePattern::all_reduce;
  std::vector<UpdateMode> updates{UpdateMode::synchronous};  ///< that it offers; the first is its default
  WorkerUnit worker = WorkerUnit::node;
  ServerSharding sharding = ServerSharding::balanced;
  double large_array_elements = 0;     ///< sharding large-arrays: from so many elements on a tensor is cut
  bool servers_on_every_node = false;  ///< parameter servers are part of it: one on every worker's node
  Seconds cycle;                       ///< cycle_ms: gradients that are ready are agreed upon once a cycle (Horovod)
  BytesPerSecond transport;            ///< transport_GBps: most that one process sends or takes (0: no limit)
  BytesPerSecond server_update;  ///< server_update_GBps: gradient bytes that a server applies (0: host memory's rate)
  bool locked_server = false;    ///< a server serves one worker at a time, reading the whole model under a lock
  bool reduce_on_host = false;   ///< devices of a node are summed by its processors
  BytesPerSecond all_reduce;   ///< all_reduce_GBps: of a process in the ring of an all-reduce on processors (0: devices
                               ///< reduce by their own library)
  bool tensor_owners = false;  ///< inside a node each tensor is summed on one device, which sends the sum to the others
  double wire_bytes = 0;       ///< of a gradient element on the network; 0: as it is
  bool overlap_pull = true;    ///< parameters arrive under the next forward pass, else before it
  bool pull_after_push = false;  ///< nothing is pulled before the step's last gradient has been applied
  bool workers_update = false;   ///< servers only sum gradients, and every worker applies the sum that it pulls
  Seconds launch_per_worker;     ///< launch_per_worker_ms: time of the driver to start a step's task on one worker
  Seconds feed_per_sample;       ///< feed_per_sample_us: a sample through the one process that feeds a node
  static const FieldTable<ExchangeProfile>& fields();
};

}  // namespace stepcast
