// What the window says of a whole run, with phases and interruptions, is what the prediction says.
#include <algorithm>

#include "gui/view-models/number_format.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/run_exhibits.hpp"
#include "gui/view-models/studies.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/trace_exhibits.hpp"
#include "report/outlook_text.hpp"
#include "report/run_outlook.hpp"
#include "report/text.hpp"
#include "report/updates_text.hpp"
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

// What a sample costs may be millionths of a cent: a million of them cost something that can be read.
TEST(CostExhibit, NoPartOfACostIsShownAsNothing) {
  const Catalog catalog = Catalog::standard({});
  for (const char* scenario : {"systems/dlrm.json", "resnet50-v100-8gpus.json"}) {
    ConfigurationModel configuration(catalog);
    configuration.open(std::filesystem::path(STEPCAST_SOURCE_DIR "/scenarios") / scenario);
    const Exhibit cost = cost_exhibit(configuration, *configuration.closed_form());
    for (const auto& row : cost.table.rows)
      for (const FigureCell& cell : row)
        EXPECT_FALSE(cell.number > 0 && cell.text == "$0.0000") << scenario << ", " << plain(row.front().text);
    EXPECT_TRUE(std::any_of(cost.table.rows.begin(), cost.table.rows.end(),
                            [](const auto& row) { return row.front().text == "million samples"; }));
  }
}

TEST_P(RunTotalsTest, EnergyAndCarbonOfTheTrainingAreTheRuns) {
  TimelineData timeline;
  timeline.end = 1'000'000'000;
  const RunOutlook& outlook = *prediction().outlook;
  const Exhibit power = power_exhibit(configuration_, prediction(), &timeline);
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

// Drawn only where there is a timeline; the figures are there in any case.
TEST_P(RunTotalsTest, PowerHasItsFiguresWithoutATimeline) {
  const Exhibit power = power_exhibit(configuration_, prediction(), nullptr, "no one timeline");
  EXPECT_TRUE(power.chart.series.empty());
  EXPECT_TRUE(power.remark.endsWith("no one timeline")) << plain(power.remark);
  ASSERT_TRUE(figure(power, "Mean power") && figure(power, "Energy of the training"));
  EXPECT_EQ(figure(power, "Mean power")->number, prediction().average_power.value());
}

TEST_P(RunTotalsTest, TheRunIsThatOfTheReport) {
  const std::vector<Exhibit> exhibits = run_exhibits(prediction());
  ASSERT_FALSE(exhibits.empty());
  const std::string report = text_report(prediction());
  for (const char* row : {"Time", "Energy", "Carbon", "Goodput", "Interrupted", "Checkpoint"}) {
    const auto cell = figure(exhibits[0], row);
    ASSERT_TRUE(cell) << row;
    EXPECT_NE(report.find(plain(cell->text)), std::string::npos) << row << ": " << plain(cell->text);
  }
  const GoodputOutlook& goodput = prediction().outlook->goodput;
  for (const auto& [cause, share] : losses(goodput))
    EXPECT_EQ(figure(exhibits[0], "Lost to " + qt(cause))->number, share) << cause;
  EXPECT_EQ(exhibits[0].chart.series.size(), losses(goodput).size() + 1);
  EXPECT_TRUE(input_warning(prediction()).isEmpty());
}

TEST_P(RunTotalsTest, PhasesAreThoseOfTheRun) {
  const std::vector<PhaseOutlook>& phases = prediction().outlook->phases;
  const std::vector<Exhibit> exhibits = run_exhibits(prediction());
  const auto shown_phases =
      std::find_if(exhibits.begin(), exhibits.end(), [](const Exhibit& exhibit) { return exhibit.title == "Phases"; });
  ASSERT_EQ(shown_phases != exhibits.end(), phases.size() > 1);
  if (phases.size() < 2) return;
  ASSERT_EQ(shown_phases->table.rows.size(), phases.size());
  for (std::size_t i = 0; i < phases.size(); ++i)
    EXPECT_EQ(shown_phases->table.rows[i][1].number, phases[i].time.value()) << phases[i].name;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, RunTotalsTest,
                         ::testing::Values("llama3-405b-run.json", "llama3-405b-h100-16384.json"));

class OutlookTest : public ::testing::Test {
 protected:
  void open(const char* scenario) {
    configuration_.open(std::filesystem::path(STEPCAST_SOURCE_DIR "/scenarios") / scenario);
    ASSERT_NE(configuration_.closed_form(), nullptr);
  }
  [[nodiscard]] const Prediction& prediction() const { return *configuration_.closed_form(); }

  Catalog catalog_ = Catalog::standard({});
  ConfigurationModel configuration_{catalog_};
};

// What looks like communication is training that waits for its samples.
TEST_F(OutlookTest, TrainingThatWaitsForItsInputIsWarnedOf) {
  open("resnet50-v100-8nodes.json");
  EXPECT_TRUE(step_exhibit(prediction()).warning.isEmpty());
  configuration_.set_value("/workload/input", {{"decode_ms", 60}});
  ASSERT_TRUE(configuration_.is_valid());
  const InputOutlook& input = prediction().outlook->input;
  ASSERT_EQ(input.bound, "decode");
  const Exhibit step = step_exhibit(prediction());
  EXPECT_TRUE(step.warning.startsWith("Training waits for decode.")) << plain(step.warning);
  ASSERT_FALSE(input.advice.empty());
  EXPECT_TRUE(step.warning.contains(qt(input.advice.front()))) << plain(step.warning);
  const auto reading = std::find_if(step.table.rows.begin(), step.table.rows.end(),
                                    [](const auto& row) { return row[0].text == "of it reading input"; });
  ASSERT_NE(reading, step.table.rows.end());
  EXPECT_EQ((*reading)[1].number, prediction().communication.by_dimension.at("storage").exposed.value());
  const std::vector<Exhibit> run = run_exhibits(prediction());
  ASSERT_EQ(run.size(), 2U);
  EXPECT_EQ(run[1].title, "Input");
  EXPECT_EQ(run[1].warning, step.warning);
  EXPECT_EQ(run[1].table.rows.size(), input.limits.size() + 1) << "every stage, and training";
}

TEST_F(OutlookTest, UpdatesHaveTheFiguresOfTheReport) {
  for (const char* scenario : {"systems/federated.json", "systems/tensorflow-ps-async.json",
                               "systems/rl-actors-learners.json", "systems/gossip-ring.json"}) {
    open(scenario);
    ASSERT_TRUE(prediction().updates) << scenario;
    const UpdateOutcome& updates = *prediction().updates;
    const Exhibit shown = run_exhibits(prediction()).back();
    EXPECT_EQ(shown.title, "Updates: " + qt(updates.mode));
    const auto figures = update_figures(updates);
    ASSERT_GE(shown.table.rows.size(), figures.size()) << scenario;
    const std::string report = text_report(prediction());
    for (std::size_t i = 0; i < figures.size(); ++i) {
      EXPECT_EQ(plain(shown.table.rows[i][1].text), figures[i].second) << figures[i].first;
      EXPECT_NE(report.find(figures[i].second), std::string::npos) << figures[i].first;
    }
    EXPECT_EQ(shown.chart.series.empty(), !updates.staleness) << scenario;
    if (updates.staleness) {
      EXPECT_EQ(shown.chart.series[0].values.size(), staleness_classes(*updates.staleness).size()) << scenario;
    }
  }
}

}  // namespace
}  // namespace stepcast::run_totals_test
