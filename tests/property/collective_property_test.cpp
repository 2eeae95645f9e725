#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/collectives/collective.hpp"

namespace stepcast::collective_property_test {
namespace {

struct Case {
  CollectiveKind kind;
  CollectiveAlgorithm algorithm;
  GroupShape group;
  Bytes payload;
  Interconnect net;
};

int power_of_two(int most) { return 1 << *rc::gen::inRange(0, most); }

Case any_case() {
  Case c;
  c.kind = static_cast<CollectiveKind>(*rc::gen::inRange(0, 6));
  c.algorithm = static_cast<CollectiveAlgorithm>(*rc::gen::inRange(0, 4));
  const int devices = power_of_two(4);
  c.group.per_node = *rc::gen::inRange(1, devices + 1);
  c.group.size = c.group.per_node * *rc::gen::inRange(1, 200);
  c.group.groups_per_node = std::max(1, devices / c.group.per_node);
  c.payload = Bytes(std::exp2(*rc::gen::inRange(0, 36)) * *rc::gen::inRange(1, 100));
  c.net.native = BytesPerSecond(*rc::gen::inRange(1, 900) * 1e9);
  c.net.nic = BytesPerSecond(*rc::gen::inRange(1, 100) * 1e9);
  c.net.nics = power_of_two(5);
  c.net.node_network = c.net.nic * c.net.nics;
  c.net.rank_network = c.net.nic * std::max(1, c.net.nics / devices);
  c.net.uplinks.push_back({c.net.node_network / *rc::gen::inRange(1, 5), Seconds(0)});
  c.group.above[0] = {1, 1, 1, c.group.nodes()};
  c.net.launch = 6_us;
  c.net.network_launch = 6_us;
  c.net.small_messages = {1_us, 2_us, 4_us, 0.4, 0.09};
  c.net.small_messages.node_limit = BytesPerSecond(*rc::gen::inRange(0, 40) * 1e9);
  c.net.bulk = {2_us, 5_us, 16_us, 1, 1};
  c.net.all_to_all_share = 0.8;
  c.net.send_share = 0.5;
  return c;
}

Seconds time_of(const Case& c) {
  return collective_cost(c.kind, c.payload, c.group, c.net, c.algorithm).alone(c.net, c.group);
}

RC_GTEST_PROP(Collective, MoreBandwidthIsNeverSlower, ()) {
  Case c = any_case();
  const Seconds before = time_of(c);
  if (*rc::gen::arbitrary<bool>())
    c.net.native *= 2;
  else {
    c.net.nic *= 2;
    c.net.node_network *= 2;
    c.net.rank_network *= 2;
  }
  RC_ASSERT(time_of(c) <= before * (1 + 1e-12));
}

RC_GTEST_PROP(Collective, MoreBytesAreNeverFaster, ()) {
  Case c = any_case();
  const Seconds before = time_of(c);
  c.payload *= 1 + *rc::gen::inRange(0, 100) / 100.0;
  RC_ASSERT(time_of(c) >= before * (1 - 1e-12));
}

RC_GTEST_PROP(Collective, TakesATimeThatIsFiniteAndNotLessThanItsLatency, ()) {
  const Case c = any_case();
  const CollectiveCost cost = collective_cost(c.kind, c.payload, c.group, c.net, c.algorithm);
  RC_ASSERT(is_finite(cost.alone(c.net, c.group)));
  RC_ASSERT(cost.alone(c.net, c.group) >= cost.latency);
  RC_ASSERT(cost.native_bytes >= Bytes(0));
  RC_ASSERT(cost.network_bytes >= Bytes(0));
  RC_ASSERT((c.group.nodes() > 1 && c.group.size > 1) == (cost.network_bytes > Bytes(0)));
}

RC_GTEST_PROP(Collective, AutomaticIsNoSlowerThanRingOrTree, ()) {
  Case c = any_case();
  c.kind = CollectiveKind::all_reduce;
  c.algorithm = CollectiveAlgorithm::automatic;
  const Seconds automatic = time_of(c);
  c.algorithm = CollectiveAlgorithm::ring;
  RC_ASSERT(automatic <= time_of(c));
  c.algorithm = CollectiveAlgorithm::tree;
  if (c.group.nodes() > 1) RC_ASSERT(automatic <= time_of(c));
}

RC_GTEST_PROP(Collective, RingMovesTheLeastThatAnAllReduceCan, ()) {
  // Patarasuk & Yuan 2009: every rank forwards 2(n − 1)/n of the buffer in all, over whatever links.
  Case c = any_case();
  const auto cost = collective_cost(CollectiveKind::all_reduce, c.payload, c.group, c.net, CollectiveAlgorithm::ring);
  const double forwarded = 2.0 * (c.group.size - 1) / c.group.size * c.payload.value();
  const double sent = (cost.native_bytes + cost.network_bytes).value();
  RC_ASSERT(std::abs(sent - forwarded) <= 1e-9 * forwarded);
}

RC_GTEST_PROP(Collective, AllReduceIsAReduceScatterAndAnAllGather, ()) {
  const Case c = any_case();
  const auto bytes = [&](CollectiveKind kind) {
    const auto cost = collective_cost(kind, c.payload, c.group, c.net, CollectiveAlgorithm::ring);
    return cost.native_bytes + cost.network_bytes;
  };
  const Bytes parts = bytes(CollectiveKind::reduce_scatter) + bytes(CollectiveKind::all_gather);
  const Bytes whole = bytes(CollectiveKind::all_reduce);
  RC_ASSERT(std::abs((parts - whole).value()) <= 1e-9 * whole.value());
}

}  // namespace
}  // namespace stepcast::collective_property_test
