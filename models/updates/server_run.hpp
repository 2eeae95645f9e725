#pragma once

#include <cstdint>

#include "models/scenario/update_spec.hpp"
#include "models/updates/server_ports.hpp"
#include "models/updates/update_outcome.hpp"
#include "models/updates/worker_step.hpp"

namespace stepcast {

/// Workers that push gradients to parameter servers and pull parameters from them.
struct ServerJob {
  UpdateMode mode = UpdateMode::synchronous;  ///< synchronous, asynchronous, stale_synchronous or backup_workers
  int workers = 1, servers = 1;
  WorkerStep step;
  int local_steps = 1;      ///< of a worker between two exchanges
  int staleness_bound = 0;  ///< stale_synchronous
  int backup_workers = 0;   ///< gradients that a step does not wait for
  ServerPorts ports;
  double network_share = 1;      ///< of a worker's bytes, what leaves its node
  Seconds message;               ///< start of one bucket's push or pull
  BytesPerSecond server_update;  ///< bytes of gradients that the busiest server applies, or all of its node together
  double update_share = 1;       ///< of a worker's bytes, those that pass at this rate
  bool locked_server = false;    ///< one push or pull at a time, whole
  bool overlap_pull = true;      ///< parameters arrive under the next forward pass, else before it
  bool pull_after_push = false;  ///< a pull waits until the last bucket of the step has been applied
  bool workers_update = false;   ///< what is pulled are summed gradients, which step.update then applies
  Seconds launch_per_worker;     ///< the driver starts workers one after another, each synchronous step
  double worker_spread = 0;      ///< of workers' speeds, for good
  double step_spread = 0;        ///< of a worker's time from step to step
  std::uint64_t seed = 1;
};

/// What a step of every worker takes, once warm.
struct ServerRun {
  Seconds step;          ///< workers' samples of one step pass in this time
  Seconds barrier_wait;  ///< of a worker and step: others were not there yet (synchronous and its relatives)
  Seconds launch_wait;   ///< of a worker and step: the driver had not started it
  UpdateOutcome outcome;
};

/// Runs tens of steps of every worker, event by event. Deterministic: the same job gives the same figures.
ServerRun run_servers(const ServerJob& job);

}  // namespace stepcast
