#pragma once

#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// What leads out of one member of a fabric level (of a leaf), with the workers and servers that lie behind it.
struct ServerUplink {
  BytesPerSecond up;   ///< each direction
  double workers = 0;  ///< of all, those behind it
  double leaves = 0;   ///< of their bytes, those of servers elsewhere
  double enters = 0;   ///< of a worker's bytes elsewhere, those of servers behind it
  bool operator==(const ServerUplink&) const = default;
};

/// Ports that pushes and pulls meet. All pushes under way flow at one rate, and so do all pulls: workers are alike and
/// the busiest server holds every one of them up in the same way.
struct ServerPorts {
  BytesPerSecond worker;              ///< of one worker, each direction, its own limits included
  BytesPerSecond worker_node;         ///< of a node, each direction
  BytesPerSecond server_node;         ///< of a server's node, each direction
  double server_share = 1;            ///< of a worker's bytes, those that go through the busiest server's node
  BytesPerSecond server_process;      ///< of one server process, each direction (0: no limit)
  double process_share = 1;           ///< of a worker's bytes, those of the busiest server process
  double nodes = 1;                   ///< of workers
  bool colocated = false;             ///< servers send and receive through the workers' ports
  bool one_process = false;           ///< one interpreter serves both directions
  std::vector<ServerUplink> uplinks;  ///< of the fabric, each that differs from the others once
};

struct ServerRates {
  BytesPerSecond push, pull;  ///< of one worker
};

/// Rates while `pushes` and `pulls` are under way, max-min up to one refinement.
ServerRates server_rates(const ServerPorts& ports, int pushes, int pulls);

/// Share of the busiest server's port that this traffic uses, the busier direction.
double server_use(const ServerPorts& ports, const ServerRates& rates, int pushes, int pulls);

}  // namespace stepcast
