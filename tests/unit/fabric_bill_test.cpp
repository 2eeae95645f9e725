#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/cost/cost.hpp"
#include "models/power/facility.hpp"
#include "tests/shipped_catalog.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::fabric_bill_test {
namespace {

using test::catalog;
using test::shipped;
using testing::Contains;
using testing::IsEmpty;

TEST(FabricBill, NamesASwitchThatIsLargerThanAny) {
  const auto unknown = [](const char* nodes) {
    return fabric_bill(shipped("llama3-70b-h100-512.json", {nodes, R"(cluster.fabric={"preset":"single-switch"})"}),
                       catalog())
        .unknown;
  };
  EXPECT_THAT(unknown("cluster.nodes=64"),
              Contains("a leaf switch of 512 ports of 400 Gb/s, for which a qm9700 of 64 stands"));
  EXPECT_THAT(unknown("cluster.nodes=8"), IsEmpty());
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

}  // namespace
}  // namespace stepcast::fabric_bill_test
