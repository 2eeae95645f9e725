#include "gui/theme/theme.hpp"

#include <QApplication>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleOption>

namespace stepcast {

namespace {

const ThemeColors kLight{.window = QColor(0xf3, 0xf4, 0xf6),
                         .surface = QColor(0xff, 0xff, 0xff),
                         .raised = QColor(0xea, 0xec, 0xf0),
                         .line = QColor(0xd5, 0xd9, 0xdf),
                         .text = QColor(0x1d, 0x22, 0x2b),
                         .muted = QColor(0x5f, 0x68, 0x76),
                         .accent = QColor(0x00, 0x72, 0xb2),
                         .good = QColor(0x00, 0x7d, 0x5b),
                         .bad = QColor(0xb8, 0x4a, 0x00),
                         .warning_surface = QColor(0xfd, 0xef, 0xe3)};
const ThemeColors kDark{.window = QColor(0x1a, 0x1d, 0x23),
                        .surface = QColor(0x22, 0x26, 0x2e),
                        .raised = QColor(0x2d, 0x32, 0x3c),
                        .line = QColor(0x3c, 0x43, 0x4f),
                        .text = QColor(0xe6, 0xe9, 0xee),
                        .muted = QColor(0x9c, 0xa5, 0xb3),
                        .accent = QColor(0x56, 0xb4, 0xe9),
                        .good = QColor(0x2f, 0xc4, 0x97),
                        .bad = QColor(0xf0, 0x8a, 0x3c),
                        .warning_surface = QColor(0x3d, 0x2b, 0x1c)};

Theme theme_in_use = Theme::light;

QPalette palette_of(const ThemeColors& c) {
  QPalette p;
  p.setColor(QPalette::Window, c.window);
  p.setColor(QPalette::WindowText, c.text);
  p.setColor(QPalette::Base, c.surface);
  p.setColor(QPalette::AlternateBase, c.window);
  p.setColor(QPalette::Text, c.text);
  p.setColor(QPalette::PlaceholderText, c.muted);
  p.setColor(QPalette::Button, c.raised);
  p.setColor(QPalette::ButtonText, c.text);
  p.setColor(QPalette::BrightText, c.bad);
  p.setColor(QPalette::ToolTipBase, c.surface);
  p.setColor(QPalette::ToolTipText, c.text);
  p.setColor(QPalette::Highlight, c.accent);
  p.setColor(QPalette::HighlightedText, theme_in_use == Theme::light ? QColor(Qt::white) : QColor(0x10, 0x14, 0x1a));
  p.setColor(QPalette::Link, c.accent);
  p.setColor(QPalette::Mid, c.line);
  p.setColor(QPalette::Midlight, c.line);
  p.setColor(QPalette::Dark, c.line);
  p.setColor(QPalette::Light, c.surface);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    p.setColor(QPalette::Disabled, role, c.muted);
  return p;
}

QString sheet_of(const ThemeColors& c) {
  return QStringLiteral(R"(
    QWidget#surface, QScrollArea#surface, QWidget#tile { background: %1; }
    QWidget#tile { border: 1px solid %2; border-radius: 6px; }
    QLabel#caption { color: %3; font-size: 8.5pt; }
    QLabel#muted { color: %3; }
    QLabel#warning { color: %5; font-weight: 600; }
    QLabel#section { font-weight: 600; color: %4; }
    QLabel#fault { color: %5; font-size: 8.5pt; }
    QLabel#title { font-size: 12.5pt; font-weight: 600; }
    QLabel#exhibit { font-weight: 600; font-size: 10.5pt; }
    QFrame#banner { background: %6; border: 1px solid %5; border-radius: 6px; }
    QTableView, QTreeView { border: 1px solid %2; border-radius: 4px; gridline-color: %7; background: %1; }
    QHeaderView::section { background: %7; border: 0; border-right: 1px solid %2; padding: 3px 6px; font-weight: 600; }
    QTabWidget::pane { border: 1px solid %2; border-radius: 6px; top: -1px; background: %1; }
    QTabBar::tab { padding: 5px 5px; border: 1px solid transparent; color: %3; }
    QTabBar::tab:selected { color: %8; background: %1; border-color: %2; border-bottom-color: %1;
                            border-top-left-radius: 6px; border-top-right-radius: 6px; font-weight: 600; }
    QTabBar::tab:hover { color: %8; }
    QToolTip { padding: 4px; border: 1px solid %2; }
    QLineEdit[faulty="true"], QComboBox[faulty="true"] { border: 1px solid %5; border-radius: 3px; }
    QDockWidget { font-weight: 600; }
    QSplitter::handle { background: transparent; }
    QStatusBar::item { border: 0; }
  )")
      .arg(c.surface.name(), c.line.name(), c.muted.name(), c.accent.name(), c.bad.name(), c.warning_surface.name(),
           c.window.name(), c.text.name());
}

/// Fusion draws the outline of a box in a shade of the window, which nobody sees in the dark.
class SeenBoxes : public QProxyStyle {
 public:
  SeenBoxes() : QProxyStyle(QStringLiteral("Fusion")) {}
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element != PE_IndicatorCheckBox) return;
    const bool focus = option->state.testFlag(State_HasFocus) && option->state.testFlag(State_KeyboardFocusChange);
    painter->save();
    painter->setBrush(Qt::NoBrush);
    painter->setPen(focus ? theme_colors().accent : theme_colors().muted);
    painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
    painter->restore();
  }
};

}  // namespace

const ThemeColors& theme_colors() { return theme_in_use == Theme::light ? kLight : kDark; }
Theme current_theme() { return theme_in_use; }

void apply_theme(QApplication& application, Theme theme) {
  theme_in_use = theme;
  QApplication::setStyle(new SeenBoxes);
  QApplication::setPalette(palette_of(theme_colors()));
  application.setStyleSheet(sheet_of(theme_colors()));
}

Theme system_theme() { return QPalette().color(QPalette::Window).lightness() < 128 ? Theme::dark : Theme::light; }

}  // namespace stepcast
