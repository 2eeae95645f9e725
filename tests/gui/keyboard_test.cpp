// For people without a mouse, and for those who hear the window: every control is reached by Tab and has a name.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QAccessible>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QTabBar>
#include <QTest>
#include <QTextEdit>
#include <set>

#include "gui/view-models/qt_text.hpp"
#include "gui/views/configure_panel.hpp"
#include "gui/views/fabric_canvas.hpp"
#include "gui/views/result_tabs.hpp"
#include "gui/views/timeline_canvas.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::keyboard_test {
namespace {

std::string describe(const QWidget* widget) {
  if (widget == nullptr) return "nothing";
  const auto* button = qobject_cast<const QAbstractButton*>(widget);
  const QString words = button ? button->text() : widget->accessibleName();
  return std::string(widget->metaObject()->className()) + " \"" + plain(words) + "\" (" + plain(widget->objectName()) +
         ")";
}

/// Whether a person can do something with it. Parts of another control are not controls of their own.
bool is_control(const QWidget& widget) {
  if (widget.objectName().startsWith("qt_") || widget.inherits("QTableCornerButton") || widget.inherits("QHeaderView"))
    return false;
  const QWidget* parent = widget.parentWidget();
  if (parent != nullptr &&
      (parent->inherits("QComboBox") || parent->inherits("QAbstractSpinBox") || parent->inherits("QLineEdit") ||
       parent->inherits("QTabBar") || parent->inherits("QDockWidget")))
    return false;
  return qobject_cast<const QAbstractButton*>(&widget) || qobject_cast<const QLineEdit*>(&widget) ||
         qobject_cast<const QComboBox*>(&widget) || qobject_cast<const QAbstractItemView*>(&widget) ||
         qobject_cast<const QAbstractSpinBox*>(&widget) || qobject_cast<const QAbstractSlider*>(&widget) ||
         qobject_cast<const QTabBar*>(&widget) || qobject_cast<const QTextEdit*>(&widget) ||
         qobject_cast<const TimelineCanvas*>(&widget) || qobject_cast<const FabricCanvas*>(&widget);
}

std::vector<QWidget*> visible_controls(MainWindow& window) {
  std::vector<QWidget*> out;
  for (QWidget* widget : window.findChildren<QWidget*>())
    if (widget->isVisible() && widget->isEnabled() && !widget->inherits("QScrollBar") && is_control(*widget))
      out.push_back(widget);
  return out;
}

class KeyboardTest : public WindowTest {
 protected:
  void SetUp() override {
    WindowTest::SetUp();
    window_->activateWindow();
    // Everything that hides behind "More".
    for (QPushButton* button : window_->configure().findChildren<QPushButton*>())
      if (button->isCheckable()) button->setChecked(true);
    ASSERT_TRUE(settle());
  }
  /// Opens each tab in turn, once what it shows is there.
  void in_every_tab(const std::function<void(const std::string& tab)>& check) {
    for (const QString& tab : window_->tabs().names()) {
      ASSERT_TRUE(window_->tabs().open(tab));
      ASSERT_TRUE(settle()) << plain(tab);
      QApplication::processEvents();
      check(plain(tab));
    }
  }
};

TEST_F(KeyboardTest, TabReachesEveryControl) {
  in_every_tab([&](const std::string& tab) {
    window_->tabs().setFocus();
    std::set<const QWidget*> reached;
    const QWidget* first = QApplication::focusWidget();
    ASSERT_NE(first, nullptr) << tab;
    for (int presses = 0; presses < 1000; ++presses) {
      QWidget* now = QApplication::focusWidget();
      if (now == nullptr || (presses > 0 && now == first)) break;
      reached.insert(now);
      // A proxy has the focus for the control that it is part of.
      for (QWidget* above = now->parentWidget(); above != nullptr; above = above->parentWidget())
        if (above->focusProxy() == now || above->inherits("QComboBox")) reached.insert(above);
      QTest::keyClick(now, Qt::Key_Tab);
    }
    const std::vector<QWidget*> controls = visible_controls(*window_);
    EXPECT_GT(controls.size(), 40U) << "the form alone has as many";
    for (const QWidget* control : controls)
      EXPECT_TRUE(reached.contains(control)) << tab << ": Tab does not reach " << describe(control);
  });
}

TEST_F(KeyboardTest, EveryControlHasANameForScreenReaders) {
  in_every_tab([&](const std::string& tab) {
    for (QWidget* control : visible_controls(*window_)) {
      QAccessibleInterface* heard = QAccessible::queryAccessibleInterface(control);
      ASSERT_NE(heard, nullptr) << tab << ": " << describe(control);
      EXPECT_FALSE(heard->text(QAccessible::Name).isEmpty()) << tab << ": no name for " << describe(control);
    }
  });
}

TEST_F(KeyboardTest, EveryActionOfTheMenuHasAKeyOrALetter) {
  std::set<QKeySequence> keys;
  for (const QAction* action : window_->findChildren<QAction*>()) {
    const QKeySequence key = action->shortcut();
    if (key.isEmpty() || action->shortcutContext() == Qt::WidgetWithChildrenShortcut) continue;
    EXPECT_TRUE(keys.insert(key).second) << "twice: " << plain(key.toString());
  }
  EXPECT_GT(keys.size(), 20U);
}

}  // namespace
}  // namespace stepcast::keyboard_test
