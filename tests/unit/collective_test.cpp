#include <gtest/gtest.h>

#include <cmath>

#include "models/collectives/machine.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::collective_test {
namespace {

/// Links with round figures, so that expected times can be worked out by hand. One protocol, no shares.
Interconnect round_links(int devices = 8) {
  Interconnect net;
  net.native = 100_GBps;
  net.nic = 10_GBps;
  net.nics = devices;
  net.node_network = net.nic * devices;
  net.rank_network = net.nic;
  net.launch = 10_us;
  net.network_launch = 5_us;
  net.native_hop = 1_us;
  net.network_hop = 4_us;
  net.bulk = {1_us, 4_us, 7_us, 1, 1};
  net.small_messages = net.bulk;
  return net;
}

constexpr double kTight = 1e-9;

double microseconds(Seconds t) { return t.in(1_us); }

TEST(RingAllReduce, TakesTwiceThePayloadLessOneShareAndTwoSweepsOfHops) {
  const GroupShape group{8, 8, 1};
  const auto cost =
      collective_cost(CollectiveKind::all_reduce, 800_MB, group, round_links(), CollectiveAlgorithm::ring);
  // 2·7/8·800 MB = 1400 MB at 100 GB/s = 14 ms; 14 steps of 1 µs and 10 µs of launch.
  EXPECT_DOUBLE_EQ(cost.native_bytes.in(1_MB), 1400);
  EXPECT_DOUBLE_EQ(cost.network_bytes.value(), 0);
  EXPECT_NEAR(microseconds(cost.alone(round_links(), group)), 10 + 14 + 14000, kTight);
}

TEST(RingAllReduce, OverNodesLeavesByEveryMembersNic) {
  const GroupShape group{16, 8, 1};
  const auto cost =
      collective_cost(CollectiveKind::all_reduce, 160_MB, group, round_links(), CollectiveAlgorithm::ring);
  // 2·15/16·160 MB = 300 MB leave each node; an eighth of it by each rank's NIC: 37.5 MB at 10 GB/s = 3.75 ms.
  EXPECT_DOUBLE_EQ(cost.network_bytes.in(1_MB), 37.5);
  EXPECT_DOUBLE_EQ(cost.native_bytes.in(1_MB), 300 * 7 / 8.0);
  // 30 steps, 2·(2 − 1) of them between nodes: 28 µs + 8 µs, and both launches.
  EXPECT_NEAR(microseconds(cost.alone(round_links(), group)), 15 + 28 + 8 + 3750, kTight);
}

TEST(RingAllReduce, OneRankANodeSendsEverythingByTheNic) {
  const GroupShape group{4, 1, 8};
  const auto cost = collective_cost(CollectiveKind::all_reduce, 40_MB, group, round_links(), CollectiveAlgorithm::ring);
  EXPECT_DOUBLE_EQ(cost.native_bytes.value(), 0);
  EXPECT_DOUBLE_EQ(cost.network_bytes.in(1_MB), 60);  // 2·3/4·40
  EXPECT_NEAR(microseconds(cost.alone(round_links(), group)), 15 + 6 * 4 + 6000, kTight);
}

TEST(RingAllGather, WaitsForReceiversOnceABlockIsLargeWhereTheNetworkAsksThem) {
  Interconnect net = round_links();
  net.bulk.network_hop = 50_us;
  const GroupShape group{16, 8, 1};
  const auto in_ll = [&](Bytes payload) {
    return microseconds(collective_cost(CollectiveKind::all_gather, payload, group, net, CollectiveAlgorithm::ring,
                                        CollectiveProtocol::ll)
                            .alone(net, group));
  };
  // Blocks of 15 and 16 KiB; an eighth of 15 of them leaves by each NIC at 10 GB/s.
  const double below = 15 * 15 * 1024 / 8.0 / 10e3, at = 15 * 16 * 1024 / 8.0 / 10e3;
  EXPECT_NEAR(in_ll(256_KiB), 15 + 14 + 4 + at, kTight);
  net.peers.small_limit = 192_B;  // it tells messages apart
  EXPECT_NEAR(in_ll(240_KiB), 15 + 14 + 4 + below, kTight);
  EXPECT_NEAR(in_ll(256_KiB), 15 + 14 + 50 + at, kTight);
}

TEST(RingAllReduce, HidesHopsBetweenNodesBehindTheBytesWhereChunksOverlap) {
  Interconnect net = round_links(1);
  net.bulk.fill_ring = 1e-15;  // cut as finely as one likes
  net.small_messages = net.bulk;
  const auto time = [&](Bytes size) {
    const GroupShape group{4, 1, 1};
    return microseconds(
        collective_cost(CollectiveKind::all_reduce, size, group, net, CollectiveAlgorithm::ring).alone(net, group));
  };
  // 6 hops of 4 µs against 6 ms at 10 GB/s, and against 24 µs.
  EXPECT_NEAR(time(40_MB), 15 + 6000, 0.1);
  EXPECT_NEAR(time(160_kB), 15 + 24 * std::sqrt(2.0), 0.1);
  EXPECT_NEAR(time(40_B), 15 + 6 * 4, 0.1);
}

TEST(RingAllReduce, StandsIdleForOneHopsChunkHoweverManySteps) {
  Interconnect net = round_links();
  net.bulk.fill_ring = 0.25;
  const auto idle = [&](int ranks, Bytes size) {
    const GroupShape group{ranks, 8, 1};
    const auto cost = collective_cost(CollectiveKind::all_reduce, size, group, net, CollectiveAlgorithm::ring,
                                      CollectiveProtocol::simple);
    const double launches = group.nodes() > 1 ? 15 : 10;
    return microseconds(cost.latency) - launches;
  };
  // 2·√(¼ · 1 µs · 10 ms) = 100 µs beside 2 and 14 hops: 1 GB between two, 571.4 MB among eight take 10 ms.
  EXPECT_NEAR(idle(2, 1000_MB), 2 + 100, kTight);
  EXPECT_NEAR(idle(8, 1000_MB / 1.75), 14 + 100, 1e-6);
  // Between nodes the longest hop, 4 µs, counts; beside 28 inside, and what 40 ms leave of 8 µs (next to nothing).
  EXPECT_NEAR(idle(16, 3200_MB / 1.875), 28 + 400, 1e-3);
}

TEST(RingAllReduce, GroupsSideBySideShareTheNodesNics) {
  Interconnect net = round_links();
  net.nics = 2;  // 8 devices behind 2 NICs
  net.node_network = 20_GBps;
  const auto time = [&](int groups_per_node) {
    const GroupShape group{2, 1, groups_per_node};
    const auto cost = collective_cost(CollectiveKind::all_reduce, 100_MB, group, net, CollectiveAlgorithm::ring);
    return microseconds(cost.alone(net, group) - cost.latency);
  };
  EXPECT_NEAR(time(1), 10'000, kTight);  // 100 MB through one NIC of 10 GB/s: a rank cannot use both
  EXPECT_NEAR(time(2), 10'000, kTight);  // 200 MB through two
  EXPECT_NEAR(time(8), 40'000, kTight);  // 800 MB through two
}

TEST(RingAllReduce, OversubscribedUplinksSlowTheNetworkPart) {
  Interconnect net = round_links();
  GroupShape group{2, 1, 8};
  group.above[0] = {1, 1, 1, 2};
  const auto cost = collective_cost(CollectiveKind::all_reduce, 100_MB, group, net, CollectiveAlgorithm::ring);
  const Seconds full = cost.alone(net, group) - cost.latency;
  net.uplinks.push_back({net.node_network / 2, Seconds(0)});
  EXPECT_DOUBLE_EQ((cost.alone(net, group) - cost.latency) / full, 2);
}

TEST(AllReduce, IsAReduceScatterAndAnAllGather) {
  for (const GroupShape& group : {GroupShape{8, 8, 1}, GroupShape{32, 8, 1}, GroupShape{16, 2, 4}}) {
    const auto net = round_links();
    const auto all = collective_cost(CollectiveKind::all_reduce, 1_GB, group, net, CollectiveAlgorithm::ring);
    const auto scatter = collective_cost(CollectiveKind::reduce_scatter, 1_GB, group, net);
    const auto gather = collective_cost(CollectiveKind::all_gather, 1_GB, group, net);
    EXPECT_DOUBLE_EQ(all.native_bytes.value(), (scatter.native_bytes + gather.native_bytes).value());
    EXPECT_DOUBLE_EQ(all.network_bytes.value(), (scatter.network_bytes + gather.network_bytes).value());
  }
}

// Down and up the chain over a rack that is one node to NCCL: 2 · 63 hops of 1 µs, and one level between two.
TEST(TreeAllReduce, ChainsAreAsLongAsNodes) {
  const auto cost =
      collective_cost(CollectiveKind::all_reduce, 1_kB, {128, 64, 1}, round_links(), CollectiveAlgorithm::tree);
  EXPECT_NEAR(microseconds(cost.latency), 15 + 2 * (63 * 1 + 1 * 7), kTight);
}

TEST(TreeAllReduce, PaysLevelsInsteadOfRanks) {
  const auto net = round_links();
  const GroupShape group{1024, 8, 1};  // 128 nodes: 7 levels
  const auto cost = collective_cost(CollectiveKind::all_reduce, 1_kB, group, net, CollectiveAlgorithm::tree);
  EXPECT_NEAR(microseconds(cost.latency), 15 + 2 * (7 * 1 + 7 * 7), kTight);
  EXPECT_DOUBLE_EQ(cost.network_bytes.in(1_B), 2 * 1000 / 8.0);
}

TEST(TreeAllReduce, BetweenTwoNodesSendsTheBufferOnce) {
  // What lets bus bandwidth pass the wire on two nodes (calibration/data/collectives-*.csv): 2·15/16 of a buffer by
  // ring, one by tree.
  const auto cost =
      collective_cost(CollectiveKind::all_reduce, 80_MB, {16, 8, 1}, round_links(), CollectiveAlgorithm::tree);
  EXPECT_DOUBLE_EQ(cost.network_bytes.in(1_MB), 10);
}

TEST(AutomaticAllReduce, TakesTheFasterOfRingAndTree) {
  const auto net = round_links();
  const GroupShape group{1024, 8, 1};
  EXPECT_EQ(collective_cost(CollectiveKind::all_reduce, 1_kB, group, net).algorithm, CollectiveAlgorithm::tree);
  for (const Bytes payload : {1_kB, 1_MB, 100_MB, 10_GB}) {
    const auto time = [&](CollectiveAlgorithm a) {
      return collective_cost(CollectiveKind::all_reduce, payload, group, net, a).alone(net, group).value();
    };
    EXPECT_DOUBLE_EQ(time(CollectiveAlgorithm::automatic),
                     std::min(time(CollectiveAlgorithm::ring), time(CollectiveAlgorithm::tree)));
  }
}

TEST(HierarchicalAllReduce, IsThreeCallsOneAfterAnother) {
  const auto net = round_links();
  const GroupShape group{32, 8, 1};
  const auto cost = collective_cost(CollectiveKind::all_reduce, 80_MB, group, net, CollectiveAlgorithm::hierarchical);
  // In the node: 7/8·80 MB = 70 MB at 100 GB/s = 700 µs, 7 steps, launch: 717 µs, twice. Across 4 nodes, 10 MB a rank:
  // by ring 2·3/4·10 = 15 MB at 10 GB/s = 1500 µs, 6 steps of 4 µs, both launches: 1539 µs (tree: 2000 µs and more).
  EXPECT_NEAR(microseconds(cost.alone(net, group)), 2 * 717 + 1539, kTight);
  EXPECT_EQ(cost.algorithm, CollectiveAlgorithm::hierarchical);
}

TEST(AllToAll, SplitsByWhereThePeersAre) {
  Interconnect net = round_links();
  net.peer_start = 1_us;
  net.remote_peer_start = 3_us;
  const GroupShape group{16, 8, 1};
  const auto cost = collective_cost(CollectiveKind::all_to_all, 16_MB, group, net);
  EXPECT_DOUBLE_EQ(cost.native_bytes.in(1_MB), 7);   // to 7 peers of 16 in the node
  EXPECT_DOUBLE_EQ(cost.network_bytes.in(1_MB), 8);  // to 8 on the other
  EXPECT_NEAR(microseconds(cost.alone(net, group)), 15 + 7 + 8 * 3 + 800, kTight);
}

// 2 nodes: half of what goes to nodes leaves, 7/8 of what goes to ranks is forwarded beside it. Seven peers in the node
// and one node are started.
TEST(Forwarded, LeavesOnceForEachNode) {
  Interconnect net = round_links();
  net.peer_start = 1_us;
  net.remote_peer_start = 3_us;
  const GroupShape group{16, 8, 1};
  const auto cost = forwarded_cost(16_MB, 32_MB, group, net);
  EXPECT_DOUBLE_EQ(cost.network_bytes.in(1_MB), 8);
  EXPECT_DOUBLE_EQ(cost.native_bytes.in(1_MB), 28);
  EXPECT_NEAR(microseconds(cost.alone(net, group)), 15 + 7 + 3 + 800, kTight);
}

TEST(Forwarded, IsAnAllToAllInOneNode) {
  const Interconnect net = round_links();
  const GroupShape group{8, 8, 1};
  const auto whole = collective_cost(CollectiveKind::all_to_all, 32_MB, group, net);
  const auto cost = forwarded_cost(4_MB, 32_MB, group, net);
  EXPECT_EQ(cost.native_bytes, whole.native_bytes);
  EXPECT_EQ(cost.network_bytes, Bytes(0));
  EXPECT_EQ(cost.alone(net, group), whole.alone(net, group));
}

TEST(SendReceive, UsesOneNicOfSeveral) {
  Interconnect net = round_links();
  net.nics = 16;
  net.node_network = 160_GBps;
  net.rank_network = 20_GBps;
  const GroupShape group{2, 1, 8};
  const auto cost = collective_cost(CollectiveKind::send_recv, 10_MB, group, net);
  EXPECT_NEAR(microseconds(cost.alone(net, group)), 10 + 5 + 4 + 1000, kTight);
}

TEST(SendReceive, OpensTwoChannelsBetweenFewNodesAndOneBetweenMany) {
  Interconnect net = round_links(1);
  net.peers.channel = 3_GBps;
  const auto time = [&](int nodes) {
    const GroupShape group{nodes, 1, 1};
    return microseconds(collective_cost(CollectiveKind::send_recv, 6_MB, group, net).alone(net, group));
  };
  EXPECT_NEAR(time(2), 10 + 5 + 4 + 1000, kTight);  // 2 · 3 GB/s
  EXPECT_NEAR(time(8), time(2), kTight);
  EXPECT_NEAR(time(9), 10 + 5 + 4 + 2000, kTight);
}

// Of a node's eight ranks one sends to the next node: it shares neither the node's one NIC nor a leaf's up-links.
TEST(SendReceive, OneRankOfANodeSendsToTheNext) {
  Interconnect net = round_links(1);
  GroupShape group{32, 8, 1};
  const auto time = [&] {
    return microseconds(collective_cost(CollectiveKind::send_recv, 10_MB, group, net).alone(net, group));
  };
  EXPECT_NEAR(time(), 10 + 5 + 4 + 1000, kTight);
  net.uplinks.push_back({20_GBps, Seconds(0)});
  group.above[0] = {4, 4, 4, 0};
  EXPECT_NEAR(time(), 10 + 5 + 4 + 2000, kTight);
  net.send_share = 0.5;  // of the NIC, which is what the up-links leave
  EXPECT_NEAR(time(), 10 + 5 + 4 + 2000, kTight);
  net.send_share = 1;
  group.groups_per_node = 2;  // side by side
  EXPECT_NEAR(time(), 10 + 5 + 4 + 4000, kTight);
  net.uplinks.clear();
  EXPECT_NEAR(time(), 10 + 5 + 4 + 2000, kTight);
}

TEST(SendReceive, InsideANodeUsesTheNativeLinks) {
  const auto net = round_links();
  const GroupShape group{2, 2, 4};
  const auto cost = collective_cost(CollectiveKind::send_recv, 10_MB, group, net);
  EXPECT_NEAR(microseconds(cost.alone(net, group)), 10 + 1 + 100, kTight);
}

TEST(Collective, OfOneRankOrOfNothingIsFree) {
  const auto net = round_links();
  for (int kind = 0; kind < 6; ++kind) {
    const auto alone = collective_cost(static_cast<CollectiveKind>(kind), 1_GB, {1, 1, 8}, net);
    const auto empty = collective_cost(static_cast<CollectiveKind>(kind), 0_B, {8, 8, 1}, net);
    EXPECT_EQ(alone.alone(net, {1, 1, 8}).value(), 0);
    EXPECT_EQ(empty.alone(net, {8, 8, 1}).value(), 0);
  }
}

TEST(Protocols, SmallMessagesTakeTheQuickOneAndLargeOnesTheWide) {
  Interconnect net = round_links();
  net.bulk.native_hop = 3_us;
  net.small_messages.native_share = 0.5;
  const GroupShape group{8, 8, 1};
  const auto cost = [&](Bytes s) { return collective_cost(CollectiveKind::all_gather, s, group, net); };
  EXPECT_NEAR(microseconds(cost(1_kB).latency), 10 + 7 * 1, kTight);
  EXPECT_NEAR(microseconds(cost(1_GB).latency), 10 + 7 * 3, kTight);
  EXPECT_DOUBLE_EQ(cost(1_GB).native_cap, 1);
}

// A node to derive an interconnect from, with links and a network of round figures.
struct Devices {
  Node node;
  Accelerator accelerator;
  ComputeProfile profile;
  LinkProfile links;
  NetworkProfile network;
  Cpu cpu;
  CollectiveMachine machine;

  explicit Devices(int devices, NodeInterconnect interconnect) {
    accelerator.pcie_bandwidth = 32_GBps;
    profile.host_link_share = 0.75;
    node.id = "test-node";
    node.accelerator_count = devices;
    node.interconnect = std::move(interconnect);
    links.ring_share = 0.9;
    links.share_of_two = 0.7;
    links.share_of_four = 0.8;
    network.wire_share = 0.96;
    machine.node = &node;
    machine.accelerator = devices > 0 ? &accelerator : nullptr;
    machine.cpu = &cpu;
    machine.compute = &profile;
    machine.links = &links;
    machine.network_profile = &network;
    machine.devices_per_node = devices;
    machine.nics = 4;
    machine.nic_bandwidth = 25_GBps;
  }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
};

NodeInterconnect switched() {
  NodeInterconnect out;
  out.kind = NodeTopology::nvswitch;
  out.per_link = 25_GBps;
  out.links_per_accelerator = 12;
  return out;
}

TEST(InterconnectOf, SwitchGivesEveryGroupAllLinksButFewChannelsToFew) {
  const Devices machine(8, switched());
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.native.in(1_GBps), 12 * 25 * 0.9);
  EXPECT_TRUE(net.private_native);
  EXPECT_DOUBLE_EQ(net.link_share(2), 1);
  EXPECT_DOUBLE_EQ(net.native_share(2), 0.7);
  EXPECT_DOUBLE_EQ(net.native_share(4), 0.8);
  EXPECT_DOUBLE_EQ(net.native_share(8), 1);
  EXPECT_DOUBLE_EQ(net.host_link.in(1_GBps), 24);
}

TEST(InterconnectOf, DevicesThatShareANicGetOneNicEachAtMost) {
  const Devices machine(8, switched());
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.rank_network.value(), net.nic.value());
  EXPECT_DOUBLE_EQ(net.node_network.value(), 4 * net.nic.value());
  EXPECT_NEAR(net.nic.in(1_GBps), 25 * 0.96, 1e-9);
}

TEST(InterconnectOf, DevicesWithSeveralNicsUseThemAll) {
  Devices machine(8, switched());
  machine.machine.nics = 32;
  machine.accelerator.pcie_bandwidth = 126_GBps;
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.rank_network / net.nic, 4);
}

// 32 GB/s of PCIe lie between a device and four NICs of 25, unless these are its own ports.
TEST(InterconnectOf, DevicesGetNoMoreOfTheirNicsThanPcieCarries) {
  Devices machine(8, switched());
  machine.machine.nics = 32;
  const Interconnect behind = interconnect_of(machine.machine);
  EXPECT_NEAR(behind.rank_network / behind.nic, 32.0 / 25, 1e-9);
  machine.node.nics = {{32, 200_Gbps, NetworkKind::infiniband, true, "", true}};
  const Interconnect own = interconnect_of(machine.machine);
  EXPECT_NEAR(own.rank_network / own.nic, 4, 1e-9);
}

TEST(InterconnectOf, GroupOfAMeshHasItsOwnLinksAlone) {
  NodeInterconnect mesh;
  mesh.kind = NodeTopology::mesh;
  mesh.per_link = 25_GBps;
  mesh.links_per_pair = 4;
  const Devices machine(4, mesh);
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.native.in(1_GBps), 3 * 4 * 25 * 0.9);
  EXPECT_DOUBLE_EQ(net.native_share(2), 1 / 3.0);  // one of three neighbours, fewer than two devices' channels
  EXPECT_DOUBLE_EQ(net.native_share(4), 0.8);
}

