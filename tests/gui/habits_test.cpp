// What people expect of any window: their locale, their files, their keyboard, help where they are.
#include <QAction>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QGuiApplication>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QProcess>
#include <QProgressBar>
#include <QStatusBar>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTextBrowser>
#include <QToolButton>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/theme/theme.hpp"
#include "gui/view-models/number_format.hpp"
#include "gui/view-models/palette.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/recent_files.hpp"
#include "gui/view-models/sweep_model.hpp"
#include "gui/view-models/work_progress.hpp"
#include "gui/views/busy_status.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/exhibit_view.hpp"
#include "gui/views/field_editor.hpp"
#include "gui/views/headline_view.hpp"
#include "gui/views/help.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/status_line.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::habits_test {
namespace {

/// The locale of a user, for one test.
class InLocale {
 public:
  explicit InLocale(const QString& name) { QLocale::setDefault(QLocale(name)); }
  ~InLocale() { QLocale::setDefault(QLocale::c()); }
};

TEST(NumberFormatTest, NumbersAreReadAsTheUserWritesThem) {
  {
    const InLocale german("de_DE");
    EXPECT_EQ(typed_number("1.024,5"), "1024.5");
    EXPECT_EQ(typed_number("0,5"), "0.5");
    EXPECT_EQ(typed_number("0.5"), "0.5") << "as scenario files write it";
    EXPECT_EQ(number_to_type("0.5"), "0,5");
    EXPECT_EQ(shown(Seconds(15.6)), "15,6 s");
    EXPECT_EQ(shown_whole(1024), "1.024");
  }
  const InLocale english("en_US");
  EXPECT_EQ(typed_number("1,024.5"), "1024.5");
  EXPECT_EQ(typed_number("1,5"), "1,5") << "no number, and never 15";
  EXPECT_EQ(typed_number(" 1e9 "), "1e9");
  EXPECT_EQ(shown_whole(1024), "1,024");
}

TEST(WorkProgressTest, SaysCountRateAndTimeLeft) {
  const InLocale c("C");
  const WorkProgress progress{
      .what = "Sweeping", .things = "configurations", .done = 250, .all = 1000, .per_second = 50};
  EXPECT_DOUBLE_EQ(progress.share(), 0.25);
  EXPECT_DOUBLE_EQ(progress.seconds_left(), 15);
  EXPECT_EQ(progress.words(), "Sweeping … 250 of 1,000 configurations (25 %), 50.0 a second, 15.0 s left");
  EXPECT_LT(WorkProgress{}.share(), 0);
}

TEST(BusyStatusTest, ShowsTheShareThatIsDone) {
  BusyStatus status(Qt::Vertical, "Work");
  status.show_running({.what = "Working", .things = "things", .done = 1, .all = 4});
  EXPECT_TRUE(status.words().contains("1 of 4 things (25 %)")) << plain(status.words());
  status.show_ended("Stopped");
  EXPECT_EQ(status.words(), "Stopped");
}

TEST_F(WindowTest, TheStatusBarSaysWhatRunsAndStopsIt) {
  StatusLine& line = window_->status_line();
  ASSERT_TRUE(settle());
  ASSERT_TRUE(wait_until([&] { return line.words().startsWith("Simulated in "); })) << plain(line.words());
  EXPECT_TRUE(line.words().contains("closed form in ")) << plain(line.words());
  auto* bar = line.findChild<QProgressBar*>();
  auto* cancel = line.findChild<QToolButton*>();
  EXPECT_FALSE(bar->isVisible());
  EXPECT_FALSE(cancel->isVisible());

  const auto runs = std::make_shared<bool>(true);
  line.add({[=] { return *runs; },
            [] { return WorkProgress{.what = "Sweeping", .things = "configurations", .done = 3, .all = 4}; },
            [=] { *runs = false; }});
  ASSERT_TRUE(wait_until([&] { return line.words().contains("3 of 4 configurations (75 %)"); })) << plain(line.words());
  EXPECT_TRUE(bar->isVisible());
  EXPECT_DOUBLE_EQ(static_cast<double>(bar->value()) / bar->maximum(), 0.75);
  QTest::mouseClick(cancel, Qt::LeftButton);
  EXPECT_FALSE(*runs);
  EXPECT_TRUE(wait_until([&] { return !bar->isVisible() && !line.words().contains("Sweeping"); }))
      << plain(line.words());
}

TEST_F(WindowTest, AGermanTypesAndReadsGermanNumbers) {
  const InLocale german("de_DE");
  window_->refresh_theme();
  EXPECT_TRUE(window_->headline().value("Step time").contains(',')) << plain(window_->headline().value("Step time"));
  FieldEditor* field = window_->configure().editor("/cluster/fabric/oversubscription");
  ASSERT_NE(field, nullptr);
  auto* line = qobject_cast<QLineEdit*>(field->editor());
  ASSERT_NE(line, nullptr);
  line->setFocus();
  QTest::keyClicks(line, "1,5");
  QTest::keyClick(line, Qt::Key_Return);
  EXPECT_EQ(configuration().value("/cluster/fabric/oversubscription"), 1.5);
  EXPECT_TRUE(field->fault().isEmpty()) << plain(field->fault());
  EXPECT_NE(configuration().text().find("1.5"), std::string::npos) << "files are the same everywhere";
  line->clearFocus();
  configuration().set_value("/workload/global_batch", 1024);
  EXPECT_EQ(line->text(), "1,5");
}

TEST_F(WindowTest, AScenarioIsDroppedOnTheWindow) {
  QMimeData mime;
  mime.setUrls({QUrl::fromLocalFile(STEPCAST_SOURCE_DIR "/scenarios/gpt3-175b-a100-1024.json")});
  QDragEnterEvent enter(QPoint(20, 20), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window_.get(), &enter);
  EXPECT_TRUE(enter.isAccepted());
  QDropEvent drop(QPointF(20, 20), Qt::CopyAction, &mime, Qt::LeftButton, Qt::NoModifier);
  QApplication::sendEvent(window_.get(), &drop);
  EXPECT_EQ(configuration().file().filename(), "gpt3-175b-a100-1024.json");
  ASSERT_FALSE(recent_files().isEmpty());
  EXPECT_TRUE(recent_files().front().endsWith("gpt3-175b-a100-1024.json"));
}

TEST(RecentFilesTest, ExamplesAreScenarios) {
  ASSERT_GT(example_scenarios().size(), 5);
  for (const QString& file : example_scenarios()) EXPECT_FALSE(file.contains("/plan-")) << plain(file);
}

TEST(ProgramTest, HelpNeedsNoDisplay) {
  QProcess program;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  for (const char* name : {"QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"}) environment.remove(name);
  program.setProcessEnvironment(environment);
  program.start(STEPCAST_BUILD_DIR "/bin/stepcast-gui", {"--help"});
  ASSERT_TRUE(program.waitForFinished());
  EXPECT_EQ(program.exitStatus(), QProcess::NormalExit);
  EXPECT_EQ(program.exitCode(), 0);
  EXPECT_TRUE(program.readAllStandardOutput().contains("--screenshot"));
}

TEST_F(WindowTest, ACopiedCommandLineIsConfirmed) {
  for (QAction* action : window_->findChildren<QAction*>())
    if (action->shortcut() == QKeySequence("Ctrl+Shift+C")) action->trigger();
  EXPECT_TRUE(window_->statusBar()->currentMessage().contains("clipboard"));
}

TEST_F(WindowTest, TheNameOfAScenarioIsAField) {
  auto* editor = window_->configure().editor("/name");
  ASSERT_NE(editor, nullptr);
  configuration().set_value("/name", "Mine");
  EXPECT_EQ(window_->findChild<QLabel*>("title")->text(), "Mine");
}

TEST_F(WindowTest, ATableIsCopiedForASpreadsheet) {
  auto* view = window_->tabs().currentWidget()->findChild<ExhibitView*>();
  ASSERT_NE(view, nullptr);
  auto* table = view->findChild<QTableView*>();
  table->setFocus();
  for (QAction* action : table->actions())
    if (action->shortcut() == QKeySequence(QKeySequence::Copy)) action->trigger();
  const QStringList lines = QGuiApplication::clipboard()->text().split('\n', Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), table->model()->rowCount() + 1);
  EXPECT_EQ(lines[0].count('\t'), table->model()->columnCount() - 1);
}

