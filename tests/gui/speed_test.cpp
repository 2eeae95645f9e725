// How long the window's thread is busy at a time, and how much memory it takes: printed, and times asserted only
// against what would be a hang, for machines are shared.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>

#include "gui/view-models/form_fields.hpp"
#include "gui/view-models/qt_text.hpp"
#include "gui/view-models/timeline_data.hpp"
#include "gui/view-models/timeline_model.hpp"
#include "gui/views/result_tabs.hpp"
#include "tests/gui/gui_fixture.hpp"

namespace stepcast::speed_test {
namespace {

constexpr double kFrame = 16;  // milliseconds

void print(const std::string& what, double value, const char* unit, double wanted) {
  std::printf("  %-58s %8.1f %s (at most %g)\n", what.c_str(), value, unit, wanted);
}

/// Milliseconds of this thread's processor: what else the machine does is left out.
double milliseconds(const std::function<void()>& what) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double start = now();
  what();
  return now() - start;
}

/// Of this process.
double resident_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) * 1024 / 1e6;
  return 0;
}

/// Scenarios of very different sizes: what is quick on one may not be on another.
const std::vector<std::string>& scenarios() {
  static const std::vector<std::string> kScenarios{"resnet50-v100-8nodes.json", "llama3-70b-h100-512.json",
                                                   "gpt3-175b-a100-1024.json"};
  return kScenarios;
}

class SpeedTest : public WindowTest {
 protected:
  /// The longest that the window could not answer while something was done and its consequences came in.
  double longest_block(const std::function<void()>& what) {
    double longest = milliseconds(what);
    wait_until([&] {
      longest = std::max(longest, milliseconds([] { QApplication::processEvents(QEventLoop::AllEvents, 1); }));
      return window_->is_settled();
    });
    return longest;
  }
};

TEST_F(SpeedTest, WindowIsThere) {
  window_.reset();
  const double took = milliseconds([&] {
    open("llama3-70b-h100-512.json");
    (void)window_->grab();
  });
  print("window made, scenario opened, first picture drawn", took, "ms", 1000);
  EXPECT_LT(took, 1000 * kHangFactor);
}

TEST_F(SpeedTest, AFieldChangeToTheClosedForm) {
  for (const std::string& scenario : scenarios()) {
    open(scenario);
    const int nodes = configuration().value("/cluster/nodes");
    double longest = 0, form = 0;
    for (const int more : {2, 4, 1, 2, 1}) {
      longest = std::max(longest, milliseconds([&] { configuration().set_value("/cluster/nodes", nodes * more); }));
      form = std::max(form, configuration().last_milliseconds());
    }
    print(scenario + ": closed form", form, "ms", kFrame);
    print(scenario + ": closed form, every field and the open tab", longest, "ms", kFrame);
    EXPECT_LT(longest, kFrame * kHangFactor);
  }
}

TEST_F(SpeedTest, ListsOfLegalValues) {
  for (const std::string& scenario : scenarios()) {
    open(scenario);
    double longest = 0;
    std::string slowest;
    for (const FormSection& section : form_sections())
      for (const FormField& field : section.fields) {
        const double took = milliseconds([&] { (void)configuration().legal_values(field); });
        if (took > longest) slowest = field.pointer;
        longest = std::max(longest, took);
      }
    print(fmt::format("{}: opening the list of {}", scenario, slowest), longest, "ms", kFrame);
    EXPECT_LT(longest, 200 * kHangFactor);
  }
}

TEST_F(SpeedTest, ChoosingAStrategy) {
  for (const std::string& scenario : scenarios()) {
    open(scenario);
    const double took = milliseconds([&] { configuration().choose_strategy(); });
    print(scenario + ": a strategy chosen", took, "ms", kFrame);
    EXPECT_LT(took, 200 * kHangFactor);
  }
}

TEST_F(SpeedTest, EveryTabLetsTheWindowAnswer) {
  for (const std::string& scenario : scenarios()) {
    open(scenario);
    ASSERT_TRUE(settle());
    for (const QString& tab : window_->tabs().names()) {
      window_->tabs().open("step");
      const double block = longest_block([&] { window_->tabs().open(tab); });
      print(scenario + ": " + plain(tab), block, "ms", 100);
      EXPECT_LT(block, 100 * kHangFactor) << plain(tab);
    }
  }
}

/// A step of more than 100,000 slices, on screen.
TEST_F(SpeedTest, MemoryWithALargeTimelineOpen) {
  window_->tabs().open("timeline");
  ASSERT_TRUE(settle());
  const auto timeline = window_->findChild<TimelineModel*>()->data();
  ASSERT_NE(timeline, nullptr) << plain(forecast().status());
  EXPECT_GE(timeline->events, 100'000U);
  (void)window_->grab();
  const double megabytes = resident_megabytes();
  print("memory with " + std::to_string(timeline->events) + " slices open", megabytes, "MB", 400);
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(megabytes, 400);
#endif
}

}  // namespace
}  // namespace stepcast::speed_test
