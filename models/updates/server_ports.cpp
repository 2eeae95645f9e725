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

}  // namespace

ServerRates server_rates(const ServerPorts& ports, int pushes, int pulls) {
  ServerRates rates;
  if (pushes > 0) rates.push = alone(ports, pushes, pulls);
  if (pulls > 0) rates.pull = alone(ports, pulls, pushes);
  if (!ports.colocated || pushes == 0 || pulls == 0) return rates;
  // A node's way out carries its worker's push and what its server sends; the way in, the pull and what the server
  // gets.
  const double per_node = std::max(1.0, pushes / ports.nodes), pulls_per_node = std::max(1.0, pulls / ports.nodes);
  const double served_out = ports.server_share * pulls, served_in = ports.server_share * pushes;
  const BytesPerSecond even_out = part(ports.worker_node, per_node + served_out);
  const BytesPerSecond even_in = part(ports.worker_node, pulls_per_node + served_in);
  const BytesPerSecond push = std::min({rates.push, even_out, even_in});
  const BytesPerSecond pull = std::min({rates.pull, even_out, even_in});
  // Who is held up elsewhere leaves the rest of the port to the other.
  rates.push = std::max(push, std::min({rates.push, (ports.worker_node - served_out * pull) / per_node,
                                        part(ports.worker_node - pulls_per_node * pull, served_in)}));
  rates.pull = std::max(pull, std::min({rates.pull, (ports.worker_node - served_in * rates.push) / pulls_per_node,
                                        part(ports.worker_node - per_node * rates.push, served_out)}));
  return rates;
}

double server_use(const ServerPorts& ports, const ServerRates& rates, int pushes, int pulls) {
  if (!(ports.server_node > BytesPerSecond(0))) return 0;
  const double in = ports.server_share * pushes * (rates.push / ports.server_node);
  const double out = ports.server_share * pulls * (rates.pull / ports.server_node);
  return std::min(1.0, std::max(in, out));
}

}  // namespace stepcast
