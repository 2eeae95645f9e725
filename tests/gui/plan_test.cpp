// The planner in the window: its answers are the library's, and what is looked at can be chosen by dragging.
#include <QChart>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTest>

#include "gui/view-models/plan_form.hpp"
#include "gui/view-models/plan_model.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/chart_pane.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/plan_tab.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/status_line.hpp"
#include "models/scenario/scenario.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::plan_test {
namespace {

class PlanTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    window_->tabs().open("plan");
    tab_ = window_->findChild<PlanTab*>();
    model_ = window_->findChild<PlanModel*>();
    answers_ = tab_->findChild<ExhibitView*>("answers");
    ASSERT_TRUE(settle());
  }
  void plan(const QString& counts) {
    model_->start(
        plan_question({"dgx-h100, azure-nd96amsr-a100-v4", counts, "time", "cost", "", "", "", ""}, configuration()));
    ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }));
    ASSERT_NE(model_->answer(), nullptr) << plain(model_->why());
  }
  /// Where a value of the scatter is on its pane.
  QPoint place_of(const QPointF& value) const {
    auto* pane = answers_->findChild<ChartPane*>();
    QChart* chart = pane->chart();
    return pane->mapFromScene(chart->mapToScene(chart->mapToPosition(value, chart->series().front())));
  }
  void drag(const QPoint& from, const QPoint& to) {
    QWidget* target = answers_->findChild<ChartPane*>()->viewport();
    QTest::mousePress(target, Qt::LeftButton, {}, from);
    QTest::mouseMove(target, (from + to) / 2);
    QTest::mouseMove(target, to);
    QTest::mouseRelease(target, Qt::LeftButton, {}, to);
  }
  QPushButton* button(const QString& text) const {
    for (QPushButton* each : tab_->findChildren<QPushButton*>())
      if (each->text().remove('&').startsWith(text)) return each;
    return nullptr;
  }
  /// What is on screen is an option, other than in its name.
  bool on_screen(const Json& option) const {
    Json shown = to_json(*workspace_->configuration().scenario()), found = option;
    for (Json* each : {&shown, &found})
      for (const char* key : {"name", "description", "$schema"}) each->erase(key);
    return shown == found;
  }
  int rows() const { return answers_->findChild<QTableView*>()->model()->rowCount(); }

  PlanTab* tab_ = nullptr;
  PlanModel* model_ = nullptr;
  ExhibitView* answers_ = nullptr;
};

TEST_F(PlanTest, AnswersAreTheLibrarysAndTheRejectedAreCounted) {
  plan("32,64");
  PlanOptions options;
  options.top = 12;
  const PlanAnswer library =
      stepcast::plan(read_plan_question(model_->question(), "plan", {}, configuration().catalog()),
                     configuration().catalog(), options);
  ASSERT_EQ(model_->answer()->candidates.size(), library.candidates.size());
  EXPECT_EQ(model_->answer()->candidates.front().scenario, library.candidates.front().scenario);
  const Exhibit rejected = tab_->findChild<ExhibitView*>("rejected")->exhibit();
  ASSERT_FALSE(rejected.chart.series.empty());
  long counted = 0;
  for (const auto& row : rejected.table.rows) counted += static_cast<long>(row[0].number);
  EXPECT_EQ(counted, library.tally.evaluated) << "every option is an answer or rejected for one reason";
}

TEST_F(PlanTest, AnswersForAnEarlierTrainingAreCalledSo) {
  plan("32,64");
  const auto remark = [&] { return answers_->exhibit().remark; };
  EXPECT_FALSE(remark().contains("earlier")) << plain(remark());
  configuration().set_value("/cluster/nodes", 128);
  EXPECT_FALSE(model_->is_outdated()) << "it is what the planner chooses";
  model_->open(0);
  EXPECT_FALSE(model_->is_outdated()) << "an answer of its own";
  configuration().set_value("/workload/seq_len", 4096);
  EXPECT_TRUE(remark().contains("earlier training")) << plain(remark());
  configuration().undo();
  EXPECT_FALSE(remark().contains("earlier")) << plain(remark());
}

