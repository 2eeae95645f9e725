#include "models/parallelism/message_links.hpp"

#include <algorithm>

namespace stepcast {

MessageLinks::MessageLinks(const Job& job, const ReplicaClass& replicas) : job_(job), replicas_(replicas) {
  const std::size_t stages = job.placement.node.size();
  for (Links* links : {&streams_, &ports_, &nodes_}) {
    links->out.reserve(stages);
    links->in.reserve(stages);
  }
}

const Interconnect& MessageLinks::links_of(int stage) const {
  return job_.in_state(replicas_.state[static_cast<std::size_t>(stage)]).interconnect;
}

void MessageLinks::Links::add(int from, int to, Seconds sending, Seconds receiving) {
  const auto count = static_cast<std::size_t>(std::max(from, to)) + 1;
  if (out.size() < count) {
    out.resize(count);
    in.resize(count);
  }
  out[static_cast<std::size_t>(from)].forward += sending;
  in[static_cast<std::size_t>(to)].forward += receiving;
  out[static_cast<std::size_t>(to)].backward += receiving;
  in[static_cast<std::size_t>(from)].backward += sending;
}

void MessageLinks::add(const Message& message, Seconds alone, int from, int to, double times) {
  const Interconnect& near = links_of(from);
  const Interconnect& far = links_of(to);
  const CollectiveCost& cost = message.cost;
  streams_.add(from, to, alone * times, alone * times);
  if (cost.native_bytes > Bytes(0))
    ports_.add(from, to, cost.native_bytes * times / near.native, cost.native_bytes * times / far.native);
  if (cost.network_bytes <= Bytes(0)) return;
  const double ranks = job_.placement.ranks_per_node;
  const Bytes of_node = cost.network_bytes * (ranks * times);
  nodes_.add(job_.placement.node[static_cast<std::size_t>(from)], job_.placement.node[static_cast<std::size_t>(to)],
             of_node / near.node_network, of_node / far.node_network);
  for (std::size_t level = 0; level < job_.nodes.levels(); ++level) {
    const double load = message.pair.above[level].ring;
    if (!job_.nodes.limits(level) || load <= 0) continue;
    const auto member = [&](int stage) {
      return job_.nodes.member(level, job_.layout.node_of(job_.layout.first_rank(stage)));
    };
    // What a message does not reach of an up-link's rate is lost to all.
    const Seconds up = of_node * (load / cost.network_cap) / near.uplinks[level].up;
    levels_[level].add(member(from), member(to), up, up);
  }
}

LinkPeriod MessageLinks::period() const {
  LinkPeriod out;
  const auto take = [&](const Links& links, bool both_ways) {
    for (const std::vector<Use>* side : {&links.out, &links.in})
      for (const Use& use : *side) {
        out.forward = std::max(out.forward, use.forward);
        out.backward = std::max(out.backward, use.backward);
        out.both = std::max(out.both, both_ways ? use.forward + use.backward : std::max(use.forward, use.backward));
      }
  };
  take(streams_, false);  // the directions have a stream each
  take(ports_, true);
  take(nodes_, true);
  for (const Links& links : levels_) take(links, true);
  return out;
}

}  // namespace stepcast
