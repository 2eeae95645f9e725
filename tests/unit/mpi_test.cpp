#include "models/collectives/mpi.hpp"

#include <gtest/gtest.h>

namespace stepcast::mpi_test {
namespace {

/// Round figures, so that times can be worked out by hand.
HostNetwork round_network() {
  HostNetwork net;
  net.latency = 2_us;
  net.turnaround = 1_us;
  net.inline_limit = 100_B;
  net.copy_start = 1_us;
  net.eager_limit = 10_kB;
  net.eager = 1_GBps;
  net.rendezvous = 4_us;
  net.rail = 5_GBps;
  net.stream = 10_GBps;
  net.stripe = 10_us;
  net.node = 20_GBps;
  net.gap = 0.5_us;
  net.local_latency = 1_us;
  net.local_gap = 0.25_us;
  net.local = 2_GBps;
  net.reduce = 10_GBps;
  return net;
}

double microseconds(CollectiveKind kind, Bytes size, int ranks, int per_node, std::optional<HostAlgorithm> algorithm) {
  return host_collective_time({kind, size, ranks, per_node, HostLibrary::open_mpi_4_0, algorithm}, round_network())
      .time.in(1_us);
}

constexpr double kTight = 1e-9;

// Up-links that carry a ring's neighbours and not an exchange of all pairs hold up the exchange alone.
TEST(Mpi, UpLinksHoldUpWhatPassesThem) {
  const HostNetwork wide = host_network_of(NetworkKind::infiniband, 100_Gbps, 1);
  HostNetwork narrow = wide;
  narrow.to_all = wide.node / 4;
  const auto time = [](CollectiveKind kind, HostAlgorithm algorithm, const HostNetwork& network) {
    return host_collective_time({kind, 64_MiB, 16, 1, HostLibrary::open_mpi_4_0, algorithm}, network).time;
  };
  for (const auto& [kind, algorithm] : {std::pair(CollectiveKind::all_gather, HostAlgorithm::ring),
                                        {CollectiveKind::broadcast, HostAlgorithm::pipeline},
                                        {CollectiveKind::broadcast, HostAlgorithm::binomial},
                                        {CollectiveKind::send_recv, HostAlgorithm::point_to_point}})
    EXPECT_EQ(time(kind, algorithm, narrow), time(kind, algorithm, wide)) << name_of(kind);
  EXPECT_GT(time(CollectiveKind::all_to_all, HostAlgorithm::pairwise, narrow),
            3 * time(CollectiveKind::all_to_all, HostAlgorithm::pairwise, wide));
  narrow.to_next = wide.node / 4;
  EXPECT_GT(time(CollectiveKind::all_gather, HostAlgorithm::ring, narrow),
            3 * time(CollectiveKind::all_gather, HostAlgorithm::ring, wide));
}

TEST(Message, PaysCopyRendezvousAndTheCheaperOfOneRailAndAll) {
  const auto send = [](Bytes size) { return microseconds(CollectiveKind::send_recv, size, 2, 1, std::nullopt); };
  EXPECT_NEAR(send(50_B), 2 + 0.05, kTight);              // in the descriptor, at 1 GB/s
  EXPECT_NEAR(send(1000_B), 2 + 1 + 1, kTight);           // copied
  EXPECT_NEAR(send(50_kB), 2 + 1 + 4 + 10, kTight);       // rendezvous, one rail: 50 kB at 5 GB/s
  EXPECT_NEAR(send(1_MB), 2 + 1 + 4 + 10 + 100, kTight);  // spread: 10 µs and 1 MB at 10 GB/s
}

TEST(RecursiveDoubling, ExchangesTheBufferLogarithmicallyManyTimes) {
  // 2 exchanges inside the node (1 µs + 8 kB at 2 GB/s = 5 µs) and 1 between (1 + 2 + 1 µs, 8 kB at 1 GB/s = 12 µs),
  // each with a sum (0.8 µs).
  EXPECT_NEAR(microseconds(CollectiveKind::all_reduce, 8_kB, 8, 4, HostAlgorithm::recursive_doubling),
              2 * 5 + 12 + 3 * 0.8, kTight);
}

TEST(RecursiveDoubling, HandsOverWhatExceedsAPowerOfTwo) {
  // 6 ranks on one node: 2 exchanges and sums among 4, and for the other 2 a hand-over, a sum and the way back.
  EXPECT_NEAR(microseconds(CollectiveKind::all_reduce, 8_kB, 6, 6, HostAlgorithm::recursive_doubling),
              2 * (5 + 0.8) + 2 * 5 + 0.8, kTight);
}

TEST(Rabenseifner, HalvesThenGathersBack) {
  // 4 ranks on one node, 8 kB: exchanges of 4 and 2 kB (3 and 2 µs), there and back; sums of 6 kB (0.6 µs).
  EXPECT_NEAR(microseconds(CollectiveKind::all_reduce, 8_kB, 4, 4, HostAlgorithm::rabenseifner), 2 * (3 + 2) + 0.6,
              kTight);
}

TEST(HostRing, MeansLatenciesAndTakesTheSlowestRate) {
  // 8 ranks on 2 nodes, blocks of 4 kB: 14 steps. Three hops of 1 µs and one of 1 + 2 + 1 µs are 1.75 in the mean; the
  // slowest rate is the eager one, 4 µs. Sums of 28 kB take 2.8 µs.
  EXPECT_NEAR(microseconds(CollectiveKind::all_reduce, 32_kB, 8, 4, HostAlgorithm::ring), 14 * (1.75 + 4) + 2.8,
              kTight);
}

TEST(HostRing, OneRankANodeHasNothingButTheNetwork) {
  // Blocks of 20 kB by rendezvous: 1 + 2 + 1 + 4 µs and, never below the longest eager message, 10 µs; 3 times.
  EXPECT_NEAR(microseconds(CollectiveKind::all_gather, 80_kB, 4, 1, HostAlgorithm::ring), 3 * 18, kTight);
}

TEST(Pipeline, PassesEverySegmentAndHalfOfTheChain) {
  // 16 segments of 64 KiB over 4 ranks of a node: (16 + 1) × (1 µs + 32.768 µs).
  EXPECT_NEAR(microseconds(CollectiveKind::broadcast, 1_MiB, 4, 4, HostAlgorithm::pipeline), 17 * 33.768, 1e-6);
}

TEST(AllToAll, SendsOneMessageAPeer) {
  // 4 ranks on 2 nodes, blocks of 1 kB. Pairwise: a local step (1.5 µs), then two over the network (1 + 2 + 1 + 1 µs).
  EXPECT_NEAR(microseconds(CollectiveKind::all_to_all, 4_kB, 4, 2, HostAlgorithm::pairwise), 1.5 + 2 * 5, kTight);
  // At once: gap and copy inside (0.75 µs); one start (3 µs) and two gaps and messages (1.5 µs each).
  EXPECT_NEAR(microseconds(CollectiveKind::all_to_all, 4_kB, 4, 2, HostAlgorithm::linear), 0.75 + 3 + 2 * 1.5, kTight);
}

TEST(AllToAll, MessagesAtOnceAreNoFasterThanTheLongestThatDoNotAsk) {
  // Blocks of 20 kB ask first. At once: inside 0.25 + 10 µs; one start (7 µs), two gaps, and twice the 10 µs of 10 kB.
  EXPECT_NEAR(microseconds(CollectiveKind::all_to_all, 80_kB, 4, 2, HostAlgorithm::linear), 10.25 + 7 + 2 * 10.5,
              kTight);
}

TEST(AllToAll, BruckHandlesEveryBlockInPieces) {
  // 4 ranks on one node, 64 B: two exchanges of 32 B (1.016 µs), two rotations (0.064 µs), and 4 × 4 pieces of 0.05 µs.
  EXPECT_NEAR(microseconds(CollectiveKind::all_to_all, 64_B, 4, 4, HostAlgorithm::bruck), 2 * 1.016 + 0.064 + 0.8,
              kTight);
}

TEST(SplitBinary, StartsAMessageForEachSegmentAndCopiesOnceAtATime) {
  // 8 KiB on 4 ranks of a node, segments of 1 KiB: two levels of 0.6 µs + 0.384 µs, 4 starts of a half's segments, and
  // 1½ buffers copied in or out, at twice the rate of a step that does both.
  EXPECT_NEAR(microseconds(CollectiveKind::broadcast, 8_KiB, 4, 4, std::nullopt), 2 * 0.984 + 4 + 3.072, kTight);
}

TEST(Linear, RootCopiesInWhatOthersCopyOutSideBySide) {
  // Three messages of a gap and one copy, 2.25 µs each, and a step's start; half of it in the mean, all of it at the
  // root.
  EXPECT_NEAR(microseconds(CollectiveKind::broadcast, 8_kB, 4, 4, HostAlgorithm::linear), 0.75 * (3 * 2.25 + 1),
              kTight);
}

TEST(OneRank, TakesNoTime) {
  for (std::size_t kind = 0; kind < EnumNames<CollectiveKind>::names.size(); ++kind)
    EXPECT_EQ(microseconds(static_cast<CollectiveKind>(kind), 1_MB, 1, 1, std::nullopt), 0);
}

HostAlgorithm chosen(CollectiveKind kind, Bytes size, int ranks, HostLibrary library = HostLibrary::open_mpi_4_0) {
  return library_choice({kind, size, ranks, 4, library, std::nullopt}).algorithm;
}

TEST(OpenMpiRules, AllReduceTurnsIntoARingAtTenThousandBytes) {
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 9999_B, 128), HostAlgorithm::recursive_doubling);
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 10000_B, 128), HostAlgorithm::ring);
  // 10,000 B are 2,500 floats: fewer than 4,096 ranks.
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 10000_B, 4096), HostAlgorithm::reduce_broadcast);
}

