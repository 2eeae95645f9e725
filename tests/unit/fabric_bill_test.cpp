#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/cost/cost.hpp"
#include "models/fabric/switch_estimate.hpp"
#include "models/power/facility.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::fabric_bill_test {
namespace {

using test::catalog;
using test::shipped;
using testing::Contains;
using testing::IsEmpty;

// 512 ports are those of eight switches of 64: what they draw and cost is no less.
TEST(FabricBill, ASwitchLargerThanAnyIsSeveral) {
  const auto bill = [](const char* nodes) {
    return fabric_bill(shipped("llama3-70b-h100-512.json", {nodes, R"(cluster.fabric={"preset":"single-switch"})"}),
                       catalog());
  };
  const FabricBill larger = bill("cluster.nodes=64"), fits = bill("cluster.nodes=8");
  EXPECT_THAT(larger.assumed, Contains("1 leaf switch of up to 512 ports of 400 Gb/s taken for at least 8 qm9700 of 64 "
                                       "ports, without cables between them"));
  EXPECT_THAT(larger.unknown, IsEmpty());
  EXPECT_THAT(fits.assumed, IsEmpty());
  EXPECT_EQ(*larger.price, 8 * *fits.price);
  EXPECT_EQ(*larger.power, 8 * *fits.power);
}

// A switch without a price or power is not free, nor are the transceivers beside it.
TEST(FabricBill, EstimatesSwitchesWithoutAPrice) {
  const auto bill = [](const char* rate) {
    return fabric_bill(shipped("qwen3-next-h100-128.json", {rate}), catalog());
  };
  const FabricBill known = bill("cluster.fabric.nic_bandwidth_Gbps=400");
  const FabricBill estimated = bill("cluster.fabric.nic_bandwidth_Gbps=800");
  EXPECT_THAT(known.estimated, IsEmpty());
  EXPECT_THAT(estimated.unknown, IsEmpty());
  EXPECT_THAT(estimated.estimated, Contains(testing::HasSubstr("price of q3400, ")));
  const SwitchPart& part = *catalog().find<SwitchPart>("q3400");
  EXPECT_GT(*estimated.price, *estimated_price(part, catalog()));
  EXPECT_GT(*estimated.power, *estimated_power(part, catalog()));
}

// Three prices: 12,000 $ of 36 ports at 100 Gb/s, 19,500 of 40 at 200, 40,000 of 64 at 400. Least squares by hand: a
// port costs 340.7 $ · (rate over 100 Gb/s)^0.4534, so one of 800 Gb/s 875 $.
TEST(FabricBill, PricesAPortByItsRate) {
  EXPECT_NEAR(estimated_price(*catalog().find<SwitchPart>("q3400"), catalog())->value() / 144, 874.8, 0.1);
  EXPECT_NEAR(estimated_price(*catalog().find<SwitchPart>("sn2201"), catalog())->value() / 48, 42.22, 0.01);
  EXPECT_FALSE(estimated_price(*catalog().find<SwitchPart>("palomar-ocs"), catalog()));
}

// One node has no fabric to draw, and a million have too much of it: what is stated is paid all the same.
TEST(FabricBill, HasTheStatedPriceWhateverIsKnownOfTheNetwork) {
  for (const char* nodes : {"cluster.nodes=1", "cluster.nodes=8", "cluster.nodes=262144"}) {
    const Scenario s = shipped("resnet50-v100-8nodes.json",
                               {nodes, "cluster.cost.network_purchase_usd=5000", "workload.global_batch=67108864"});
    const FabricBill bill = fabric_bill(s, catalog());
    ASSERT_TRUE(bill.price) << nodes;
    EXPECT_EQ(*bill.price, 5000.0_usd) << nodes;
  }
}

// 8 workers and 64 servers of one kind are 72 nodes to the network.
TEST(FabricBill, HasPortsForNodesThatHelp) {
  const auto bill = [](const char* scenario, const std::vector<std::string>& terms) {
    return fabric_bill(shipped(scenario, terms), catalog());
  };
  const char* servers = "systems/tensorflow-ps-sync.json";
  const FabricBill beside = bill(servers, {"cluster.node=dgx-1-v100-16gb", "strategy.parameter_servers.count=64",
                                           "strategy.parameter_servers.node=dgx-1-v100-16gb"});
  const FabricBill all = bill("resnet50-v100-8nodes.json",
                              {"cluster.node=dgx-1-v100-16gb", "cluster.nodes=72", "workload.global_batch=18432"});
  ASSERT_TRUE(beside.price && all.price);
  EXPECT_EQ(*beside.price, *all.price);
  EXPECT_EQ(*beside.power, *all.power);
  EXPECT_THAT(beside.assumed, IsEmpty());
  const char* actors = "systems/rl-actors-learners.json";
  EXPECT_GT(*bill(actors, {"strategy.actors.nodes=600"}).price, 10 * *bill(actors, {}).price);
}

// Rent pays for the landlord's network, and a NIC of 1 Gb/s does not fill a port of 400.
TEST(FabricBill, OfRentedHelpersIsTheLandlords) {
  const auto price = [](const std::vector<std::string>& terms) {
    return *fabric_bill(shipped("systems/rl-actors-learners.json", terms), catalog()).price;
  };
  const Dollars own = price({}), rented = price({"strategy.actors.node=aws-p5.48xlarge"});
  EXPECT_LT(rented, own);
  const std::string slow = R"(strategy.actors={"nodes":6000,"samples_per_s":0.5,"node":"rental-i7-8700-64gb"})";
  EXPECT_EQ(price({slow}), rented);
  const FabricBill power = fabric_bill(shipped("systems/rl-actors-learners.json", {slow}), catalog());
  EXPECT_LT(*power.power, 20_kW);
}

TEST(FabricBill, SaysWhatPortsOfOtherNicsAreTakenFor) {
  const FabricBill bill =
      fabric_bill(shipped("systems/tensorflow-ps-sync.json",
                          {"cluster.node=dgx-1-v100-16gb", "strategy.parameter_servers.node=rental-epyc-9454p-256gb"}),
                  catalog());
  EXPECT_THAT(bill.assumed, Contains(testing::HasSubstr("of the parameter servers take or share ports of 100 Gb/s")));
  EXPECT_THAT(bill.unknown, testing::Not(Contains(testing::HasSubstr("ports for"))));
}

}  // namespace
}  // namespace stepcast::fabric_bill_test
