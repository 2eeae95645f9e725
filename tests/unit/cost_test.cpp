#include "models/cost/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "models/convergence/target.hpp"
#include "models/power/facility.hpp"
#include "planner/bill.hpp"
#include "report/cluster_cost.hpp"
#include "report/predict.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

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
  EXPECT_EQ(rate->basis, "on demand, $32.77 an hour a node (2025, recalled); electricity included");
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

/// What the lines of a bill as CSV come to, but for those that are in the servers' price.
double sum_of(const std::string& csv) {
  double sum = 0;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t last = line.rfind(','), price = line.rfind(',', last - 1);
    if (line.substr(last + 1) == "no" && last > price + 1) sum += std::stod(line.substr(price + 1, last - price - 1));
  }
  return sum;
}

// A DGX A100 80 GB is priced like the one with 40 GB; the network is switches and transceivers.
TEST(BillOfMaterials, ComesToWhatItCostsToBuy) {
  const Catalog catalog({STEPCAST_SOURCE_DIR "/hardware-catalog"});
  for (const char* node : {"dgx-h100", "dgx-a100-80gb"}) {
    const Json document = {{"cluster", {{"node", node}, {"nodes", 64}}},
                           {"workload", {{"model", "llama3-8b"}, {"global_batch", 512}}},
                           {"strategy", {{"framework", "megatron-lm"}}}};
    const Scenario scenario = resolve(document, "test", {}, catalog);
    const std::vector<BillLine> bill = bill_of_materials(scenario, catalog);
    const std::optional<Dollars> price = price_to_buy(bill);
    ASSERT_TRUE(price) << node;
    EXPECT_NEAR(sum_of(bill_csv(bill)), price->in(1_usd), 1) << node;
    const FabricBill network = fabric_bill(scenario, catalog);
    EXPECT_NEAR(price->in(1_usd),
                (64 * *purchase_price(*scenario.node, catalog) + network.price.value_or(Dollars(0))).in(1_usd), 1)
        << node;
  }
}

// What is stated comes before the catalogue, a stated network is one price, and what is rented is not bought.
TEST(BillOfMaterials, IsOnTheTermsOfTheCluster) {
  const auto bill_of = [](const char* node, const Json& cost) {
    const Json document = {{"cluster", {{"node", node}, {"nodes", 8}, {"cost", cost}}},
                           {"workload", {{"model", "llama3-8b"}, {"global_batch", 512}}},
                           {"strategy", {{"framework", "megatron-lm"}}}};
    return bill_of_materials(resolve(document, "test", {}, test::catalog()), test::catalog());
  };
  const auto price = [&](const char* node, const Json& cost) { return price_to_buy(bill_of(node, cost))->in(1_usd); };
  EXPECT_DOUBLE_EQ(price("dgx-h100", {{"node_purchase_usd", 100000}, {"network_purchase_usd", 50000}}), 850000);
  EXPECT_NEAR(price("dgx-h100", {{"node_purchase_usd", 100000}}) - price("dgx-h100", {{"node_purchase_usd", 0}}),
              800000, 1);
  EXPECT_DOUBLE_EQ(price("dgx-h100", {{"node_rent_usd_per_h", 20}}), 0);
  EXPECT_DOUBLE_EQ(price("aws-p5.48xlarge", Json::object()), 0);
  EXPECT_EQ(bill_of("aws-p5.48xlarge", Json::object()).front().item, "server (rented)");
  EXPECT_DOUBLE_EQ(
      sum_of(bill_csv(bill_of("dgx-h100", {{"node_purchase_usd", 100000}, {"network_purchase_usd", 50000}}))), 850000);
}

