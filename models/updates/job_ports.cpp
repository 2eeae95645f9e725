#include "models/updates/job_ports.hpp"

#include <algorithm>

namespace stepcast {

namespace {

std::vector<int> members_of(const Job& job, std::size_t level) {
  std::vector<int> out(static_cast<std::size_t>(job.scenario->spec.cluster.nodes));
  for (std::size_t node = 0; node < out.size(); ++node) out[node] = job.nodes.member(level, static_cast<int>(node));
  return out;
}

}  // namespace

PeerPorts peer_ports_of(const Job& job) {
  PeerPorts out = peer_ports_of(job.interconnect);
  for (std::size_t level = 0; level < job.nodes.levels(); ++level) {
    std::vector<int> members = members_of(job, level);
    if (std::all_of(members.begin(), members.end(), [&](int member) { return member == members.front(); })) continue;
    const FabricUplink& uplink = job.interconnect.uplinks[level];
    out.hop += uplink.hop;
    out.levels.push_back({uplink.up, std::move(members)});
  }
  return out;
}

}  // namespace stepcast
