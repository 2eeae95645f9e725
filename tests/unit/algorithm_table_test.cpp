// What holds for every row of the table, the newest included.
#include "models/collectives/algorithm_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace stepcast::algorithm_table_test {
namespace {

using algorithms::algorithm_table;
using algorithms::AlgorithmEntry;

constexpr std::size_t kKinds = EnumNames<CollectiveKind>::names.size();

/// Nodes of eight devices behind a switch that adds, with a NIC each.
Interconnect links() {
  Interconnect net;
  net.native = 200_GBps;
  net.nic = net.rank_network = 25_GBps;
  net.nics = 8;
  net.node_network = 200_GBps;
  net.launch = 6_us;
  net.network_launch = 6_us;
  net.network_hop = 4_us;
  net.small_messages = {1_us, 2_us, 4_us, 0.4, 0.5};
  net.bulk = {2_us, 5_us, 16_us, 1, 1};
  net.switch_sums = {300_GBps, 20_us};
  return net;
}

/// Calls f(algorithm, row, kind) for what each row runs.
template <class F>
void each(F f) {
  const auto table = algorithm_table();
  for (std::size_t row = 0; row < table.size(); ++row)
    for (std::size_t i = 0; i < kKinds; ++i)
      if (const auto kind = static_cast<CollectiveKind>(i); table[row].kinds.has(kind))
        f(static_cast<CollectiveAlgorithm>(row), table[row], kind);
}

std::string called(const AlgorithmEntry& row, CollectiveKind kind) {
  return std::string(row.name) + " " + std::string(name_of(kind));
}

TEST(AlgorithmTable, NamesAreWordsOfTheirOwn) {
  std::set<std::string> names;
  for (const AlgorithmEntry& row : algorithm_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(std::string(row.name).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos);
  }
}

TEST(AlgorithmTable, EveryRowAnswersToItsNameAndNoOtherForWhatItRuns) {
  // What an algorithm comes to on a group is its own row, or the one that it is on so few nodes.
  const std::set<std::string> others{"auto", "hierarchical", "nvls", "nvls-tree"};
  const GroupShape group{16, 8, 1};
  each([&](CollectiveAlgorithm algorithm, const AlgorithmEntry& row, CollectiveKind kind) {
    if (others.contains(row.name) || kind == CollectiveKind::send_recv) return;
    EXPECT_EQ(collective_cost(kind, 1_MiB, group, links(), algorithm).algorithm, algorithm) << called(row, kind);
  });
}

TEST(AlgorithmTable, MoreBytesTakeLongerAndNeverLessThanTheirLatency) {
  const Interconnect net = links();
  for (const GroupShape& group : {GroupShape{8, 8, 1}, {16, 8, 1}, {16, 1, 8}, {64, 8, 1}})
    each([&](CollectiveAlgorithm algorithm, const AlgorithmEntry& row, CollectiveKind kind) {
      if (kind == CollectiveKind::barrier) return;
      Seconds last;
      for (const Bytes payload : {1_KiB, 64_KiB, 4_MiB, 256_MiB}) {
        const CollectiveCost cost = collective_cost(kind, payload, group, net, algorithm);
        const Seconds time = cost.alone(net, group);
        EXPECT_GT(time, last) << called(row, kind) << " of " << payload.value() << " B on " << group.size;
        EXPECT_GE(time, cost.latency) << called(row, kind);
        last = time;
      }
    });
}

TEST(AlgorithmTable, NobodySendsLessThanHasToBeSent) {
  // Of an all_reduce every rank's buffer has to leave it at least once, less its own share where nothing but ranks
  // adds; of a gather its own part, or all others'.
  const Interconnect net = links();
  for (const GroupShape& group : {GroupShape{8, 8, 1}, {16, 1, 8}})
    each([&](CollectiveAlgorithm algorithm, const AlgorithmEntry& row, CollectiveKind kind) {
      const bool reduces = kind == CollectiveKind::all_reduce;
      const bool gathers = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
      if (!reduces && !gathers) return;
      const CollectiveCost cost = collective_cost(kind, 1_MiB, group, net, algorithm);
      const double share = reduces ? 1 : 1.0 / group.size;
      EXPECT_GE(cost.native_bytes + cost.network_bytes, 1_MiB * (share * (1 - 1.0 / group.size)))
          << called(row, kind) << " on " << group.nodes() << " nodes";
    });
}

}  // namespace
}  // namespace stepcast::algorithm_table_test