TEST(InterconnectOf, NeighboursInAHybridCubeMeshShareOneLink) {
  // DGX-1 V100: six links a GPU; 0–1 and 0–2 one, 0–3 and 0–4 two. Within the quad of GPU 0 it has four of its six.
  NodeInterconnect cube;
  cube.kind = NodeTopology::hybrid_cube_mesh;
  cube.per_link = 25_GBps;
  cube.links = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 1},
                {2, 6, 2}, {3, 7, 2}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 1}};
  const Devices machine(8, cube);
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.link_share(2), 1 / 6.0);
  EXPECT_DOUBLE_EQ(net.link_share(4), 4 / 6.0);
  EXPECT_DOUBLE_EQ(net.native_share(8), 1);
}

// Four A100 on PCIe with bridges between 0 and 1, 2 and 3: only a pair is as fast as its bridge. Two rings cross side
// by side, each from another device of a pair; a third device alone has one.
TEST(InterconnectOf, BridgedPairsMeetOverTheirHost) {
  NodeInterconnect pairs;
  pairs.kind = NodeTopology::hybrid_cube_mesh;
  pairs.per_link = 25_GBps;
  pairs.links = {{0, 1, 12}, {2, 3, 12}};
  Devices machine(4, pairs);
  // What was fitted to hosts that have nothing but PCIe.
  const auto* pcie = test::catalog().find<LinkProfile>("pcie");
  ASSERT_NE(pcie, nullptr);
  machine.machine.host_links = pcie;
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.native_share(2), 0.7);
  const double ring = 32 * pcie->ring_share * pcie->share_of_four;
  EXPECT_NEAR(net.native.in(1_GBps) * net.native_share(4), 2 * ring, 1e-9);
  EXPECT_NEAR(net.native.in(1_GBps) * net.link_share(3), ring, 1e-9);
  machine.accelerator.pcie_bandwidth = 80_GBps;  // more than the links between sockets carry
  EXPECT_NEAR(net.native.in(1_GBps) * interconnect_of(machine.machine).native_share(4), 62.4, 1e-9);
  machine.node.cpu_link = HostLink{"NVLink 2", 50_GBps, 1};  // as Summit's
  EXPECT_NEAR(interconnect_of(machine.machine).native_share(4) * net.native.in(1_GBps), 50 * 0.9, 1e-9);
}

