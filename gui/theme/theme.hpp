#pragma once

#include <QColor>

class QApplication;

namespace stepcast {

enum class Theme { light, dark };

/// Colours of the window beyond Qt's palette.
struct ThemeColors {
  QColor window, surface, raised, line, text, muted, accent, good, bad, warning_surface;
};
const ThemeColors& theme_colors();
Theme current_theme();

/// Style, palette and style sheet of the whole program.
void apply_theme(QApplication& application, Theme theme);
/// What the desktop seems to use.
Theme system_theme();

}  // namespace stepcast