TEST(OpenMpiRules, BroadcastGoesThroughThreeShapes) {
  const auto choice = [](Bytes size, int ranks) {
    return library_choice({CollectiveKind::broadcast, size, ranks, 4, HostLibrary::open_mpi_4_0, std::nullopt});
  };
  EXPECT_EQ(choice(2047_B, 64).algorithm, HostAlgorithm::binomial);
  EXPECT_EQ(choice(2048_B, 64).algorithm, HostAlgorithm::split_binary);
  EXPECT_EQ(choice(2048_B, 64).segment, 1_KiB);
  EXPECT_EQ(choice(32_MiB, 56).segment, 128_KiB);  // 56 < 1.6134e-6 · 2^25 + 2.1102 = 56.2
  EXPECT_EQ(choice(32_MiB, 57).segment, 64_KiB);
  EXPECT_EQ(choice(32_MiB, 128).segment, 8_KiB);  // above 3.2118e-6 · 2^25 + 8.7936 = 116.6
  EXPECT_EQ(choice(512_KiB, 8).algorithm, HostAlgorithm::split_binary);
}

TEST(OpenMpiRules, FollowTheTableFrom41On) {
  const auto newer = HostLibrary::open_mpi_4_1;
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 8_KiB, 8, newer), HostAlgorithm::rabenseifner);
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 4_KiB, 8, newer), HostAlgorithm::recursive_doubling);
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 64_KiB, 200, newer), HostAlgorithm::reduce_broadcast);
  // 200 ranks and 512 bytes: too few floats to cut.
  EXPECT_EQ(chosen(CollectiveKind::all_reduce, 128_B, 48, newer), HostAlgorithm::recursive_doubling);
  // A block of 64 KiB: 4 MiB over 64 ranks.
  EXPECT_EQ(chosen(CollectiveKind::all_gather, 4_MiB, 64, newer), HostAlgorithm::ring);
  EXPECT_EQ(chosen(CollectiveKind::all_gather, 2_MiB, 64, newer), HostAlgorithm::neighbor_exchange);
}