// One ring in the order of the devices, as NCCL 1 built it on the DGX-1 with P100, four links a GPU: neighbours inside
// a quad have one link; from 3 to 4, and from 7 to 0, it goes through the host's memory.
TEST(InterconnectOf, OneRingIsAsFastAsItsScarcestPair) {
  NodeInterconnect cube;
  cube.kind = NodeTopology::hybrid_cube_mesh;
  cube.per_link = 20_GBps;
  cube.links = {{0, 1, 1}, {0, 2, 1}, {0, 3, 1}, {1, 2, 1}, {1, 3, 1}, {2, 3, 1}, {4, 5, 1}, {4, 6, 1},
                {4, 7, 1}, {5, 6, 1}, {5, 7, 1}, {6, 7, 1}, {0, 4, 1}, {1, 5, 1}, {2, 6, 1}, {3, 7, 1}};
  Devices machine(8, cube);
  machine.machine.single_ring = true;
  machine.accelerator.pcie_bandwidth = 15.75_GBps;
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_DOUBLE_EQ(net.native_share(2), 1 / 4.0);
  EXPECT_DOUBLE_EQ(net.native_share(4), 1 / 4.0);
  EXPECT_DOUBLE_EQ(net.native_share(5), net.host_link / net.native);
  EXPECT_DOUBLE_EQ(net.native_share(8), net.host_link / net.native);
}

