#include "models/cost/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/convergence/target.hpp"

namespace stepcast::cost_test {
namespace {

constexpr Seconds kHour = 1_h;

struct Priced {
  Node node;
  Site site;
  Scenario scenario;
  Catalog catalog{{STEPCAST_SOURCE_DIR "/hardware-catalog"}};
  Priced() {
    node.id = "ours";
    node.accelerator_count = 4;
    node.price.emplace();
    node.price->date = "2025";
    node.provenance.evidence["all"] = Evidence::recalled;
    scenario.node = &node;
    scenario.spec.cluster.nodes = 4;
  }
  NodePrice& price() { return *node.price; }
};

TEST(CostRate, OnDemandIncludesElectricity) {
  Priced priced;
  priced.price().on_demand = 32.77_usd / 1_h;
  const auto rate = cost_rate(priced.scenario, priced.catalog, 10_kW);
  ASSERT_TRUE(rate);
  EXPECT_NEAR((rate->total() * kHour).value(), 4 * 32.77, 1e-9);
  EXPECT_EQ(rate->electricity.value(), 0);
  EXPECT_EQ(rate->basis, "on demand, 32.77 $/h a node (2025, recalled); electricity included");
}

TEST(CostRate, RentedByTheMonthIncludesElectricity) {
  Priced priced;
  priced.price().monthly = 40.0_usd / (30.4375 * 1_days);
  const auto rate = cost_rate(priced.scenario, priced.catalog, 1_kW);
  ASSERT_TRUE(rate);
  EXPECT_NEAR((rate->total() * (30.4375 * 1_days)).value(), 160, 1e-9);
}

TEST(CostRate, BoughtServersPayTheirPowerBill) {
  Priced priced;
  priced.price().purchase = 175320.0_usd;
  priced.site.electricity = 0.1_usd / 1_kWh;
  priced.scenario.site = &priced.site;
  const auto rate = cost_rate(priced.scenario, priced.catalog, 20_kW);
  ASSERT_TRUE(rate);
  // 175 320 $ over 4·365.25·24 = 35 064 h is 5 $/h a node; 20 kWh an hour at 0.1 $.
  EXPECT_NEAR((rate->servers * kHour).value(), 20, 1e-9);
  EXPECT_NEAR((rate->electricity * kHour).value(), 2, 1e-9);
}

TEST(CostRate, IsUnknownWithoutAPrice) {
  Priced priced;
  EXPECT_FALSE(cost_rate(priced.scenario, priced.catalog, 1_kW));
  priced.node.price.reset();
  EXPECT_FALSE(cost_rate(priced.scenario, priced.catalog, 1_kW));
}

TEST(CostRate, CapacityBlocksCountWhereNothingIsSoldOnDemand) {
  Priced priced;
  priced.price().capacity_block = 10.0_usd / 1_h;
  EXPECT_NEAR((cost_rate(priced.scenario, priced.catalog, 1_kW)->total() * kHour).value(), 40, 1e-9);
  priced.price().on_demand = 12.0_usd / 1_h;
  EXPECT_NEAR((cost_rate(priced.scenario, priced.catalog, 1_kW)->total() * kHour).value(), 48, 1e-9);
}

TEST(CostRate, TakesAnotherNodesPricePerAcceleratorAndSaysSo) {
  Priced priced;
  priced.node.price.reset();
  priced.node.price_like = "aws-p3.16xlarge";
  const auto rate = cost_rate(priced.scenario, priced.catalog, 1_kW);
  ASSERT_TRUE(rate);
  const Node& like = *priced.catalog.find<Node>("aws-p3.16xlarge");
  EXPECT_NEAR(rate->total().value(), 4 * (4.0 / 8) * like.price->on_demand->value(), 1e-12);
  EXPECT_THAT(rate->basis, testing::HasSubstr("aws-p3.16xlarge's price, taken per accelerator as ours has none"));
}

// Whoever sizes a cluster needs a figure for whatever it is made of.
TEST(CostRate, EveryShippedNodeHasOne) {
  const Catalog catalog({STEPCAST_SOURCE_DIR "/hardware-catalog"});
  for (const std::string& id : catalog.ids("nodes")) {
    Scenario scenario;
    scenario.node = catalog.find<Node>(id);
    scenario.spec.cluster.nodes = 1;
    const auto rate = cost_rate(scenario, catalog, 1_kW);
    ASSERT_TRUE(rate) << id;
    EXPECT_GT(rate->total(), DollarsPerSecond(0)) << id;
  }
}

struct Work {
  Scenario scenario;
  Work() {
    auto model = std::make_shared<Model>();
    model->dataset_samples = 1'281'167;  // ImageNet-1k
    scenario.model = model;
    scenario.spec.workload.global_batch = 1536;
    scenario.seq_len = 2048;
  }
};

TEST(StepsToTrain, TokensDivideByTheTokensOfAStep) {
  Work work;
  work.scenario.spec.workload.tokens = 300e9;
  // 300e9 / (1536·2048) = 95 367.4…, and the last step is a whole one.
  EXPECT_EQ(*steps_to_train(work.scenario), 95368);
}

TEST(StepsToTrain, EpochsGoOverTheDataSet) {
  Work work;
  work.scenario.spec.workload.global_batch = 256;
  work.scenario.spec.workload.epochs = 90;
  EXPECT_EQ(*steps_to_train(work.scenario), 450411);  // 90·1 281 167/256 = 450 410.3
}

TEST(StepsToTrain, IsUnknownWhenNoWorkIsStated) {
  Work work;
  EXPECT_FALSE(steps_to_train(work.scenario));
  work.scenario.spec.workload.samples = 1536;
  EXPECT_EQ(*steps_to_train(work.scenario), 1);
}

}  // namespace
}  // namespace stepcast::cost_test
