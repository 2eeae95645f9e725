// The real window, offscreen: what a user changes and what he sees.

#include <QComboBox>
#include <QLineEdit>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>
#include <set>

#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/server_catalogue.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/field_editor.hpp"
#include "gui/views/headline_view.hpp"
#include "gui/views/result_tabs.hpp"
#include "models/scenario/scenario.hpp"
#include "report/json.hpp"
#include "report/predict.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::window_test {
namespace {

/// Types into a field as a user does.
void type_into(MainWindow& window, const std::string& pointer, const QString& text) {
  FieldEditor* field = window.configure().editor(pointer);
  ASSERT_NE(field, nullptr) << pointer;
  auto* combo = qobject_cast<QComboBox*>(field->editor());
  QLineEdit* line = combo ? combo->lineEdit() : qobject_cast<QLineEdit*>(field->editor());
  ASSERT_NE(line, nullptr) << pointer;
  line->setFocus();
  line->selectAll();
  QTest::keyClicks(line, text);
  QTest::keyClick(line, Qt::Key_Return);
}

QString headline_of(const Prediction& prediction, const QString& caption) {
  for (const HeadlineFigure& figure : headline_figures(prediction))
    if (figure.caption == caption) return figure.value;
  return {};
}

TEST_F(WindowTest, AnotherServerGivesTheLibrarysNumbers) {
  const QString before = window_->headline().value("Tokens/s");
  type_into(*window_, "/cluster/node", "dgx-a100-80gb");
  const Catalog catalog = Catalog::standard({});
  Json document = configuration().document();
  ASSERT_EQ(document["cluster"]["node"], "dgx-a100-80gb");
  const Prediction library = predict_analytic(resolve(document, "test", {}, catalog), catalog, MemoryAdvice::none);
  EXPECT_EQ(window_->headline().value("Tokens/s"), headline_of(library, "Tokens/s"));
  EXPECT_EQ(window_->headline().value("Step time"), headline_of(library, "Step time"));
  EXPECT_EQ(window_->headline().value("Device memory"), headline_of(library, "Device memory"));
  EXPECT_NE(window_->headline().value("Tokens/s"), before);
}

TEST_F(WindowTest, ClosedFormAnswersWithinAFrame) {
  double longest = 0;
  for (const int nodes : {16, 32, 128, 64}) {
    configuration().set_value("/cluster/nodes", nodes);
    longest = std::max(longest, configuration().last_milliseconds());
  }
  RecordProperty("longest_ms", std::to_string(longest));
  EXPECT_LT(longest, 16.0 * kHangFactor);
}

TEST_F(WindowTest, SimulationReplacesTheClosedForm) {
  const double closed = configuration().closed_form()->step_time.value();
  ASSERT_TRUE(settle());
  ASSERT_EQ(forecast().state(), ForecastModel::State::simulated) << plain(forecast().status());
  EXPECT_EQ(forecast().shown()->fidelity, "simulated");
  EXPECT_NEAR(forecast().shown()->step_time.value(), closed, 0.2 * closed);
  EXPECT_EQ(window_->headline().value("Step time"), headline_of(*forecast().shown(), "Step time"));
}

TEST_F(WindowTest, InvalidInputIsShownAndNothingRuns) {
  ASSERT_TRUE(settle());
  type_into(*window_, "/strategy/pipeline_parallel", "3");
  EXPECT_FALSE(configuration().is_valid());
  EXPECT_FALSE(window_->configure().editor("/strategy/pipeline_parallel")->fault().isEmpty());
  EXPECT_EQ(window_->headline().value("Step time"), QStringLiteral("—"));
  QTest::qWait(500);
  EXPECT_FALSE(forecast().is_busy());
  EXPECT_EQ(forecast().worker().process_id(), 0);
  type_into(*window_, "/strategy/pipeline_parallel", "4");
  EXPECT_TRUE(configuration().is_valid());
  EXPECT_TRUE(window_->configure().editor("/strategy/pipeline_parallel")->fault().isEmpty());
}

TEST_F(WindowTest, WhatIsNoNumberIsRefusedInWords) {
  type_into(*window_, "/workload/global_batch", "many");
  EXPECT_FALSE(configuration().is_valid());
  EXPECT_TRUE(window_->configure().editor("/workload/global_batch")->fault().contains("expected a whole number"))
      << plain(window_->configure().editor("/workload/global_batch")->fault());
  type_into(*window_, "/cluster/node", "dgx-h1000");
  EXPECT_TRUE(window_->configure().editor("/cluster/node")->fault().contains("did you mean"));
}

TEST_F(WindowTest, OnlyLegalDegreesAreOffered) {
  const FormField* field = form_field("/strategy/pipeline_parallel");
  ASSERT_NE(field, nullptr);
  const auto legal = configuration().legal_values(*field);
  ASSERT_FALSE(legal.empty());
  for (const auto& value : legal) {
    Json document = configuration().document();
    document["strategy"]["pipeline_parallel"] = value.value;
    EXPECT_NO_THROW(resolve(document, "test", {}, configuration().catalog())) << plain(value.text);
  }
}

TEST_F(WindowTest, CancelStopsTheWorker) {
  open("gpt3-175b-a100-1024.json");
  ASSERT_TRUE(wait_until([&] { return forecast().worker().process_id() > 0; }));
  const auto worker = static_cast<pid_t>(forecast().worker().process_id());
  QElapsedTimer timer;
  timer.start();
  forecast().cancel();
  EXPECT_EQ(forecast().state(), ForecastModel::State::cancelled);
  ASSERT_TRUE(wait_until([&] { return ::kill(worker, 0) != 0; }, 200 * kHangFactor)) << "the worker still runs";
  RecordProperty("cancel_ms", std::to_string(timer.elapsed()));
  EXPECT_NE(forecast().shown(), nullptr) << "the closed form stays";
}

TEST_F(WindowTest, CrashOfTheWorkerIsSurvivedAndSaid) {
  open("gpt3-175b-a100-1024.json");
  ASSERT_TRUE(wait_until([&] { return forecast().worker().process_id() > 0; }));
  ::kill(static_cast<pid_t>(forecast().worker().process_id()), SIGSEGV);
  ASSERT_TRUE(wait_until([&] { return !forecast().is_busy(); }));
  EXPECT_EQ(forecast().state(), ForecastModel::State::failed);
  EXPECT_TRUE(forecast().status().contains("crashed")) << plain(forecast().status());
  EXPECT_NE(forecast().shown(), nullptr);
  forecast().simulate();
  ASSERT_TRUE(settle());
  EXPECT_EQ(forecast().state(), ForecastModel::State::simulated);
}

TEST_F(WindowTest, UndoAndRedoGoThroughEveryState) {
  const Json start = configuration().document();
  configuration().set_value("/cluster/nodes", 32);
  configuration().set_value("/workload/global_batch", 512);
  const Json changed = configuration().document();
  configuration().undo();
  configuration().undo();
  EXPECT_EQ(configuration().document(), start);
  configuration().redo();
  configuration().redo();
  EXPECT_EQ(configuration().document(), changed);
}

TEST_F(WindowTest, WhatIsSavedIsWhatTheCommandLineReads) {
  QTemporaryDir folder;
  const std::filesystem::path file = plain(folder.filePath("mine.json"));
  configuration().set_value("/cluster/nodes", 32);
  const std::string screen = to_json(*configuration().closed_form()).dump();
  configuration().save(file);
  EXPECT_FALSE(configuration().is_modified());
  const Catalog catalog = Catalog::standard({});
  const Prediction read = predict_analytic(load_scenario(file, {}, catalog), catalog, MemoryAdvice::none);
  EXPECT_EQ(read.step_time, configuration().closed_form()->step_time);
  EXPECT_FALSE(screen.empty());
}

TEST_F(WindowTest, ServersAreFilteredByWhatTheyHave) {
  const auto rows = server_rows(configuration().catalog());
  ASSERT_GT(rows.size(), 50U);
  std::size_t passed = 0;
  for (const ServerRow& row : rows)
    if (passes(row, {.words = "h100", .least_memory_GB = 80})) {
      ++passed;
      EXPECT_GE(row.memory_GB, 80);
    }
  EXPECT_GT(passed, 2U);
  EXPECT_LT(passed, rows.size());
  EXPECT_TRUE(server_card(configuration().catalog(), "dgx-h100").contains("h100"));
}

/// Different colours of a picture, counted coarsely.
std::size_t colours(const QImage& image) {
  std::set<QRgb> seen;
  for (int y = 0; y < image.height(); y += 3)
    for (int x = 0; x < image.width(); x += 3) seen.insert(image.pixel(x, y) & 0xfff0f0f0);
  return seen.size();
}

TEST_F(WindowTest, EveryTabShowsSomething) {
  for (const QString& name : window_->tabs().names()) {
    ASSERT_TRUE(window_->tabs().open(name));
    ASSERT_TRUE(settle()) << plain(name);
    QTest::qWait(30);
    const QImage image = window_->tabs().currentWidget()->grab().toImage();
    EXPECT_GT(colours(image), 12U) << plain(name);
    for (const auto* view : window_->tabs().currentWidget()->findChildren<ExhibitView*>()) {
      if (!view->isVisible() || view->exhibit().chart.series.empty()) continue;
      EXPECT_FALSE(view->exhibit().table.rows.empty()) << "a chart without its table: " << plain(view->exhibit().title);
    }
  }
}

TEST_F(WindowTest, EveryFieldHasAnAccessibleName) {
  for (const FormSection& section : form_sections())
    for (const FormField& field : section.fields) {
      FieldEditor* editor = window_->configure().editor(field.pointer);
      ASSERT_NE(editor, nullptr) << field.pointer;
      EXPECT_FALSE(editor->editor()->accessibleName().isEmpty()) << field.pointer;
    }
}

}  // namespace
}  // namespace stepcast::window_test