TEST_F(PlanTest, AxesAreChosenAndShowTheSameOptions) {
  plan("32,64");
  const std::vector<PlanOption> options = options_of(*model_->answer());
  const PlanScale scale = scale_of(model_->question().at("workload"));
  auto* axes = tab_->findChild<QComboBox*>();
  for (QComboBox* each : tab_->findChildren<QComboBox*>())
    if (each->accessibleName().startsWith("Axes")) axes = each;
  for (int i = 0; i < 3; ++i) {
    axes->setCurrentIndex(i);
    const Exhibit& shown = model_->answers_exhibit();
    const PlanAxes& pair = plan_axes()[static_cast<std::size_t>(i)];
    EXPECT_EQ(shown.chart.x_title, scale.title(pair.x));
    EXPECT_EQ(shown.chart.y_title, scale.title(pair.y));
    ASSERT_EQ(shown.table.rows.size(), options.size());
    std::size_t points = 0;
    for (std::size_t s = 0; s < shown.chart.series.size(); ++s)
      for (std::size_t p = 0; p < shown.chart.series[s].points.size(); ++p, ++points) {
        const auto option = model_->option_at_point(static_cast<int>(s), static_cast<int>(p));
        ASSERT_TRUE(option);
        EXPECT_DOUBLE_EQ(shown.chart.series[s].points[p].x(), scale.shown(pair.x, *options[*option].objective));
        EXPECT_DOUBLE_EQ(shown.chart.series[s].points[p].y(), scale.shown(pair.y, *options[*option].objective));
      }
    EXPECT_EQ(points, options.size());
  }
}

TEST_F(PlanTest, DraggingKeepsWhatIsInside) {
  plan("16,32,64");
  QTest::qWait(50);  // the chart lays itself out
  const std::vector<PlanOption> options = options_of(*model_->answer());
  const PlanScale scale = scale_of(model_->question().at("workload"));
  // The half with the quicker options.
  double least = INFINITY, most = 0, low = INFINITY, high = 0;
  for (const PlanOption& option : options) {
    const double x = scale.shown(Objective::time, *option.objective),
                 y = scale.shown(Objective::cost, *option.objective);
    least = std::min(least, x);
    most = std::max(most, x);
    low = std::min(low, y);
    high = std::max(high, y);
  }
  ASSERT_LT(least, most);
  const double middle = (least + most) / 2;
  std::size_t inside = 0;
  for (const PlanOption& option : options)
    if (scale.shown(Objective::time, *option.objective) < middle) ++inside;
  ASSERT_GT(inside, 0U);
  ASSERT_LT(inside, options.size());
  EXPECT_EQ(rows(), static_cast<int>(options.size()));
  const Json before = configuration().document();
  drag(place_of({least, low}) + QPoint(-8, 8), QPoint(place_of({middle, low}).x(), place_of({least, high}).y() - 8));
  EXPECT_TRUE(model_->is_filtered());
  EXPECT_EQ(rows(), static_cast<int>(inside));
  EXPECT_EQ(configuration().document(), before) << "a drag opens nothing";
  ASSERT_NE(button("Show all"), nullptr);
  button("Show all")->click();
  EXPECT_EQ(rows(), static_cast<int>(options.size()));
}

TEST_F(PlanTest, TheSameByKeyboard) {
  plan("32,64");
  auto* table = answers_->findChild<QTableView*>();
  table->selectRow(1);
  const int number = table->model()->index(1, 0).data().toInt();
  button("Keep")->click();
  ASSERT_EQ(rows(), 1);
  EXPECT_EQ(table->model()->index(0, 0).data().toInt(), number);
  Q_EMIT table->activated(table->model()->index(0, 0));
  const Json& option = *options_of(*model_->answer())[static_cast<std::size_t>(number - 1)].scenario;
  EXPECT_TRUE(on_screen(option)) << configuration().document() << " is not " << option;
}