TEST(InterconnectOf, PcieIsSharedByTheDevicesOfAHost) {
  NodeInterconnect pcie;
  pcie.kind = NodeTopology::pcie;
  pcie.pcie_gen = 4;
  Devices machine(8, pcie);
  machine.links.share_of_eight = 0.4;
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_FALSE(net.private_native);
  EXPECT_DOUBLE_EQ(net.native.in(1_GBps), 32 * 0.9);
  EXPECT_DOUBLE_EQ(net.native_share(8), 0.4);
  EXPECT_FALSE(net.middle_messages.offered);
}

TEST(InterconnectOf, LlGetsNoMoreOutOfANodeThanItsProcessorsPass) {
  Devices machine(8, switched());  // 4 NICs of 25 GB/s, of which 0.96 are reached: 96 GB/s
  const LibraryProfile library;
  machine.network.ll_share = 0.5;
  machine.cpu.vendor = "Intel";
  const auto cap = [&](int per_node, double oversubscription = 1) {
    Interconnect net = interconnect_of(machine.machine);
    GroupShape group{2 * per_node, per_node, 1};
    group.above[0] = {1, 1, 1, 2};
    net.uplinks.push_back({net.node_network / oversubscription, Seconds(0)});
    return collective_cost(CollectiveKind::all_reduce, 64_KiB, group, net, CollectiveAlgorithm::ring,
                           CollectiveProtocol::ll)
        .network_cap;
  };
  EXPECT_DOUBLE_EQ(cap(8), 0.5);  // no library
  machine.machine.library = &library;
  EXPECT_NEAR(cap(8), 20.4 / 96, kTight);
  EXPECT_NEAR(cap(1), 0.5, kTight);           // one rank has a NIC of 24 GB/s, of which LL reaches 12
  EXPECT_NEAR(cap(2), 20.4 / 48, kTight);     // two have two
  EXPECT_NEAR(cap(8, 2), 20.4 / 48, kTight);  // what the up-links leave of the NICs
  EXPECT_NEAR(cap(8, 8), 0.5, kTight);
  EXPECT_EQ(interconnect_of(machine.machine).bulk.node_limit, BytesPerSecond(0));
  EXPECT_EQ(interconnect_of(machine.machine).middle_messages.node_limit, BytesPerSecond(0));
  machine.cpu.vendor = "AMD";
  EXPECT_NEAR(cap(8), 19.0 / 96, kTight);
  machine.network.ll_share = 0.1;
  EXPECT_DOUBLE_EQ(cap(8), 0.1);
}

