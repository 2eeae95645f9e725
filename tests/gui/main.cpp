#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "gui/guarded_application.hpp"
#include "gui/theme/theme.hpp"

/// Widgets are real, the screen is not: nobody has to watch. Nothing of the user's own settings is touched, and nothing
/// of another test's that runs at the same time: a catalogue that one makes and removes is not the other's.
int main(int argc, char** argv) {
  const QTemporaryDir home;
  for (const char* place : {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"})
    qputenv(place, home.path().toUtf8());
  // A sanitizer that was loaded before this program is not for those that it starts.
  qunsetenv("LD_PRELOAD");
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  ::testing::InitGoogleTest(&argc, argv);
  stepcast::GuardedApplication application(argc, argv);
  QApplication::setOrganizationName(QStringLiteral("stepcast"));
  QApplication::setApplicationName(QStringLiteral("stepcast-test"));
  stepcast::apply_theme(application, stepcast::Theme::light);
  return RUN_ALL_TESTS();
}