TEST_F(WindowTest, EveryTabHasHelpFromTheDocuments) {
  for (const QString& name : window_->tabs().names()) {
    show_help(window_.get(), name);
    const auto pages = window_->findChildren<QTextBrowser*>(QString(), Qt::FindDirectChildrenOnly);
    ASSERT_FALSE(pages.isEmpty());
    EXPECT_GT(pages.back()->toPlainText().size(), 300) << plain(name) << plain(pages.back()->source().toString());
    delete pages.back();
  }
}

/// The action that a key or words of a menu belong to.
template <class Wanted>
QAction* action_of(MainWindow& window, const Wanted& wanted) {
  for (QAction* action : window.findChildren<QAction*>())
    if (wanted(*action)) return action;
  return nullptr;
}

TEST_F(WindowTest, F1OpensThePageAboutTheTab) {
  window_->tabs().open("power");
  QAction* help = action_of(*window_, [](const QAction& each) { return each.shortcut() == Qt::Key_F1; });
  ASSERT_NE(help, nullptr);
  help->trigger();
  const auto pages = window_->findChildren<QTextBrowser*>(QString(), Qt::FindDirectChildrenOnly);
  ASSERT_EQ(pages.size(), 1);
  EXPECT_TRUE(pages.front()->source().toString().endsWith("models/power.md"));
  EXPECT_TRUE(pages.front()->isVisible());
}