// With algorithm and protocol fixed, whatever limits LL.
TEST(InterconnectOf, FasterNicsAreNeverSlower) {
  Devices machine(8, switched());
  const LibraryProfile library;
  machine.machine.library = &library;
  for (const CollectiveAlgorithm algorithm : {CollectiveAlgorithm::ring, CollectiveAlgorithm::tree})
    for (const CollectiveProtocol protocol : {CollectiveProtocol::ll, CollectiveProtocol::simple})
      for (const int per_node : {1, 2, 8})
        for (const Bytes size : {1_KiB, 64_KiB, 1_MiB, 64_MiB}) {
          Seconds before(1e9);
          for (double gigabits = 25; gigabits <= 3200; gigabits *= 2) {
            machine.machine.nic_bandwidth = gigabits * 1_Gbps;
            const Interconnect net = interconnect_of(machine.machine);
            const GroupShape group{8 * per_node, per_node, 1};
            const Seconds time =
                collective_cost(CollectiveKind::all_reduce, size, group, net, algorithm, protocol).alone(net, group);
            EXPECT_LE(time, before * (1 + 1e-12)) << name_of(algorithm) << " " << name_of(protocol) << " " << gigabits;
            before = time;
          }
        }
}

TEST(InterconnectOf, TheHostsOwnStartGoesBeforeTheProfiles) {
  Devices machine(8, switched());
  machine.links.launch = 6_us;
  EXPECT_DOUBLE_EQ(microseconds(interconnect_of(machine.machine).launch), 6);
  machine.machine.launch = 3_us;
  EXPECT_DOUBLE_EQ(microseconds(interconnect_of(machine.machine).launch), 3);
}