TEST_F(PlanTest, AClickOnAPointPutsItOnScreen) {
  plan("32,64");
  // Of another training by now: the chart is drawn anew for what the click opens.
  configuration().set_value("/workload/seq_len", 4096);
  ASSERT_TRUE(model_->is_outdated());
  QTest::qWait(50);
  const auto& series = model_->answers_exhibit().chart.series;
  const int last = static_cast<int>(series.size()) - 1;
  const QPoint at = place_of(series.back().points.front());
  QTest::mouseClick(answers_->findChild<ChartPane*>()->viewport(), Qt::LeftButton, {}, at);
  QApplication::processEvents();
  EXPECT_FALSE(model_->is_outdated());
  const auto option = model_->option_at_point(last, 0);
  ASSERT_TRUE(option);
  // Points may lie upon each other: the one on screen is one of the answer's in any case.
  bool found = false;
  for (const PlanOption& each : options_of(*model_->answer())) found = found || on_screen(*each.scenario);
  EXPECT_TRUE(found);
}

TEST_F(PlanTest, ProgressIsCountedAndStopIsQuick) {
  double most = 0;
  QObject::connect(model_, &PlanModel::progressed, model_, [&] { most = std::max(most, model_->progress().share()); });
  model_->start(plan_question({"dgx-h100", "64,128,256,512", "time", "cost", "", "", "", ""}, configuration()));
  ASSERT_TRUE(wait_until([&] { return most > 0 || !model_->is_running(); }));
  ASSERT_TRUE(model_->is_running());
  EXPECT_GT(model_->progress().all, 0);
  EXPECT_TRUE(window_->status_line().isVisible());
  QElapsedTimer timer;
  timer.start();
  model_->stop();
  ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }, 200 * kHangFactor));
  RecordProperty("stop_ms", std::to_string(timer.elapsed()));
}

TEST_F(PlanTest, AQuestionRestsOnTheWholeForm) {
  configuration().set_value("/cluster/fabric/oversubscription", 4);
  configuration().set_value("/cluster/power_cap_W", 500);
  configuration().set_value("/cluster/cooling", "air-contained-economised");
  configuration().set_value("/cluster/local_raid", 0);
  configuration().set_value("/run/seed", 7);
  const PlanForm form{"dgx-h100", "32", "time", "", "", "", "", ""};
  const Json question = plan_question(form, configuration());
  const Json& cluster = question["clusters"][0];
  EXPECT_EQ(cluster["fabric"], configuration().value("/cluster/fabric"));
  EXPECT_EQ(cluster["power_cap_W"], 500);
  EXPECT_EQ(cluster["cooling"], "air-contained-economised");
  EXPECT_EQ(question["strategy"]["framework"], configuration().value("/strategy/framework"));
  EXPECT_EQ(question["run"], configuration().value("/run"));
  EXPECT_TRUE(left_out_of_plans(configuration().document()).contains("local raid"));
  EXPECT_NO_THROW((void)read_plan_question(question, "plan", {}, configuration().catalog()));
  PlanForm any = form;
  any.any_framework = true;
  EXPECT_FALSE(plan_question(any, configuration()).value("strategy", Json::object()).contains("framework"));
}

TEST_F(PlanTest, AnAnswerOnScreenChangesServersAndStrategyAlone) {
  configuration().set_value("/cluster/power_cap_W", 600);
  configuration().set_value("/run/seed", 7);
  model_->start(plan_question({"dgx-h100", "32", "time", "", "", "", "", ""}, configuration()));
  ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }));
  ASSERT_NE(model_->answer(), nullptr) << plain(model_->why());
  ASSERT_FALSE(model_->answer()->candidates.empty());
  Json before = configuration().document();
  model_->open(0);
  Json after = configuration().document();
  EXPECT_EQ(after["cluster"]["nodes"], 32);
  const PlanCandidate& best = model_->answer()->candidates.front();
  EXPECT_EQ(after["strategy"]["tensor_parallel"], best.scenario["strategy"]["tensor_parallel"]);
  ASSERT_TRUE(configuration().is_valid());
  EXPECT_NEAR(configuration().closed_form()->step_time.value(), best.closed_form.value(),
              1e-9 * best.closed_form.value())
      << "what is on screen is what was found";
  for (Json* document : {&before, &after}) {
    document->erase("strategy");
    document->at("cluster").erase("nodes");
  }
  EXPECT_EQ(after, before);
}