TEST(OpenMpiRules, FollowTheTableOfAllToAllAmongThousands) {
  const auto algorithm = [](Bytes block, int ranks) {
    return chosen(CollectiveKind::all_to_all, block * ranks, ranks, HostLibrary::open_mpi_4_1);
  };
  EXPECT_EQ(algorithm(511_B, 1152), HostAlgorithm::bruck);
  EXPECT_EQ(algorithm(512_B, 1152), HostAlgorithm::linear);
  EXPECT_EQ(algorithm(1023_B, 2048), HostAlgorithm::bruck);
  EXPECT_EQ(algorithm(1024_B, 2048), HostAlgorithm::linear);
  EXPECT_EQ(algorithm(2047_B, 4096), HostAlgorithm::bruck);
  EXPECT_EQ(algorithm(2048_B, 4096), HostAlgorithm::linear);
}

TEST(OpenMpiRules, GoByLevelsFromVersion5OnWhereThereAreTwo) {
  const auto choice = [](CollectiveKind kind, int ranks, int per_node) {
    return library_choice({kind, 1_MiB, ranks, per_node, HostLibrary::open_mpi_5, std::nullopt});
  };
  for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::broadcast, CollectiveKind::reduce}) {
    EXPECT_EQ(choice(kind, 64, 32).algorithm, HostAlgorithm::two_level) << name_of(kind);
    EXPECT_EQ(choice(kind, 64, 32).segment, 64_KiB) << name_of(kind);
  }
  EXPECT_EQ(choice(CollectiveKind::all_gather, 64, 32).algorithm, HostAlgorithm::two_level);
  // What it has not, and where there is one node or one rank on each: as 4.1.
  EXPECT_EQ(choice(CollectiveKind::all_to_all, 64, 32).algorithm, HostAlgorithm::linear);
  EXPECT_EQ(choice(CollectiveKind::all_reduce, 64, 64).algorithm, HostAlgorithm::rabenseifner);
  EXPECT_EQ(choice(CollectiveKind::all_reduce, 64, 1).algorithm, HostAlgorithm::rabenseifner);
}