TEST(InterconnectOf, ProcessorsTalkThroughTheSocketLinkAndStartNoKernels) {
  Devices machine(0, {});
  machine.node.cpu_count = 2;
  machine.node.memory_bandwidth = 200_GBps;
  const Interconnect net = interconnect_of(machine.machine);
  EXPECT_GT(net.native.value(), 0);
  EXPECT_EQ(net.launch.value(), 0);
}

TEST(Availability, SaysWhatTheHardwareCannotDo) {
  Devices machine(8, switched());
  const GroupShape inside{8, 8, 1}, across{16, 8, 1};
  const auto reason = [&](CollectiveKind kind, CollectiveAlgorithm algorithm, const GroupShape& group,
                          CollectiveProtocol protocol = CollectiveProtocol::automatic) {
    return unavailable_reason(kind, algorithm, protocol, group, machine.machine).value_or("");
  };
  using Kind = CollectiveKind;
  using Algorithm = CollectiveAlgorithm;
  EXPECT_EQ(reason(Kind::all_reduce, Algorithm::automatic, inside), "");
  EXPECT_EQ(reason(Kind::all_reduce, Algorithm::ring, inside), "");
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::nvls, inside).find("cannot add"), std::string::npos);
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::collnet, across).find("SHARP"), std::string::npos);
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::pat, across), "");
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::halving_doubling, {12, 4, 1}).find("power of two"), std::string::npos);
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::ring, inside, CollectiveProtocol::ll128).find("NVLink"),
            std::string::npos);
  machine.links.nvls_share = 1.1;
  machine.links.generation = TunerGeneration::hopper;
  EXPECT_EQ(reason(Kind::all_reduce, Algorithm::nvls, inside), "");
  EXPECT_EQ(reason(Kind::all_reduce, Algorithm::nvls_tree, across), "");
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::nvls_tree, inside), "");
  EXPECT_NE(reason(Kind::all_reduce, Algorithm::nvls, inside, CollectiveProtocol::ll), "");
  EXPECT_NE(reason(Kind::all_gather, Algorithm::nvls, across).find("one node"), std::string::npos);
}

