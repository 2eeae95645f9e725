#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QElapsedTimer>
#include <functional>
#include <memory>

#include "gui/view-models/configuration_model.hpp"
#include "gui/view-models/forecast_model.hpp"
#include "gui/view-models/workspace.hpp"
#include "gui/views/main_window.hpp"

namespace stepcast {

/// How much longer than promised something may take before a test calls it hung: machines are shared.
inline constexpr int kHangFactor = 20;

/// Runs the event loop until something holds; false when it does not within the time.
inline bool wait_until(const std::function<bool()>& holds, int milliseconds = 120'000) {
  QElapsedTimer timer;
  timer.start();
  while (!holds()) {
    if (timer.elapsed() > milliseconds) return false;
    QApplication::processEvents(QEventLoop::AllEvents, 20);
  }
  return true;
}

/// The real window with a shipped scenario, offscreen.
class WindowTest : public ::testing::Test {
 protected:
  void SetUp() override { open("llama3-70b-h100-512.json"); }
  void open(const std::string& scenario) {
    window_.reset();
    workspace_ = std::make_unique<Workspace>(std::vector<std::filesystem::path>{});
    window_ = std::make_unique<MainWindow>(*workspace_);
    window_->set_asks(false);
    ASSERT_TRUE(window_->open(std::filesystem::path(STEPCAST_SOURCE_DIR) / "scenarios" / scenario));
    window_->show();
    QApplication::processEvents();
  }
  ConfigurationModel& configuration() { return workspace_->configuration(); }
  ForecastModel& forecast() { return workspace_->forecast(); }
  bool settle() {
    return wait_until([&] { return window_->is_settled(); });
  }

  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<MainWindow> window_;
};

}  // namespace stepcast
