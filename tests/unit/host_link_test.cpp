// The link between devices and their hosts: one rate for all that crosses it.
#include "models/compute/host_link.hpp"

#include <gtest/gtest.h>

#include "models/collectives/machine.hpp"
#include "models/fabric/node_interior.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/job.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/reliability/checkpoint.hpp"
#include "models/reliability/checkpoint_copy.hpp"
#include "models/storage/storage.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::host_link_test {
namespace {

using test::catalog;

struct Known {
  const char* node;
  double raw, copies;  ///< GB/s
};

// NVLink-C2C of GH200, half of it for each of a GB200's two devices; Summit's NVLinks to POWER9; PCIe 5 and 3.
constexpr Known kKnown[] = {{"server-gh200-96gb", 450, 450 * 0.857},
                            {"gb200-nvl4", 225, 225 * 0.857},
                            {"summit", 50, 50 * 0.79},
                            {"dgx-h100", 63, 63 * 0.857},
                            {"dgx-1-v100-16gb", 15.75, 15.75 * 0.79}};

const Node& node_of(const Known& known) { return *catalog().find<Node>(known.node); }

TEST(HostLink, IsTheOneThatTheNodeHas) {
  for (const Known& known : kKnown) {
    const Node& node = node_of(known);
    const auto& accelerator = *catalog().find<Accelerator>(node.accelerator);
    EXPECT_NEAR(raw_host_link(node, accelerator).in(1_GBps), known.raw, 1e-9) << known.node;
    EXPECT_NEAR(host_link_rate(node, accelerator, catalog().find<ComputeProfile>(accelerator.family)).in(1_GBps),
                known.copies, 1e-9)
        << known.node;
  }
}

TEST(HostLink, IsNoFasterForOneModelThanForAnother) {
  for (const Known& known : kKnown) {
    const Node& node = node_of(known);
    EXPECT_NEAR(interconnect_of(machine_of(node, catalog())).host_link.in(1_GBps), known.copies, 1e-9) << known.node;
    const NodeInterior inside = node_interior(node, {node.training_nics(), 1_GBps, false, false}, catalog());
    bool drawn = false;
    for (const NodeInterior::Wire& wire : inside.wires())
      if (wire.from == 0 && wire.link.kind == FabricLinkKind::pcie) {
        EXPECT_NEAR(wire.link.bandwidth.in(1_GBps), known.raw, 1e-9) << known.node;
        drawn = true;
      }
    EXPECT_TRUE(drawn) << known.node;
  }
}

Scenario on(const Known& known, std::vector<std::string> terms) {
  terms.push_back(fmt::format("cluster.node={}", known.node));
  return resolve(Json::parse(R"({
    "cluster": {"node": "dgx-h100", "nodes": 1},
    "workload": {"model": "gpt2", "global_batch": 96, "seq_len": 1024, "precision": "fp16"},
    "strategy": {"framework": "megatron-lm", "sharding": "zero-1", "micro_batch": 1}})"),
                 "test", terms, catalog());
}

TEST(HostLink, CarriesInputCheckpointsAndOffloadedStatesAlike) {
  for (const Known& known : kKnown) {
    const Scenario plain = on(known, {"run.checkpoint.kind=asynchronous"});
    EXPECT_NEAR(input_copy_rate(plain)->in(1_GBps), known.copies, 1e-9) << known.node;
    const CheckpointCost cost = checkpoint_cost(lower(plain));
    const BytesPerSecond memory = plain.node->memory_bandwidth;
    const Seconds links = cost.size / (plain.devices() * known.copies * 1_GBps);
    EXPECT_NEAR(cost.stall / std::max(links, cost.size / memory), 1, 1e-9) << known.node;
    // A parameter's gradient goes down and its new value up; the rest of the time is the processors'.
    const Scenario offloaded = on(known, {"strategy.offload_optimizer=true"});
    Scenario endless = offloaded;
    Node node = *offloaded.node;
    node.cpu_link = HostLink{"ideal", 1e18 * 1_GBps, 1};
    endless.node = &node;
    const Job with = lower(offloaded), without = lower(endless);
    const Bytes crossed =
        (offloaded_optimizer_time(1e9, with) - offloaded_optimizer_time(1e9, without)) * (known.copies * 1_GBps);
    EXPECT_NEAR(crossed.in(1_GB), gradient_bytes(offloaded) + parameter_bytes(offloaded), 1e-6) << known.node;
  }
}