// Eight MI300X sum 8 GiB at 315 GB/s (public logs of rccl-tests), where their links have 448. TPUs' links are others.
TEST(LinkProfiles, OfMeshesAndToriAreTheirOwn) {
  const auto machine = [](const char* node) { return machine_of(*test::catalog().find<Node>(node), test::catalog()); };
  EXPECT_NEAR(interconnect_of(machine("mi300x-platform-8")).native.in(1_GBps), 315, 0.05 * 315);
  EXPECT_EQ(machine("tpu-v5p-host").links->id, "ici");
  EXPECT_EQ(machine("tpu-v5p-host").links->ring_share, 0.9);
}

// Four A100 of a mesh on two Slingshot NICs took the 48 ms of a ring for 1 GiB over two nodes.
TEST(Trees, OfTwoNodesThatShareNicsSendAsRings) {
  Devices mesh(4, {});
  mesh.node.interconnect.kind = NodeTopology::mesh;
  mesh.node.interconnect.per_link = 25_GBps;
  mesh.node.interconnect.links_per_pair = 4;
  mesh.machine.nics = 2;
  const Interconnect net = interconnect_of(mesh.machine);
  const GroupShape group{8, 4, 1, {}};
  const CollectiveCost tree = collective_cost(CollectiveKind::all_reduce, 1_GiB, group, net, CollectiveAlgorithm::tree);
  EXPECT_NEAR(tree.network_bytes / 1_GiB, 2 * 7 / 8.0 / 4, 1e-9);
}

