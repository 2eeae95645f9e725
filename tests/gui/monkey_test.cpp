// Random input, the same for the same seed: nothing may crash, hang or stay stuck.
#include <QAbstractButton>
#include <QAbstractSpinBox>
#include <QComboBox>
#include <QLineEdit>
#include <QMenu>
#include <QMenuBar>
#include <QTabBar>
#include <QTest>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "gui/view-models/qt_text.hpp"
#include "gui/views/result_tabs.hpp"
#include "tests/gui/gui_fixture.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::monkey_test {
namespace {

int seconds_to_play() {
  const char* given = std::getenv("STEPCAST_MONKEY_SECONDS");
  return given ? std::atoi(given) : 5;
}

/// What opens a dialog waits for an answer that no monkey gives.
bool opens_dialog(const QWidget& widget) {
  if (qobject_cast<const QMenuBar*>(&widget) != nullptr || qobject_cast<const QMenu*>(&widget) != nullptr) return true;
  const auto* button = qobject_cast<const QAbstractButton*>(&widget);
  return button != nullptr && button->text().contains(QStringLiteral("…"));
}

class Monkey {
 public:
  Monkey(MainWindow& window, unsigned seed) : window_(window), random_(seed) {}

  void act() {
    const QList<QWidget*> widgets = window_.findChildren<QWidget*>();
    QWidget* widget = widgets[pick(static_cast<int>(widgets.size()))];
    if (!widget->isVisible() || !widget->isEnabled() || opens_dialog(*widget)) return;
    switch (pick(8)) {
      case 0:
        return window_.tabs().setCurrentIndex(pick(window_.tabs().count()));
      case 1:
      case 2:
        return type(*widget);
      case 3:
        return choose(*widget);
      case 4:
        return QTest::keyClick(widget, kKeys[static_cast<std::size_t>(pick(static_cast<int>(kKeys.size())))]);
      default:
        if (qobject_cast<QComboBox*>(widget)) return;  // an open list would take the mouse
        return QTest::mouseClick(widget, Qt::LeftButton, {},
                                 QPoint(pick(std::max(1, widget->width())), pick(std::max(1, widget->height()))));
    }
  }

 private:
  static constexpr std::array kKeys{Qt::Key_Tab,   Qt::Key_Left,     Qt::Key_Right,  Qt::Key_Home,  Qt::Key_Plus,
                                    Qt::Key_Minus, Qt::Key_PageDown, Qt::Key_Delete, Qt::Key_Escape};
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  void type(QWidget& widget) {
    auto* line = qobject_cast<QLineEdit*>(&widget);
    if (line == nullptr || line->isReadOnly()) return;
    static const QStringList words{"0",           "1",    "2",    "8",     "64", "-3", "1e9",
                                   "99999999999", "h100", "fsdp", "[1,2]", "{",  "\"", ""};
    line->selectAll();
    QTest::keyClicks(line, words[pick(static_cast<int>(words.size()))]);
    QTest::keyClick(line, Qt::Key_Return);
  }

  void choose(QWidget& widget) {
    auto* combo = qobject_cast<QComboBox*>(&widget);
    if (combo == nullptr || combo->count() == 0) return;
    const int index = pick(combo->count());
    combo->setCurrentIndex(index);
    Q_EMIT combo->activated(index);
    Q_EMIT combo->textActivated(combo->itemText(index));
  }

  MainWindow& window_;
  std::mt19937 random_;
};

TEST_F(WindowTest, RandomInputNeitherCrashesNorHangs) {
  // Names that it types for files are taken from here: a sweep's store, say. It outlives the window.
  static const ScratchFolder files;
  const std::filesystem::path home = std::filesystem::current_path();
  std::filesystem::current_path(files.path());
  const unsigned seed = 20261121;
  Monkey monkey(*window_, seed);
  QElapsedTimer timer;
  timer.start();
  long acts = 0;
  qint64 longest = 0;
  while (timer.elapsed() < seconds_to_play() * 1000) {
    QElapsedTimer one;
    one.start();
    monkey.act();
    QApplication::processEvents();
    longest = std::max(longest, one.elapsed());
    // A scenario that cannot run any more has nothing left to try.
    if (++acts % 400 == 0)
      window_->open(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios/llama3-70b-h100-512.json");
  }
  std::printf("  %ld acts; the longest took %lld ms\n", acts, static_cast<long long>(longest));
  EXPECT_LT(longest, 1000 * kHangFactor);
  EXPECT_GT(acts, 20);
  ASSERT_TRUE(window_->open(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios/llama3-70b-h100-512.json"));
  ASSERT_TRUE(settle()) << "stuck: " << plain(forecast().status());
  EXPECT_TRUE(configuration().is_valid());
  std::filesystem::current_path(home);
}

}  // namespace
}  // namespace stepcast::monkey_test
