// What the window says of a whole run, with phases and interruptions, is what the prediction says.
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/studies.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/trace_exhibits.hpp"
#include "report/run_outlook.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::run_totals_test {
namespace {

class RunTotalsTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    configuration_.open(std::filesystem::path(STEPCAST_SOURCE_DIR "/scenarios") / GetParam());
    ASSERT_NE(configuration_.closed_form(), nullptr);
    ASSERT_TRUE(prediction().outlook && prediction().outlook->run);
  }
  [[nodiscard]] const Prediction& prediction() const { return *configuration_.closed_form(); }
  static std::optional<FigureCell> figure(const Exhibit& exhibit, const QString& row, bool last = false) {
    for (const auto& cells : exhibit.table.rows)
      if (cells.front().text == row) return last ? cells.back() : cells.at(1);
    return std::nullopt;
  }

  Catalog catalog_ = Catalog::standard({});
  ConfigurationModel configuration_{catalog_};
};

TEST_P(RunTotalsTest, TheCostOfTheTrainingIsTheRuns) {
  const Exhibit cost = cost_exhibit(configuration_, prediction());
  const auto together = figure(cost, "whole training", true);
  ASSERT_TRUE(together);
  EXPECT_NEAR(together->number, prediction().run_cost->value(), 1e-9 * together->number);
  for (const auto& cells : cost.table.rows) {
    double sum = 0;
    for (std::size_t i = 1; i + 1 < cells.size(); ++i) sum += cells[i].number;
    EXPECT_NEAR(sum, cells.back().number, 1e-9 * sum) << plain(cells.front().text);
  }
}

TEST_P(RunTotalsTest, EnergyAndCarbonOfTheTrainingAreTheRuns) {
  TimelineData timeline;
  timeline.end = 1'000'000'000;
  const RunOutlook& outlook = *prediction().outlook;
  const Exhibit power = power_exhibit(configuration_, prediction(), timeline);
  const auto energy = figure(power, "Energy of the training"), carbon = figure(power, "Carbon of the training"),
             grid = figure(power, "Grid carbon");
  ASSERT_TRUE(energy && carbon && grid);
  EXPECT_EQ(energy->number, outlook.run->energy.value());
  EXPECT_EQ(energy->text, shown(outlook.run->energy));
  EXPECT_EQ(carbon->number, *outlook.carbon.run_kg);
  EXPECT_EQ(grid->number, outlook.carbon.grid_g_per_kWh) << "the world's, where no site states one";
  EXPECT_FALSE(grid->tip.isEmpty());
}

TEST_P(RunTotalsTest, TheHeadlineCountsTheStepsOfThePhases) {
  double steps = 0;
  for (const PhaseOutlook& phase : prediction().outlook->phases) steps += phase.steps;
  for (const HeadlineFigure& figure : headline_figures(prediction())) {
    if (figure.caption != "Time to train") continue;
    EXPECT_TRUE(figure.below.startsWith(shown_count(steps) + " steps")) << plain(figure.below);
    EXPECT_FALSE(figure.explanation.contains("not counted")) << plain(figure.explanation);
    return;
  }
  FAIL() << "no time to train";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RunTotalsTest,
                         ::testing::Values("llama3-405b-run.json", "llama3-405b-h100-16384.json"));

}  // namespace
}  // namespace stepcast::run_totals_test
