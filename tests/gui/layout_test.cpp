// Where things are: nothing is cut that has room, nothing that is long takes what others need, nothing moves twice.
#include <QAbstractScrollArea>
#include <QCategoryAxis>
#include <QChart>
#include <QChartView>
#include <QGraphicsTextItem>
#include <QHeaderView>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBlock>
#include <QTextBrowser>
#include <QTextLayout>

#include "gui/view-models/prediction_exhibits.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/views/chart.hpp"
#include "gui/views/chart_legend.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/elided_label.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/server_browser.hpp"
#include "gui/views/tone_delegate.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::layout_test {
namespace {

class LayoutTest : public WindowTest {
 protected:
  void resize(int width, int height) {
    window_->resize(width, height);
    QTest::qWait(20);
  }
};

TEST(StepChart, NoPartIsMoreThanTheWhole) {
  Prediction prediction;
  prediction.step_time = Seconds(1);
  prediction.compute = Seconds(0.99);
  EXPECT_EQ(step_exhibit(prediction).chart.y_to, 100);
  prediction.compute = Seconds(0.5);
  EXPECT_EQ(step_exhibit(prediction).chart.y_to, std::nullopt);
}

TEST_F(LayoutTest, ColumnsAreAsWideAsTheirWordsUnlessOthersNeedTheRoom) {
  for (const char* tab : {"step", "memory", "communication", "cost", "sensitivity"}) {
    ASSERT_TRUE(window_->tabs().open(tab));
    ASSERT_TRUE(settle());
    // Narrow, and wide again.
    resize(960, 700);
    resize(1480, 920);
    int tables = 0;
    for (const ExhibitView* view : window_->tabs().currentWidget()->findChildren<ExhibitView*>()) {
      auto* table = view->findChild<QTableView*>();
      if (!table->isVisible()) continue;
      ++tables;
      const QAbstractItemView& items = *table;
      for (int column = 0; column + 1 < table->model()->columnCount(); ++column)
        EXPECT_GE(table->columnWidth(column), std::min(items.sizeHintForColumn(column), table->width() * 2 / 5))
            << tab << ", " << plain(view->exhibit().title) << ": column " << column << " of a table of "
            << table->width();
      const int last = table->model()->columnCount() - 1;
      EXPECT_GE(table->columnWidth(last), std::min(items.sizeHintForColumn(last), table->width() / 10))
          << tab << ", " << plain(view->exhibit().title);
    }
    EXPECT_GT(tables, 0) << tab;
  }
}

TEST_F(LayoutTest, WhatIsCutInATableIsSaidByHovering) {
  ASSERT_TRUE(settle());
  resize(1280, 800);
  auto* table = window_->tabs().currentWidget()->findChild<QTableView*>();
  auto* delegate = dynamic_cast<ToneDelegate*>(table->itemDelegate());
  ASSERT_NE(delegate, nullptr);
  const int last = table->model()->columnCount() - 1;
  EXPECT_GT(table->columnWidth(last), table->fontMetrics().horizontalAdvance("The device computes"))
      << "more than its first word";
  for (int row = 0; row < table->model()->rowCount(); ++row) {
    const QModelIndex cell = table->model()->index(row, last);
    QStyleOptionViewItem option;
    option.font = table->font();
    option.rect = QRect(0, 0, 20, 20);
    EXPECT_EQ(delegate->tip(cell, option), cell.data().toString());
    option.rect = QRect(0, 0, 2000, 20);
    EXPECT_EQ(delegate->tip(cell, option), QString());
  }
}

TEST_F(LayoutTest, MoneyIsNotCut) {
  open("llama3-405b-run.json");
  ASSERT_TRUE(window_->tabs().open("cost"));
  ASSERT_TRUE(settle());
  resize(1280, 800);
  auto* table = window_->tabs().currentWidget()->findChild<QTableView*>();
  const QAbstractItemView& items = *table;
  for (int column = 0; column < table->model()->columnCount(); ++column)
    EXPECT_GE(table->columnWidth(column), items.sizeHintForColumn(column)) << "column " << column;
}

TEST_F(LayoutTest, OfManyStagesSomeAreNamed) {
  open("llama3-405b-h100-16384.json");
  const Exhibit memory = memory_exhibit(configuration().closed_form()->memory);
  ASSERT_EQ(memory.chart.categories.size(), 16);
  const std::unique_ptr<QChart> chart(new_chart(memory.chart, {}));
  QStringList named;
  for (QAbstractAxis* axis : chart->axes(Qt::Horizontal))
    if (axis->isVisible()) named << qobject_cast<QCategoryAxis*>(axis)->categoriesLabels();
  EXPECT_EQ(named, (QStringList{"0", "2", "4", "6", "8", "10", "12", "14"}));
}

// However narrow the chart: its names take lines, not dots.
TEST_F(LayoutTest, LegendsNameEverySeriesInFull) {
  ChartData data;
  for (const char* name : {"aws-p5.48xlarge · pytorch-fsdp", "aws-p4de.24xlarge · megatron-lm", "dominated"})
    data.series.push_back({.name = name, .hue = Hue::blue, .values = {1}, .points = {}, .tips = {}});
  ChartLegend legend;
  legend.show_names_of(data);
  for (const int width : {1200, 260}) {
    legend.resize(width, legend.heightForWidth(width));
    EXPECT_EQ(legend.cut_names(), 0) << width;
  }
  EXPECT_GT(legend.heightForWidth(260), legend.heightForWidth(1200));
  data.legend = false;
  legend.show_names_of(data);
  EXPECT_FALSE(legend.isVisible());
  EXPECT_EQ(legend.heightForWidth(260), 0);
}

TEST_F(LayoutTest, TheWindowFitsSmallScreens) {
  // 1024 by 768, and 1920 by 1080 where everything is twice as large; less what frames and bars of a desktop take.
  constexpr int kWidth = 960, kHeight = 500;
  for (const QString& tab : window_->tabs().names()) {
    ASSERT_TRUE(window_->tabs().open(tab));
    ASSERT_TRUE(settle());
    resize(kWidth, kHeight);
    EXPECT_LE(window_->width(), kWidth) << plain(tab);
    EXPECT_LE(window_->height(), kHeight) << plain(tab);
  }
}

// 1920 by 1080 where everything is twice as large.
TEST_F(LayoutTest, OnSmallScreensWordsStayWhole) {
  resize(960, 540);
  ASSERT_TRUE(window_->tabs().open("servers"));
  ASSERT_TRUE(settle());
  const auto* browser = window_->findChild<ServerBrowser*>();
  const auto* search = browser->findChild<QLineEdit*>();
  EXPECT_GE(search->width(), search->fontMetrics().horizontalAdvance(search->placeholderText()));
  const auto* card = browser->findChild<QTextBrowser*>();
  for (QTextBlock block = card->document()->begin(); block.isValid(); block = block.next())
    for (int line = 0; line + 1 < block.layout()->lineCount(); ++line) {
      const QTextLine each = block.layout()->lineAt(line);
      const QString text = block.text();
      const qsizetype next = each.textStart() + each.textLength();
      EXPECT_FALSE(text[next - 1].isLetter() && text[next].isLetter()) << plain(text) << " at " << next;
    }
  ASSERT_TRUE(window_->tabs().open("fabric"));
  ASSERT_TRUE(settle());
  const auto* table = window_->tabs().currentWidget()->findChild<QTableView*>();
  const QAbstractItemView& items = *table;
  EXPECT_GE(table->columnWidth(1), items.sizeHintForColumn(1));
}

TEST(LogarithmicAxis, NamesWhatLiesBetweenPowersOfTen) {
  EXPECT_EQ(logarithmic_marks(0.9, 60), (std::vector<double>{1, 2, 5, 10, 20, 50}));
  EXPECT_EQ(logarithmic_marks(1, 1e5), (std::vector<double>{1, 10, 100, 1e3, 1e4, 1e5})) << "not sixteen";
  EXPECT_LE(logarithmic_marks(1e-9, 1e9).size(), 10U);
  EXPECT_GE(logarithmic_marks(1e-9, 1e9).size(), 3U);
  for (const double to : {1.05, 1.5, 3.0, 9.0}) EXPECT_GE(logarithmic_marks(1, to).size(), 3U) << to;
  EXPECT_GE(logarithmic_marks(870, 1'240).size(), 3U);
}

TEST_F(LayoutTest, LogarithmicAxesAreNamed) {
  ChartData data;
  data.kind = ChartData::Kind::lines;
  data.logarithmic_x = data.logarithmic_y = true;
  data.series.push_back({.name = "rate", .values = {}, .points = {{4, 300}, {64, 4'000}}, .tips = {}});
  const std::unique_ptr<QChart> chart(new_chart(data, {}));
  QStringList named;
  for (QAbstractAxis* axis : chart->axes(Qt::Horizontal))
    if (auto* names = qobject_cast<QCategoryAxis*>(axis)) named = names->categoriesLabels();
  EXPECT_EQ(named, (QStringList{"5", "10", "20", "50"}));
}

// In a narrow chart, too, names of logarithmic axes are written out and apart.
TEST_F(LayoutTest, NamesOfLogarithmicAxesAreNotCut) {
  ChartData data;
  data.kind = ChartData::Kind::lines;
  data.x_title = "servers";
  data.y_title = "thousand samples/s";
  data.right_title = "efficiency, %";
  data.logarithmic_x = data.logarithmic_y = true;
  data.series.push_back({.name = "rate", .values = {}, .points = {{1, 0.04}, {512, 16}}, .tips = {}});
  data.series.push_back(
      {.name = "share", .values = {}, .points = {{1, 100}, {512, 40}}, .right_axis = true, .tips = {}});
  QChartView view(new_chart(data, {}));
  view.resize(250, 220);
  view.show();
  QTest::qWait(50);
  QStringList written;
  for (const QGraphicsItem* item : view.scene()->items())
    if (const auto* text = dynamic_cast<const QGraphicsTextItem*>(item); text != nullptr && text->isVisible())
      written << text->toPlainText();
  for (const char* name : {"0.1", "1", "10", "100"}) EXPECT_TRUE(written.contains(name)) << name;
  EXPECT_TRUE(written.filter("...").isEmpty()) << plain(written.join(' '));
}

TEST_F(LayoutTest, AColumnThatTheUserSetStays) {
  ASSERT_TRUE(settle());
  auto* table = window_->tabs().currentWidget()->findChild<QTableView*>();
  table->setColumnWidth(0, 77);
  configuration().set_value("/cluster/nodes", 32);
  resize(1300, 900);
  EXPECT_EQ(table->columnWidth(0), 77);
}

TEST_F(LayoutTest, ALongNameWidensNothing) {
  resize(1280, 800);
  const int least = window_->minimumSizeHint().width();
  const QString name = QString("a scenario of many words ").repeated(20).trimmed();
  configuration().set_value("/name", plain(name));
  QTest::qWait(20);
  EXPECT_EQ(window_->width(), 1280);
  EXPECT_EQ(window_->minimumSizeHint().width(), least);
  const ElidedLabel* title = nullptr;
  for (const QLabel* label : window_->findChildren<QLabel*>("title"))
    if (label->text() == name) title = dynamic_cast<const ElidedLabel*>(label);
  ASSERT_NE(title, nullptr);
  EXPECT_TRUE(title->shown().endsWith(QChar(0x2026))) << plain(title->shown());
  EXPECT_TRUE(title->shown().startsWith("a scenario of many words")) << plain(title->shown());
}

TEST_F(LayoutTest, TheFormIsNotCut) {
  resize(900, 600);
  ConfigurePanel& panel = window_->configure();
  EXPECT_LE(panel.widget()->minimumSizeHint().width(), panel.viewport()->width());
  for (QPushButton* button : panel.findChildren<QPushButton*>())
    if (button->isCheckable()) button->setChecked(true);
  QTest::qWait(20);
  EXPECT_LE(panel.widget()->minimumSizeHint().width(), panel.viewport()->width()) << "with all fields open";
}

/// Counts how often something is hidden.
class HideCounter : public QObject {
 public:
  int hidden = 0;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override {
    hidden += event->type() == QEvent::Hide ? 1 : 0;
    return QObject::eventFilter(watched, event);
  }
};

TEST_F(LayoutTest, AFieldChangeLeavesWhatIsShownInItsPlace) {
  ASSERT_TRUE(settle());
  HideCounter counter;
  for (ExhibitView* view : window_->tabs().currentWidget()->findChildren<ExhibitView*>())
    if (view->isVisible()) view->installEventFilter(&counter);
  configuration().set_value("/cluster/nodes", 32);
  EXPECT_EQ(counter.hidden, 0);
}

TEST_F(LayoutTest, OnAScreenOfManyPixelsThePictureHasAsMany) {
  const QString scenario = STEPCAST_SOURCE_DIR "/scenarios/resnet50-v100-8nodes.json";
  QTemporaryDir folder;
  QSize small;
  for (const double scale : {1.0, 1.5, 2.0}) {
    const QString file = folder.filePath(QStringLiteral("%1.png").arg(scale));
    QProcess program;
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("QT_SCALE_FACTOR", QString::number(scale));
    program.setProcessEnvironment(environment);
    program.start(STEPCAST_BUILD_DIR "/bin/stepcast-gui",
                  {"--scenario", scenario, "--size", "1280x800", "--screenshot", file});
    ASSERT_TRUE(program.waitForFinished(120'000));
    ASSERT_EQ(program.exitCode(), 0) << program.readAllStandardError().toStdString();
    const QImage picture(file);
    if (small.isEmpty()) small = picture.size();
    EXPECT_EQ(picture.size(), (QSizeF(small) * scale).toSize()) << scale;
  }
  EXPECT_EQ(small, QSize(1280, 800));
}

}  // namespace
}  // namespace stepcast::layout_test
