// A strategy chosen by the window: for the training as it stands, or not at all, and then it says why.
#include <QLabel>

#include "gui/view-models/qt_text.hpp"
#include "gui/views/fault_banner.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::strategy_test {
namespace {

TEST_F(WindowTest, AChosenStrategyLeavesTheTrainingAloneAndFitsIt) {
  configuration().set_value("/workload/global_batch", 1024);
  configuration().set_value("/workload/seq_len", 32768);
  Json before = configuration().document();
  configuration().choose_strategy();
  ASSERT_TRUE(configuration().is_valid()) << plain(configuration().remark());
  EXPECT_TRUE(configuration().closed_form()->memory.fits);
  Json after = configuration().document();
  EXPECT_NE(after["strategy"], before["strategy"]);
  before.erase("strategy");
  after.erase("strategy");
  EXPECT_EQ(after, before);
}

TEST_F(WindowTest, AChosenStrategyIsInTheFrameworkThatTheUserStated) {
  configuration().set_value("/strategy", {{"framework", "pytorch-fsdp"}, {"sharding", "zero3"}});
  configuration().choose_strategy();
  ASSERT_TRUE(configuration().is_valid()) << plain(configuration().remark());
  EXPECT_EQ(configuration().value("/strategy/framework"), "pytorch-fsdp");
}

// What the rules chose themselves they choose anew; what the user chose since is his.
TEST_F(WindowTest, AFrameworkOfTheRulesFollowsTheModel) {
  configuration().start_new();
  configuration().set_value("/cluster/node", "dgx-h100");
  configuration().set_value("/cluster/nodes", 64);
  configuration().set_value("/workload/model", "gpt2");
  configuration().set_strategy_follows(true);
  EXPECT_EQ(configuration().value("/strategy/framework"), "pytorch-ddp");
  configuration().set_value("/workload/model", "llama3-70b");
  EXPECT_EQ(configuration().value("/strategy/framework"), "megatron-lm") << plain(configuration().remark());
  configuration().set_value("/strategy/framework", "pytorch-fsdp");
  configuration().set_value("/cluster/nodes", 32);
  EXPECT_EQ(configuration().value("/strategy/framework"), "pytorch-fsdp") << plain(configuration().remark());
}

TEST_F(WindowTest, WhereNoStrategyFitsTheBannerSaysSoAndNothingChanges) {
  configuration().set_value("/cluster/nodes", 1);
  const Json before = configuration().document();
  configuration().choose_strategy();
  EXPECT_EQ(configuration().document(), before);
  EXPECT_TRUE(configuration().remark().contains("fits memory")) << plain(configuration().remark());
  auto* banner = window_->findChild<FaultBanner*>();
  EXPECT_FALSE(banner->isHidden());
  EXPECT_TRUE(banner->findChild<QLabel*>()->text().contains("fits memory"));
  configuration().set_value("/cluster/nodes", 64);
  EXPECT_TRUE(configuration().remark().isEmpty()) << "it was said of the change before";
}

TEST_F(WindowTest, AStrategyIsChosenForAModelOfOnesOwn) {
  open("bloom-176b-a100-384.json");
  ASSERT_TRUE(configuration().value("/workload/model").is_object());
  configuration().set_value("/strategy/tensor_parallel", 3);
  ASSERT_FALSE(configuration().is_valid());
  configuration().choose_strategy();
  ASSERT_TRUE(configuration().is_valid()) << plain(configuration().remark());
  EXPECT_TRUE(configuration().closed_form()->memory.fits);
}

TEST_F(WindowTest, AScenarioWithoutAModelIsToldThatItHasNone) {
  configuration().start_new();
  configuration().choose_strategy();
  EXPECT_TRUE(configuration().remark().contains("no model is chosen")) << plain(configuration().remark());
  EXPECT_FALSE(configuration().is_modified());
}

/// What the closed form predicts, and the simulator refuses, is said where faults are said.
TEST_F(WindowTest, ARefusalOfTheSimulatorStandsAtItsFieldAndInTheBanner) {
  ASSERT_TRUE(settle());
  configuration().refuse({{"scenario", "/run/seed", "found 3, which it cannot take", ""}});
  EXPECT_TRUE(configuration().fault_text("/run/seed").contains("cannot take"));
  auto* banner = window_->findChild<FaultBanner*>();
  EXPECT_FALSE(banner->isHidden());
  EXPECT_TRUE(banner->findChild<QLabel*>()->text().contains("The simulator refuses this"));
  configuration().set_value("/cluster/nodes", 32);
  EXPECT_TRUE(configuration().fault_text("/run/seed").isEmpty());
}

}  // namespace
}  // namespace stepcast::strategy_test