TEST(MpichRules, TurnAtItsPublishedSizes) {
  const auto algorithm = [](CollectiveKind kind, Bytes size, int ranks, int per_node) {
    return library_choice({kind, size, ranks, per_node, HostLibrary::mpich, std::nullopt}).algorithm;
  };
  using enum HostAlgorithm;
  EXPECT_EQ(algorithm(CollectiveKind::all_reduce, 32_KiB, 64, 32), two_level);
  EXPECT_EQ(algorithm(CollectiveKind::all_reduce, 32769_B, 64, 32), rabenseifner);
  EXPECT_EQ(algorithm(CollectiveKind::all_reduce, 8_B, 64, 1), recursive_doubling);
  EXPECT_EQ(algorithm(CollectiveKind::all_reduce, 252_B, 64, 1), recursive_doubling);  // 63 floats, 64 ranks
  EXPECT_EQ(algorithm(CollectiveKind::all_reduce, 256_B, 64, 1), rabenseifner);
  EXPECT_EQ(algorithm(CollectiveKind::broadcast, 12287_B, 64, 32), binomial);
  EXPECT_EQ(algorithm(CollectiveKind::broadcast, 12_KiB, 64, 32), scatter_doubling);
  EXPECT_EQ(algorithm(CollectiveKind::broadcast, 12_KiB, 48, 24), scatter_all_gather);
  EXPECT_EQ(algorithm(CollectiveKind::broadcast, 512_KiB, 64, 32), scatter_all_gather);
  EXPECT_EQ(algorithm(CollectiveKind::broadcast, 1_MiB, 7, 7), binomial);
  EXPECT_EQ(algorithm(CollectiveKind::reduce, 2_KiB, 64, 32), binomial);
  EXPECT_EQ(algorithm(CollectiveKind::reduce, 2049_B, 64, 32), rabenseifner);
  EXPECT_EQ(algorithm(CollectiveKind::all_gather, 524287_B, 64, 32), recursive_doubling);
  EXPECT_EQ(algorithm(CollectiveKind::all_gather, 512_KiB, 64, 32), ring);
  EXPECT_EQ(algorithm(CollectiveKind::all_gather, 81919_B, 48, 24), bruck);
  EXPECT_EQ(algorithm(CollectiveKind::all_gather, 80_KiB, 48, 24), ring);
  EXPECT_EQ(algorithm(CollectiveKind::reduce_scatter, 524287_B, 64, 32), recursive_halving);
  EXPECT_EQ(algorithm(CollectiveKind::reduce_scatter, 512_KiB, 64, 32), pairwise);
  EXPECT_EQ(algorithm(CollectiveKind::all_to_all, 256_B * 64, 64, 32), bruck);
  EXPECT_EQ(algorithm(CollectiveKind::all_to_all, 257_B * 64, 64, 32), linear);
  EXPECT_EQ(algorithm(CollectiveKind::all_to_all, 32769_B * 64, 64, 32), pairwise);
  EXPECT_EQ(algorithm(CollectiveKind::all_to_all, 8_B * 4, 4, 4), linear);
}