TEST_F(WindowTest, KeysUndoAndRedoWhatWasChangedAndSaySo) {
  const auto key = [&](QKeySequence::StandardKey wanted) {
    return action_of(*window_, [&](const QAction& each) { return each.shortcut() == QKeySequence(wanted); });
  };
  QAction *undo = key(QKeySequence::Undo), *redo = key(QKeySequence::Redo);
  ASSERT_TRUE(undo != nullptr && redo != nullptr);
  const QString before = window_->headline().value("Tokens/s");
  configuration().set_value("/cluster/nodes", 32);
  const QString after = window_->headline().value("Tokens/s");
  EXPECT_NE(after, before);
  EXPECT_TRUE(undo->text().contains("how many")) << plain(undo->text());
  EXPECT_FALSE(redo->isEnabled());
  undo->trigger();
  EXPECT_EQ(window_->headline().value("Tokens/s"), before);
  EXPECT_TRUE(redo->text().contains("how many")) << plain(redo->text());
  redo->trigger();
  EXPECT_EQ(window_->headline().value("Tokens/s"), after);
}

TEST_F(WindowTest, FilesThatWereOpenAreOpenedFromTheMenu) {
  ASSERT_TRUE(window_->open(STEPCAST_SOURCE_DIR "/scenarios/gpt3-175b-a100-1024.json"));
  ASSERT_TRUE(window_->open(STEPCAST_SOURCE_DIR "/scenarios/resnet50-v100-8nodes.json"));
  QMenu* recent = nullptr;
  for (QMenu* menu : window_->findChildren<QMenu*>())
    if (menu->title() == "Open &recent") recent = menu;
  ASSERT_NE(recent, nullptr);
  Q_EMIT recent->aboutToShow();
  ASSERT_GE(recent->actions().size(), 2);
  EXPECT_TRUE(recent->actions()[0]->text().endsWith("resnet50-v100-8nodes.json"));
  recent->actions()[1]->trigger();
  EXPECT_EQ(configuration().file().filename(), "gpt3-175b-a100-1024.json");
}

TEST_F(WindowTest, ColoursFollowTheTheme) {
  const QImage light = window_->grab().toImage();
  apply_theme(*qobject_cast<QApplication*>(QCoreApplication::instance()), Theme::dark);
  window_->refresh_theme();
  QApplication::processEvents();
  const QImage dark = window_->grab().toImage();
  apply_theme(*qobject_cast<QApplication*>(QCoreApplication::instance()), Theme::light);
  window_->refresh_theme();
  const auto lightness = [](const QImage& image) {
    double sum = 0;
    long count = 0;
    for (int y = 0; y < image.height(); y += 7)
      for (int x = 0; x < image.width(); x += 7, ++count) sum += image.pixelColor(x, y).lightnessF();
    return sum / static_cast<double>(count);
  };
  EXPECT_GT(lightness(light), 0.75);
  EXPECT_LT(lightness(dark), 0.35);
}

TEST_F(WindowTest, SizesAreShownInTheUnitsThatAreChosen) {
  QAction* decimal = nullptr;
  for (QAction* action : window_->findChildren<QAction*>())
    if (action->text() == "Sizes in GB, not GiB") decimal = action;
  ASSERT_NE(decimal, nullptr);
  window_->tabs().open("memory");
  const auto stage = [&] {
    const auto& rows = window_->tabs().currentWidget()->findChild<ExhibitView*>()->exhibit().table.rows;
    return rows.front().at(1);
  };
  const FigureCell binary = stage();
  EXPECT_TRUE(binary.text.contains("GiB")) << plain(binary.text);
  decimal->setChecked(true);
  const FigureCell chosen = stage();
  EXPECT_TRUE(chosen.text.contains("GB")) << plain(chosen.text);
  EXPECT_EQ(chosen.number, binary.number) << "the same size, in other words";
  decimal->setChecked(false);
  EXPECT_EQ(stage().text, binary.text);
}

