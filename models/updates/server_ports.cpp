#include "models/updates/server_ports.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// What one flow gets of `capacity` when flows of `weight` in sum use it.
BytesPerSecond part(BytesPerSecond capacity, double weight) {
  return weight > 0 ? capacity / weight : BytesPerSecond(1e30);
}

/// One direction by itself: the worker's own limit, its node's port, the server's port and process.
BytesPerSecond alone(const ServerPorts& ports, int flows, int beside) {
  BytesPerSecond rate = std::min(ports.worker, part(ports.worker_node, std::max(1.0, flows / ports.nodes)));
  rate = std::min(rate, part(ports.server_node, ports.server_share * flows));
  if (ports.server_process > BytesPerSecond(0)) {
    const int users = flows + (ports.one_process ? beside : 0);
    rate = std::min(rate, part(ports.server_process, ports.process_share * users));
  }
  return rate;
}

/// A port that pushes and pulls meet in: `push` · rate of a push + `pull` · rate of a pull fit into it.
struct SharedPort {
  BytesPerSecond capacity;
  double push = 0, pull = 0;
};

/// Flows through a port that `share` of all `flows` pass: whole ones.
double passing(int flows, double share) { return flows > 0 && share > 0 ? std::max(1.0, flows * share) : 0; }

template <class Visit>
void each_shared_port(const ServerPorts& ports, int pushes, int pulls, Visit visit) {
  if (ports.colocated) {
    // A node's way out carries its worker's push and what its server sends; the way in, the pull and what the server
    // gets.
    visit(SharedPort{ports.worker_node, passing(pushes, 1 / ports.nodes), ports.server_share * pulls});
    visit(SharedPort{ports.worker_node, ports.server_share * pushes, passing(pulls, 1 / ports.nodes)});
  }
  for (const ServerUplink& uplink : ports.uplinks) {
    const auto sent = [&](int flows) { return uplink.leaves * passing(flows, uplink.workers); };
    const auto served = [&](int flows) { return uplink.enters * passing(flows, 1 - uplink.workers); };
    visit(SharedPort{uplink.up, sent(pushes), served(pulls)});
    visit(SharedPort{uplink.up, served(pushes), sent(pulls)});
  }
}

}  // namespace

ServerRates server_rates(const ServerPorts& ports, int pushes, int pulls) {
  ServerRates own;
  if (pushes > 0) own.push = alone(ports, pushes, pulls);
  if (pulls > 0) own.pull = alone(ports, pulls, pushes);
  ServerRates rates = own;
  each_shared_port(ports, pushes, pulls, [&](const SharedPort& port) {
    const BytesPerSecond even = part(port.capacity, port.push + port.pull);
    if (port.push > 0) rates.push = std::min(rates.push, even);
    if (port.pull > 0) rates.pull = std::min(rates.pull, even);
  });
  if (pushes == 0 || pulls == 0) return rates;
  // Who is held up elsewhere leaves the rest of the port to the other.
  ServerRates rest = own;
  each_shared_port(ports, pushes, pulls, [&](const SharedPort& port) {
    if (port.push > 0) rest.push = std::min(rest.push, (port.capacity - port.pull * rates.pull) / port.push);
  });
  rates.push = std::max(rates.push, rest.push);
  each_shared_port(ports, pushes, pulls, [&](const SharedPort& port) {
    if (port.pull > 0) rest.pull = std::min(rest.pull, (port.capacity - port.push * rates.push) / port.pull);
  });
  rates.pull = std::max(rates.pull, rest.pull);
  return rates;
}

double server_use(const ServerPorts& ports, const ServerRates& rates, int pushes, int pulls) {
  if (!(ports.server_node > BytesPerSecond(0))) return 0;
  const double in = ports.server_share * pushes * (rates.push / ports.server_node);
  const double out = ports.server_share * pulls * (rates.pull / ports.server_node);
  return std::min(1.0, std::max(in, out));
}

}  // namespace stepcast