TEST(HostLibraries, AreNamedWithOrWithoutTheirVersion) {
  const auto rules = [](std::string_view name) {
    const auto named = host_library_named(name);
    return named && !named->own_rules_unknown ? std::optional(named->rules) : std::nullopt;
  };
  EXPECT_EQ(rules("openmpi"), HostLibrary::open_mpi_4_1);
  EXPECT_EQ(rules("openmpi-3.1"), HostLibrary::open_mpi_4_0);
  EXPECT_EQ(rules("openmpi-4.0.5"), HostLibrary::open_mpi_4_0);
  EXPECT_EQ(rules("openmpi-4"), HostLibrary::open_mpi_4_1);  // the newest 4
  EXPECT_EQ(rules("openmpi-4.1.6"), HostLibrary::open_mpi_4_1);
  EXPECT_EQ(rules("openmpi-5.0.3"), HostLibrary::open_mpi_5);
  EXPECT_EQ(rules("mpich"), HostLibrary::mpich);
  EXPECT_EQ(rules("mpich-4"), HostLibrary::mpich);
  EXPECT_EQ(rules("gloo"), HostLibrary::gloo);
  for (const char* built : {"intel-mpi", "intel-mpi-2021.9", "mvapich2", "cray-mpich-8.1", "mpich-3.3"}) {
    ASSERT_TRUE(host_library_named(built)) << built;
    EXPECT_EQ(host_library_named(built)->rules, HostLibrary::mpich) << built;
    EXPECT_TRUE(host_library_named(built)->own_rules_unknown) << built;
  }
  for (const char* other : {"", "lam", "openmpi-x", "hpc-x"}) EXPECT_FALSE(host_library_named(other)) << other;
}

TEST(AllToAll, IsHeldUpByTheMessagesOfAllRanksOfANode) {
  HostNetwork busy = round_network();
  busy.node_gap = 2_us;
  const auto time = [&](HostAlgorithm algorithm, int ranks, int per_node) {
    return host_collective_time(
               {CollectiveKind::all_to_all, 1_kB * ranks, ranks, per_node, HostLibrary::open_mpi_4_0, algorithm}, busy)
        .time.in(1_us);
  };
  // As above, but two ranks send beside one another: a message of theirs leaves every 2 µs.
  EXPECT_NEAR(time(HostAlgorithm::linear, 4, 2), 0.75 + 3 + 2 * 4, kTight);
  EXPECT_NEAR(time(HostAlgorithm::pairwise, 4, 2), 1.5 + 2 * (5 + 2), kTight);
  // A rank alone on its node waits for no other.
  EXPECT_NEAR(time(HostAlgorithm::pairwise, 2, 1), 5, kTight);
}

TEST(Copies, ShareTheMemoryOfTheirNodeWhereCachesDoNotHoldThem) {
  HostNetwork full = round_network();
  full.caches = 64_kB;
  full.memory = 4_GBps;
  const auto time = [&](CollectiveKind kind, Bytes size, int ranks, HostAlgorithm algorithm) {
    return host_collective_time({kind, size, ranks, ranks, HostLibrary::open_mpi_4_0, algorithm}, full).time.in(1_us);
  };
  // 8 ranks of a node gather 8 kB each, which its caches hold: blocks of 1 kB at 2 GB/s.
  EXPECT_NEAR(time(CollectiveKind::all_gather, 8_kB, 8, HostAlgorithm::ring), 7 * 1.5, kTight);
  // 16 kB do not fit; 0.5 GB/s are left for each.
  EXPECT_NEAR(time(CollectiveKind::all_gather, 16_kB, 8, HostAlgorithm::ring), 7 * (1 + 4), kTight);
  // Two ranks keep their rate.
  EXPECT_NEAR(time(CollectiveKind::all_gather, 64_kB, 2, HostAlgorithm::ring), 1 + 16, kTight);
  // Of a sum among 5 the one beyond the power of two hands its buffer to a neighbour alone, at 2 GB/s; the others
  // exchange at 0.8 (two steps of 10 kB and a sum of 1 µs).
  EXPECT_NEAR(time(CollectiveKind::all_reduce, 10_kB, 5, HostAlgorithm::recursive_doubling),
              2 * (1 + 12.5 + 1) + 2 * (1 + 5) + 1, kTight);
}