// What is asked for and cannot be had is refused, not replaced.
TEST(Availability, RefusesWhatItWouldRunAsSomethingElse) {
  const Devices machine(8, switched());
  using Kind = CollectiveKind;
  using Algorithm = CollectiveAlgorithm;
  using Protocol = CollectiveProtocol;
  const auto refused = [&](Kind kind, Algorithm algorithm, Protocol protocol, const GroupShape& group) {
    return unavailable_reason(kind, algorithm, protocol, group, machine.machine).has_value();
  };
  const GroupShape inside{8, 8, 1}, across{16, 8, 1}, one_each{16, 1, 8};
  for (const Protocol protocol : {Protocol::simple, Protocol::ll})
    for (const Kind kind : {Kind::all_to_all, Kind::send_recv})
      EXPECT_TRUE(refused(kind, Algorithm::automatic, protocol, across)) << name_of(kind);
  EXPECT_TRUE(refused(Kind::all_reduce, Algorithm::direct, Protocol::ll, across));
  EXPECT_TRUE(refused(Kind::all_reduce, Algorithm::recursive_doubling, Protocol::simple, across));
  EXPECT_FALSE(refused(Kind::all_reduce, Algorithm::recursive_doubling, Protocol::ll, across));
  EXPECT_TRUE(refused(Kind::all_reduce, Algorithm::halving_doubling, Protocol::ll, across));
  EXPECT_TRUE(refused(Kind::all_reduce, Algorithm::hierarchical, Protocol::automatic, inside));
  EXPECT_TRUE(refused(Kind::all_reduce, Algorithm::hierarchical, Protocol::automatic, one_each));
  EXPECT_FALSE(refused(Kind::all_reduce, Algorithm::hierarchical, Protocol::simple, across));
  EXPECT_FALSE(refused(Kind::send_recv, Algorithm::ring, Protocol::automatic, across));
}

}  // namespace
}  // namespace stepcast::collective_test