// A leaf of 72 NICs and as many up-links is three switches of 64 ports at least: what is bought is no less.
TEST(BillOfMaterials, HasSwitchesForAllPorts) {
  const Scenario scenario = resolve({{"cluster", {{"node", "gb200-nvl72"}, {"nodes", 8}}},
                                     {"workload", {{"model", "llama3-8b"}, {"global_batch", 1152}}},
                                     {"strategy", {{"framework", "megatron-lm"}}}},
                                    "test", {}, test::catalog());
  const std::vector<BillLine> bill = bill_of_materials(scenario, test::catalog());
  const auto leaves = std::find_if(bill.begin(), bill.end(),
                                   [](const BillLine& line) { return line.item.starts_with("switch (leaf"); });
  ASSERT_NE(leaves, bill.end());
  EXPECT_EQ(leaves->item, "switch (leaf; at least, for 8 of up to 144 ports)");
  EXPECT_EQ(leaves->part, "qm9700");
  EXPECT_EQ(leaves->count, 24);
  EXPECT_NEAR(
      price_to_buy(bill)->in(1_usd),
      (8 * *purchase_price(*scenario.node, test::catalog()) + *fabric_bill(scenario, test::catalog()).price).in(1_usd),
      1);
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

const char* const kServers = "systems/tensorflow-ps-sync.json";
const char* const kActors = "systems/rl-actors-learners.json";

double dollars_an_hour(const Prediction& p) { return (*p.cost_rate * kHour).in(1_usd); }

// Eight workers at the stated price, four servers of 0.37 $/h at the catalogue's.
TEST(StatedPrice, IsOfTheClustersNodeAlone) {
  const auto rate = [](const std::vector<std::string>& terms) {
    return dollars_an_hour(predict_analytic(test::shipped(kServers, terms), test::catalog(), MemoryAdvice::none));
  };
  const char* other = "strategy.parameter_servers.node=rental-epyc-9454p-256gb";
  const double four = rate({other}) - 8 * 24.48;
  EXPECT_NEAR(four, 4 * 0.37, 0.05);
  EXPECT_NEAR(rate({other, "cluster.cost.node_rent_usd_per_h=20"}), 8 * 20 + four, 1e-6);
  // Servers of the workers' kind cost what these do.
  EXPECT_NEAR(rate({"strategy.parameter_servers.node=aws-p3.16xlarge", "cluster.cost.node_rent_usd_per_h=20"}), 12 * 20,
              1e-6);
}

TEST(StatedPrice, IsNotThatOfOtherNodes) {
  const auto basis = [](const char* price) {
    const Json document = Json::parse(R"({
      "cluster": {"node": "dgx-h100", "nodes": 2, "other_nodes": [{"node": "dgx-a100-80gb", "nodes": [1]}]},
      "workload": {"model": "llama3-8b", "global_batch": 16, "seq_len": 2048, "precision": "bf16"},
      "strategy": {"framework": "megatron-lm", "tensor_parallel": 8, "micro_batch": 1}})");
    return predict_analytic(resolve(document, "test", {price}, test::catalog()), test::catalog(), MemoryAdvice::none)
        .cost_basis;
  };
  EXPECT_THAT(basis("cluster.cost.node_purchase_usd=1000"),
              testing::AllOf(testing::HasSubstr("1 × dgx-h100 bought at $1,000 a node"),
                             testing::HasSubstr("1 × dgx-a100-80gb bought at $199,000 a node")));
  EXPECT_THAT(basis("cluster.cost.node_rent_usd_per_h=20"),
              testing::AllOf(testing::HasSubstr("1 × dgx-h100 rented at $20"),
                             testing::HasSubstr("1 × dgx-a100-80gb bought at $199,000 a node")));
}

TEST(StatedPrice, OfActorsOfAnotherKindIsTheCatalogues) {
  const Prediction p = predict_analytic(
      test::shipped(kActors, {"strategy.actors.node=dgx-a100-80gb", "cluster.cost.node_purchase_usd=1000"}),
      test::catalog(), MemoryAdvice::none);
  EXPECT_THAT(p.cost_basis, testing::HasSubstr("actors bought at $199,000 a node"));
}

TEST(PriceBasis, ThatAServersNodeLacksIsAFault) {
  EXPECT_THAT(test::refusal_of(kServers, {"cluster.cost.basis=reserved-1-year",
                                          "strategy.parameter_servers.node=rental-epyc-9454p-256gb"}),
              testing::AllOf(testing::HasSubstr("/strategy/parameter_servers/node"),
                             testing::HasSubstr("no such price of node \"rental-epyc-9454p-256gb\": reserved-1-year")));
}

// A sum that lacks a part is no cost.
TEST(ClusterCost, IsUnknownWhereAHelperHasNoPrice) {
  Scenario scenario = test::shipped(kServers);
  Node node = *scenario.server_node;
  node.id = "ours";
  node.price.reset();
  node.price_like.clear();
  scenario.server_node = &node;
  const Prediction p = predict_analytic(scenario, test::catalog(), MemoryAdvice::none);
  EXPECT_FALSE(p.cost_rate);
  EXPECT_THAT(p.assumptions, testing::Contains(testing::HasSubstr("no price of ours of the parameter servers")));
}

TEST(ClusterCost, PartsAddUpToTheForecast) {
  for (const char* file : {kServers, kActors}) {
    const Scenario scenario = test::shipped(file);
    const Prediction p = predict_analytic(scenario, test::catalog(), MemoryAdvice::none);
    const auto cost = cluster_cost(scenario, test::catalog(), helper_nodes(scenario, test::catalog(), p.updates),
                                   p.average_power, fabric_bill(scenario, test::catalog()).price);
    ASSERT_TRUE(cost) << file;
    ASSERT_EQ(cost->helpers.size(), 1U) << file;
    EXPECT_GT(cost->helpers.front().rate.total(), DollarsPerSecond(0)) << file;
    EXPECT_NEAR(cost->total() / *p.cost_rate, 1, 1e-9) << file;
    EXPECT_EQ(cost->basis(), p.cost_basis) << file;
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
