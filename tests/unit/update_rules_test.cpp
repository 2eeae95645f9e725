#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/shipped.hpp"

namespace stepcast::update_rules_test {
namespace {

using test::shipped;
using testing::HasSubstr;

/// The one fault of a scenario with changes; "none" without.
std::string fault(const std::string& scenario, const std::vector<std::string>& changes) {
  try {
    shipped(scenario, changes);
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 1U) << error.what();
    return error.what();
  }
  return "none";
}

TEST(UpdateRules, ARoundsClientsAreDrawnFromAsMany) {
  const char* federated = "systems/federated.json";
  const int round = shipped(federated).spec.cluster.nodes;
  EXPECT_THAT(fault(federated, {fmt::format("strategy.federated.clients={}", round - 1)}),
              HasSubstr("/strategy/federated/clients: "));
  EXPECT_EQ(fault(federated, {fmt::format("strategy.federated.clients={}", round)}), "none");
}

TEST(UpdateRules, TablesOverAllDevicesAreNoWorkers) {
  EXPECT_THAT(fault("systems/dlrm.json", {"strategy.update=local", "strategy.local_steps=4"}),
              testing::AllOf(HasSubstr("/strategy/update: "), HasSubstr("tables")));
}

TEST(UpdateRules, FrameworksOfCollectivesHaveNoServers) {
  for (const char* system : {"pytorch-ddp", "horovod-128x4-p100"})
    EXPECT_THAT(fault(fmt::format("systems/{}.json", system), {R"(strategy.parameter_servers={"count":3})"}),
                testing::AllOf(HasSubstr("/strategy/parameter_servers: "), HasSubstr("tensorflow-ps")));
}

TEST(UpdateRules, BackupWorkersAreOneAtLeast) {
  EXPECT_THAT(fault("systems/parameter-server-backup.json", {"strategy.backup_workers=0"}),
              testing::AllOf(HasSubstr("/strategy/backup_workers: found 0"), testing::Not(HasSubstr("missing"))));
}

// What can change nothing is refused, as its siblings are.
TEST(UnusedKeys, AreFaults) {
  const std::vector<std::array<const char*, 3>> cases{
      {"pytorch-ddp", "strategy.step_spread=1", "/strategy/step_spread"},
      {"pytorch-ddp", "strategy.worker=device", "/strategy/worker"},
      {"pytorch-ddp", "strategy.compression.ratio=0.5", "/strategy/compression/ratio"},
      {"pytorch-ddp", R"(strategy.compression={"method":"top-k","rank":2})", "/strategy/compression/rank"},
      {"pytorch-ddp", R"(strategy.compression={"method":"fp16","ratio":0.5})", "/strategy/compression/ratio"},
      {"gossip-ring", "strategy.fused_loss=true", "/strategy/fused_loss"},
      {"gossip-ring", "strategy.fused_norm=true", "/strategy/fused_norm"},
      {"dlrm", "strategy.fused_rotary=true", "/strategy/fused_rotary"},
      {"gossip-ring", "strategy.attention_kernel=native", "/strategy/attention_kernel"},
      {"gossip-ring", "workload.adapter_rank=8", "/workload/adapter_rank"},
      {"gossip-ring", "workload.document_len=512", "/workload/document_len"},
      {"tensorflow-ps-sync", "strategy.offload_optimizer=true", "/strategy/offload_optimizer"},
      {"pytorch-ddp", "run.reliability.spot_interruptions_per_1000_node_days=9",
       "/run/reliability/spot_interruptions_per_1000_node_days"},
      {"pytorch-ddp", R"(run.phases=[{"steps":9,"set":["workload.samples=9"]}])", "/run/phases/0/set/0"}};
  for (const auto& [system, change, pointer] : cases)
    EXPECT_THAT(fault(fmt::format("systems/{}.json", system), {change}), HasSubstr(std::string(pointer) + ": "))
        << change;
}

TEST(InputRules, AnUnknownSourceIsOneFault) {
  EXPECT_THAT(fault("resnet50-v100-8nodes.json", {"workload.input.source=nfs"}), HasSubstr("shared, local"));
}

}  // namespace
}  // namespace stepcast::update_rules_test