/// A colour as people without one kind of cone see it, in CIE L*a*b* (Machado, Oliveira & Fernandes 2009, severity 1).
std::array<double, 3> seen_by(const std::array<std::array<double, 3>, 3>& people, const QColor& color) {
  const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
  const std::array<double, 3> rgb{linear(color.redF()), linear(color.greenF()), linear(color.blueF())};
  std::array<double, 3> seen{};
  for (std::size_t i = 0; i < 3; ++i)
    seen[i] = std::clamp(people[i][0] * rgb[0] + people[i][1] * rgb[1] + people[i][2] * rgb[2], 0.0, 1.0);
  const double x = (0.4124 * seen[0] + 0.3576 * seen[1] + 0.1805 * seen[2]) / 0.9505;
  const double y = 0.2126 * seen[0] + 0.7152 * seen[1] + 0.0722 * seen[2];
  const double z = (0.0193 * seen[0] + 0.1192 * seen[1] + 0.9505 * seen[2]) / 1.089;
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

TEST(PaletteTest, PeopleWithAnyColourVisionTellTheFirstSixApart) {
  constexpr std::array<std::array<double, 3>, 3> everybody{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  constexpr std::array<std::array<double, 3>, 3> no_red{
      {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
  constexpr std::array<std::array<double, 3>, 3> no_green{
      {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
  constexpr std::array<std::array<double, 3>, 3> no_blue{
      {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
  // CIE 1976: 2.3 is a just noticeable difference.
  constexpr double kClearlyDifferent = 4 * 2.3;
  for (const auto& people : {everybody, no_red, no_green, no_blue})
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < i; ++j) {
        const auto a = seen_by(people, color_of(hue_of_index(i))), b = seen_by(people, color_of(hue_of_index(j)));
        EXPECT_GT(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]), kClearlyDifferent) << i << " and " << j;
      }
}

double contrast(const QColor& a, const QColor& b) {
  const auto light = [](const QColor& color) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
  };
  const double x = light(a) + 0.05, y = light(b) + 0.05;  // WCAG 2.1
  return std::max(x, y) / std::min(x, y);
}

/// Colours in the dark, for one test.
class InTheDark {
 public:
  InTheDark() { apply(Theme::dark); }
  ~InTheDark() { apply(Theme::light); }

 private:
  static void apply(Theme theme) { apply_theme(*qobject_cast<QApplication*>(QCoreApplication::instance()), theme); }
};

/// Contrast that WCAG 2.1 asks of parts of a user interface (1.4.11).
constexpr double kSeen = 3;

TEST(PaletteTest, CalmLinksAreSeenOnADarkGround) {
  const InTheDark dark;
  EXPECT_GE(contrast(heat(0, true), theme_colors().surface), kSeen);
  EXPECT_GT(heat(1, true).lightnessF(), 0.6);
}

TEST(ThemeTest, AnEmptyBoxIsSeenOnADarkGround) {
  const InTheDark dark;
  QCheckBox box;
  box.ensurePolished();
  box.resize(box.sizeHint());
  const QImage picture = box.grab().toImage();
  double most = 0;
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x)
      most = std::max(most, contrast(picture.pixelColor(x, y), theme_colors().window));
  EXPECT_GE(most, kSeen);
}

TEST_F(WindowTest, ASweepStopsAtOnceAndGoesOn) {
  auto* sweep = window_->findChild<SweepModel*>();
  double most = 0;
  QObject::connect(sweep, &SweepModel::changed, sweep, [&] { most = std::max(most, sweep->progress().share()); });
  QTemporaryDir folder;
  constexpr int kPoints = 5 * 16;  // so many that the first of them are told before the last are done
  const SweepForm form{"cluster.nodes",
                       "8,16,32,64,128",
                       "workload.global_batch",
                       "1024..16384+1024",
                       true,
                       folder.filePath("store.sqlite")};
  sweep->start(form);
  ASSERT_TRUE(wait_until([&] { return most > 0 || !sweep->is_running(); }));
  ASSERT_TRUE(sweep->is_running()) << plain(sweep->status());
  EXPECT_EQ(sweep->progress().all, kPoints);
  EXPECT_GT(sweep->progress().per_second, 0);
  QElapsedTimer timer;
  timer.start();
  sweep->stop();
  ASSERT_TRUE(wait_until([&] { return !sweep->is_running(); }, 200 * kHangFactor));
  RecordProperty("stop_ms", std::to_string(timer.elapsed()));
  EXPECT_LT(sweep->exhibit().table.rows.size(), std::size_t{kPoints});
  sweep->start(form);
  ASSERT_TRUE(wait_until([&] { return !sweep->is_running(); }));
  EXPECT_EQ(sweep->exhibit().table.rows.size(), std::size_t{kPoints}) << plain(sweep->status());
}

TEST_F(WindowTest, ASimulationSaysHowFarItIs) {
  open("gpt3-175b-a100-1024.json");
  double done = 0, all = 0;
  ASSERT_TRUE(wait_until([&] {
    const WorkProgress progress = forecast().progress();
    done = std::max(done, progress.done);
    all = std::max(all, progress.all);
    return forecast().state() == ForecastModel::State::simulated;
  }));
  EXPECT_GT(all, 1000);
  EXPECT_GT(done, 0);
  EXPECT_LE(done, all);
}

}  // namespace
}  // namespace stepcast::habits_test