TEST_F(PlanTest, WhatIsFoundSoFarCountsAsTheAnswerDoes) {
  QString while_running;
  QObject::connect(model_, &PlanModel::shown, model_, [&] {
    if (model_->is_running() && while_running.isEmpty()) while_running = model_->answers_exhibit().chart.x_title;
  });
  plan("32,64");
  EXPECT_EQ(while_running, model_->answers_exhibit().chart.x_title);
  EXPECT_TRUE(while_running.contains("a billion tokens")) << plain(while_running);
}

TEST_F(PlanTest, TheFormStartsFromTheScenariosServersAndSaysFaultsAtTheirFields) {
  QLineEdit* counts = nullptr;
  for (QLineEdit* line : tab_->findChildren<QLineEdit*>())
    if (line->accessibleName() == "How many") counts = line;
  ASSERT_NE(counts, nullptr);
  EXPECT_TRUE(counts->text().split(", ").contains(QString::number(configuration().value("/cluster/nodes").get<int>())))
      << plain(counts->text());
  counts->setText("many");
  button("Plan")->click();
  bool said = false;
  for (const QLabel* label : tab_->findChildren<QLabel*>())
    said = said || (label->objectName() == "fault" && !label->isHidden() && label->text().contains("many"));
  EXPECT_TRUE(said);
  EXPECT_FALSE(model_->is_running());
}

// A file's question is asked as it stands, whatever its form can say of it; a changed line asks the form's.
TEST_F(PlanTest, AQuestionOfAFileIsAskedAsItStands) {
  const std::filesystem::path file =
      std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios/plan-turing-530b-5128.json";
  ASSERT_TRUE(window_->open(file));
  EXPECT_EQ(window_->tabs().current_name(), "plan");
  Diagnostics faults(file.string());
  const Json question = read_json(file, faults);
  ASSERT_TRUE(faults.ok());
  EXPECT_EQ(configuration().document().at("workload").at("model"), question.at("workload").at("model"));
  EXPECT_TRUE(configuration().file().empty()) << "saving would overwrite the question";
  QTest::mouseClick(button("Plan"), Qt::LeftButton);
  ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }));
  EXPECT_EQ(model_->question(), question);
  ASSERT_NE(model_->answer(), nullptr) << plain(model_->why());
  model_->open(0);
  EXPECT_TRUE(on_screen(*options_of(*model_->answer()).front().scenario));
  QLineEdit* counts = tab_->findChildren<QLineEdit*>().at(1);
  counts->clear();
  QTest::keyClicks(counts, "630");
  QTest::mouseClick(button("Plan"), Qt::LeftButton);
  EXPECT_NE(model_->question(), question);
  model_->stop();
  ASSERT_TRUE(wait_until([&] { return !model_->is_running(); }));
}

TEST_F(PlanTest, NumbersOfServersAreWrittenAsInSweeps) {
  const auto counts = [&](const QString& text) {
    return plan_question({"dgx-h100", text, "time", "cost", "", "", "", ""}, configuration())
        .at("clusters")[0]["nodes"];
  };
  EXPECT_EQ(counts("8, 16..64*2"), (Json{8, 16, 32, 64}));
  EXPECT_EQ(counts("2..4"), (Json{2, 3, 4}));
  for (const char* text : {"8..4", "1.5", "1..2000", " "}) EXPECT_THROW(counts(text), InputError) << text;
}

TEST_F(PlanTest, FaultsOfTheFormAreSaidTogether) {
  try {
    plan_question({"", "many", "time", "", "soon", "", "", ""}, configuration());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.faults().size(), 3U) << error.what();
  }
}

}  // namespace
}  // namespace stepcast::plan_test