TEST(HostNetworks, TakeAnEighthOfAllSocketsMemoryForCopies) {
  HostNetwork network = host_network_of(NetworkKind::infiniband, 100_Gbps, 1);
  Cpu cpu;
  cpu.vendor = "Intel";
  cpu.cores = 20;
  cpu.memory_bandwidth = 128_GBps;
  share_memory(network, cpu, 2);
  EXPECT_DOUBLE_EQ(network.caches.in(1_MB), 96);
  EXPECT_DOUBLE_EQ(network.memory.in(1_GBps), 32);
}

TEST(TwoLevels, GoUpATreeInTheNodesAcrossAndDownAgain) {
  using enum HostAlgorithm;
  // 8 kB on 2 nodes of 4: two levels of a tree in a node (0.6 + 3 µs each in the mean, twice that until the root has
  // all, with a sum of 0.8 µs), halves there and back between (8 µs each, a sum of 0.4 µs), and two levels down.
  EXPECT_NEAR(microseconds(CollectiveKind::all_reduce, 8_kB, 8, 4, two_level),
              2 * (2 * 3.6 + 0.8) + 2 * 8 + 0.4 + 2 * 3.6, kTight);
}

TEST(TwoLevels, PassSegmentsBesideOneAnother) {
  // Twice the segments of Open MPI 5: each further one takes what a node's root takes for it, up (2 × 2 × (0.6 µs +
  // 24.576 µs) + 2 sums of 6.5536 µs) and down (2 × (1 µs + 16.384 µs)).
  const auto time = [](Bytes size) {
    return host_collective_time({CollectiveKind::all_reduce, size, 8, 4, HostLibrary::open_mpi_5, std::nullopt},
                                round_network())
        .time.in(1_us);
  };
  EXPECT_NEAR(time(128_KiB) - time(64_KiB), 4 * 25.176 + 2 * 6.5536 + 2 * 17.384, kTight);
}

TEST(GlooRules, RunRingsWhateverTheSize) {
  for (const Bytes size : {8_B, 1_MiB, 1_GiB})
    EXPECT_EQ(chosen(CollectiveKind::all_reduce, size, 16, HostLibrary::gloo), HostAlgorithm::ring);
  EXPECT_EQ(chosen(CollectiveKind::broadcast, 1_GiB, 16, HostLibrary::gloo), HostAlgorithm::binomial);
}

TEST(HostNetworks, GlooSendsByTcpOnAnyNic) {
  const HostNetwork mpi = host_network_of(NetworkKind::infiniband, 100_Gbps, 2);
  const HostNetwork gloo = host_network_of(NetworkKind::infiniband, 100_Gbps, 2, HostLibrary::gloo);
  EXPECT_GT(gloo.latency, 10 * mpi.latency);
  EXPECT_LT(gloo.stream, mpi.stream);
}

TEST(HostNetworks, NothingIsFasterThanItsWire) {
  for (const double gigabits : {1.0, 10.0, 25.0, 100.0, 400.0})
    for (std::size_t kind = 0; kind < EnumNames<NetworkKind>::names.size(); ++kind)
      for (const int nics : {1, 2, 8}) {
        const BytesPerSecond nic = gigabits * 1_Gbps;
        const HostNetwork net = host_network_of(static_cast<NetworkKind>(kind), nic, nics);
        EXPECT_LE(net.rail, nic);
        EXPECT_LE(net.eager, nic);
        EXPECT_LE(net.stream, nic * nics);
        EXPECT_LE(net.node, nic * nics);
      }
}

}  // namespace
}  // namespace stepcast::mpi_test