/// Llama 3 8B on 8 nodes of H100, with an asynchronous checkpoint.
Scenario asynchronous(std::vector<std::string> terms) {
  terms.emplace_back("run.checkpoint.kind=asynchronous");
  return resolve(Json::parse(R"({
    "cluster": {"node": "dgx-h100", "nodes": 8},
    "workload": {"model": "llama3-8b", "global_batch": 64, "seq_len": 1024, "precision": "bf16"},
    "strategy": {"micro_batch": 1}})"),
                 "test", std::move(terms), catalog());
}

struct Copied {
  CheckpointCopy copy;
  CheckpointCost cost;
  Bytes host;
};

Copied copied(std::vector<std::string> terms) {
  const Scenario scenario = asynchronous(std::move(terms));
  const Job job = lower(scenario);
  return {checkpoint_copy(job), checkpoint_cost(job), memory_of(job).host()};
}

// Each device of HSDP copies its whole shard, whatever other replicas have of it, under DDP one device of all copies
// everything. Megatron's savers deal out what replicas hold alike.
TEST(CheckpointCopies, AreOfWhatADeviceHolds) {
  for (const int shard : {8, 16, 64}) {
    const Copied of = copied({"strategy.framework=pytorch-fsdp", "strategy.sharding=hsdp",
                              fmt::format("strategy.hsdp_shard_size={}", shard)});
    EXPECT_NEAR(of.copy.of_device / (of.cost.size / shard), 1, 1e-9) << shard;
    EXPECT_EQ(of.copy.in_memory, of.copy.of_device);
    EXPECT_EQ(of.host, of.copy.in_memory);
  }
  const Copied one = copied({"strategy.framework=pytorch-ddp"});
  EXPECT_NEAR(one.copy.of_device / one.cost.size, 1, 1e-9);
  EXPECT_EQ(one.copy.in_memory, one.copy.of_device / 8);
  EXPECT_GT(one.cost.stall, one.cost.size / 100_GBps);
  const Copied dealt = copied({"strategy.framework=megatron-lm", "strategy.sharding=zero-1"});
  EXPECT_NEAR(dealt.copy.of_device / (dealt.cost.size / 64), 1, 1e-9);
}

// What is fitted of PCIe counts wherever devices meet over it, as bridged pairs do: another profile moves them, too.
TEST(HostLink, OfDevicesThatNoLinkJoinsIsTheFittedProfiles) {
  Node node = *catalog().find<Node>("azure-nc96ads-a100-v4");
  node.interconnect.kind = NodeTopology::hybrid_cube_mesh;
  node.interconnect.per_link = 25_GBps;
  node.interconnect.links = {{0, 1, 12}, {2, 3, 12}};
  CollectiveMachine machine = machine_of(node, catalog());
  ASSERT_NE(machine.host_links, nullptr);
  const auto rate = [&] {
    const Interconnect net = interconnect_of(machine);
    return net.native * net.link_share(4);
  };
  const BytesPerSecond before = rate();
  LinkProfile faster = *machine.host_links;
  faster.ring_share *= 1.1;
  machine.host_links = &faster;
  EXPECT_NEAR(rate() / before, 1.1, 1e-9);
  EXPECT_EQ(machine_of(*catalog().find<Node>("dgx-h100"), catalog()).host_links, nullptr);
}

TEST(Sockets, HaveTheLinksOfTheirProcessor) {
  const auto between = [](const char* id) { return catalog().find<Cpu>(id)->between_sockets().in(1_GBps); };
  EXPECT_NEAR(between("epyc-7742"), 108, 1e-9);
  EXPECT_NEAR(between("xeon-platinum-8480c"), 192, 1e-9);
  EXPECT_NEAR(between("power9-22c"), 64, 1e-9);
  EXPECT_NEAR(between("grace"), 62.4, 1e-9);  // not stated
  Node node = *catalog().find<Node>("rental-epyc-7502p-128gb");
  node.cpu = "epyc-9654";
  node.cpu_count = 2;
  EXPECT_NEAR(interconnect_of(machine_of(node, catalog())).native.in(1_GBps), 0.6 * 192, 1e-9);
  const NodeInterior inside = node_interior(node, {1, 1_GBps, false, false}, catalog());
  BytesPerSecond widest(0);
  for (const NodeInterior::Wire& wire : inside.wires())
    if (inside.places()[wire.from].kind == VertexKind::socket && inside.places()[wire.to].kind == VertexKind::socket)
      widest = std::max(widest, wire.link.bandwidth);
  EXPECT_NEAR(widest.in(1_GBps), 192, 1e-9);
}

}  // namespace
}  // namespace stepcast::host_link_test
