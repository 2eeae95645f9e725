// The timeline's data and its painter: what is drawn is what the trace says, fast enough to pan.
#include <QChartView>
#include <QElapsedTimer>
#include <QImage>
#include <QPainter>
#include <QTableView>
#include <QTest>
#include <QThread>
#include <atomic>
#include <fstream>

#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/timeline_model.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/timeline_canvas.hpp"
#include "gui/views/timeline_painter.hpp"
#include "tests/gui/gui_fixture.hpp"
#include "tests/gui/timeline_step.hpp"

namespace stepcast::timeline_test {
namespace {

TEST(TimelinePainterTest, HundredThousandEventsPanAtThirtyFramesASecond) {
  const auto data = timeline_step(64, 1600);
  ASSERT_GE(data->events, 100'000U);
  const TimelinePainter painter(data);
  QImage image(1480, 900, QImage::Format_RGB32);
  double longest = 0;
  for (int frame = 0; frame < 10; ++frame) {
    const double from = frame * 20000.0;
    QElapsedTimer timer;
    timer.start();
    QPainter to(&image);
    painter.paint(to, image.size(), {.from = from, .to = from + 1.2e6});
    to.end();
    longest = std::max(longest, static_cast<double>(timer.nsecsElapsed()) / 1e6);
  }
  ::testing::Test::RecordProperty("longest_frame_ms", std::to_string(longest));
  EXPECT_LT(longest, 33.0 * kHangFactor);
}

TEST(TimelinePainterTest, ABurstThinnerThanAPixelIsStillSeen) {
  auto data = std::make_shared<TimelineData>();
  data->names = {"blip"};
  data->categories = {"forward"};
  data->tracks.push_back({"stage 0", "compute", 0, {{.start = 500'000, .end = 500'001}}});
  data->end = 1'000'000;
  const TimelinePainter painter(data);
  QImage image(800, 100, QImage::Format_RGB32);
  QPainter to(&image);
  painter.paint(to, image.size(), {.from = 0, .to = 1e6});
  to.end();
  const int y = TimelinePainter::kRuler + TimelinePainter::kHeader + 6;
  const int middle = static_cast<int>(TimelinePainter::x_of(500'000, 800, {.from = 0, .to = 1e6}));
  bool seen = false;
  for (int x = middle - 2; x <= middle + 2; ++x)
    seen = seen || image.pixelColor(x, y) == TimelinePainter::color_of_category("forward");
  EXPECT_TRUE(seen);
}

TEST_F(WindowTest, TimelineHasTheTracesSlicesAndCriticalPath) {
  window_->tabs().open("timeline");
  ASSERT_TRUE(settle());
  const QString trace = forecast().trace();
  ASSERT_FALSE(trace.isEmpty());
  std::ifstream file(trace.toStdString());
  std::size_t slices = 0, critical = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find(R"("ph":"X")") == std::string::npos) continue;
    ++slices;
    if (line.find(R"("critical":true)") != std::string::npos) ++critical;
  }
  const auto data = read_timeline(trace.toStdString(), std::atomic<bool>(false));
  EXPECT_EQ(data->events, slices);
  std::size_t marked = 0;
  for (const TimelineTrack& track : data->tracks)
    for (const TimelineEvent& event : track.events) marked += event.critical ? 1 : 0;
  EXPECT_EQ(marked, critical);
  EXPECT_GT(critical, 0U);
  EXPECT_NEAR(static_cast<double>(data->end) / 1e9, forecast().shown()->step_time.value(), 1e-6);

  auto* canvas = window_->findChild<TimelineCanvas*>();
  ASSERT_NE(canvas, nullptr);
  const double whole = canvas->view().to - canvas->view().from;
  QTest::keyClick(canvas, Qt::Key_Plus);
  EXPECT_LT(canvas->view().to - canvas->view().from, whole);
  canvas->set_words("attention");
  EXPECT_TRUE(canvas->next_match());
  canvas->set_words("no such operator");
  EXPECT_FALSE(canvas->next_match());
  QTest::keyClick(canvas, Qt::Key_Home);
  EXPECT_DOUBLE_EQ(canvas->view().to - canvas->view().from, whole);
}

TEST_F(WindowTest, ThePowerThatIsDrawnHasTheMeanThatIsSaid) {
  window_->tabs().open("power");
  ASSERT_TRUE(settle());
  const auto& exhibit = window_->tabs().currentWidget()->findChild<ExhibitView*>()->exhibit();
  ASSERT_EQ(exhibit.chart.series.size(), 2U);
  double sum = 0;
  for (const QPointF& point : exhibit.chart.series[0].points) sum += point.y();
  const double drawn = sum / static_cast<double>(exhibit.chart.series[0].points.size());
  const double said = exhibit.chart.series[1].points.front().y();
  EXPECT_NEAR(drawn, said, 0.01 * said);
}

TEST_F(WindowTest, PowerHasATableWhereNothingCanBeDrawn) {
  open("systems/tensorflow-ps-async.json");
  window_->tabs().open("power");
  ASSERT_TRUE(settle());
  const auto* view = window_->tabs().currentWidget()->findChild<ExhibitView*>();
  EXPECT_TRUE(view->exhibit().chart.series.empty());
  EXPECT_TRUE(view->exhibit().remark.contains("no one timeline")) << plain(view->exhibit().remark);
  const auto* table = view->findChild<QTableView*>();
  ASSERT_TRUE(table->isVisible());
  EXPECT_GT(table->model()->rowCount(), 5);
  EXPECT_FALSE(view->findChild<QChartView*>()->isVisible());
}

TEST_F(WindowTest, ATimelineStaysZoomedWhileItIsTheSame) {
  window_->tabs().open("timeline");
  ASSERT_TRUE(settle());
  auto* canvas = window_->findChild<TimelineCanvas*>();
  QTest::keyClick(canvas, Qt::Key_Plus);
  const double zoomed = canvas->view().to - canvas->view().from;
  window_->refresh_theme();
  EXPECT_DOUBLE_EQ(canvas->view().to - canvas->view().from, zoomed);
}

// As `stepcast run --trace`: one worker's computation is no step of the cluster.
TEST_F(WindowTest, WorkersThatMeetAsTheyArriveHaveNoTimeline) {
  open("systems/tensorflow-ps-async.json");
  window_->tabs().open("timeline");
  ASSERT_TRUE(settle());
  auto* timeline = window_->findChild<TimelineModel*>();
  EXPECT_TRUE(forecast().trace().isEmpty());
  EXPECT_EQ(timeline->data(), nullptr);
  EXPECT_TRUE(timeline->reason().contains("no one timeline")) << plain(timeline->reason());
}

/// The reader's thread has ended, its answer waits in the queue, and by then the scenario is another one.
TEST_F(WindowTest, ATimelineThatIsReadTooLateIsForgotten) {
  auto* timeline = window_->findChild<TimelineModel*>();
  ASSERT_NE(timeline, nullptr);
  bool changed = false, shown = false;
  QObject::connect(timeline, &TimelineModel::changed, &configuration(), [&] {
    if (changed) shown = shown || (timeline->data() != nullptr && !forecast().is_simulated());
    if (changed || !timeline->is_reading()) return;
    changed = true;
    QThread::sleep(3);
    configuration().set_value("/cluster/nodes", 32);
  });
  window_->tabs().open("timeline");
  ASSERT_TRUE(wait_until([&] { return changed; }));
  ASSERT_TRUE(settle());
  EXPECT_FALSE(shown) << "a step that is no longer on screen";
  ASSERT_NE(timeline->data(), nullptr) << plain(timeline->reason());
  EXPECT_NEAR(static_cast<double>(timeline->data()->end) / 1e9, forecast().shown()->step_time.value(), 1e-6);
}

}  // namespace
}  // namespace stepcast::timeline_test
