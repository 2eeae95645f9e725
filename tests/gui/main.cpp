#include <gtest/gtest.h>

#include <QApplication>
#include <QStandardPaths>

#include "gui/theme/theme.hpp"

/// Widgets are real, the screen is not: nobody has to watch, and nothing of the user's own settings is touched.
int main(int argc, char** argv) {
  // A sanitizer that was loaded before this program is not for those that it starts.
  qunsetenv("LD_PRELOAD");
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  QApplication application(argc, argv);
  QApplication::setOrganizationName(QStringLiteral("stepcast"));
  QApplication::setApplicationName(QStringLiteral("stepcast-test"));
  QStandardPaths::setTestModeEnabled(true);
  stepcast::apply_theme(application, stepcast::Theme::light);
  return RUN_ALL_TESTS();
}
