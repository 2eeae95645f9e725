#include "checks/measured/progress_bars.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <regex>
#include <string>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/log_text.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// States of a bar are short; what is longer is something else.
constexpr std::size_t kLongestState = 4096;

/// What bars that count no steps of training are called, or begin with.
constexpr std::array<std::string_view, 16> kOtherWork{"load",  "fetch", "download", "eval", "valid", "test",
                                                      "map",   "filt",  "sav",      "pack", "token", "predict",
                                                      "gener", "sanit", "upload",   "cach"};

/// What a bar shows at one moment.
struct BarState {
  std::string bar;  ///< what tells it from others: its name and how much it counts to
  double elapsed_s = 0;
  double step_s = 0;
};

/// "01:10", "9:07:58".
double elapsed_in(const std::string& text) {
  double out = 0, part = 0;
  for (const char c : text) {
    if (c == ':') {
      out = (out + part) * 60;
      part = 0;
    } else {
      part = part * 10 + (c - '0');
    }
  }
  return out + part;
}

bool is_other_work(const std::string& name) {
  const std::string low = lower_case(name);
  return std::any_of(kOtherWork.begin(), kOtherWork.end(), [&](std::string_view word) {
    const auto at = low.find(word);
    return at != std::string::npos && (at == 0 || low[at - 1] < 'a' || low[at - 1] > 'z');
  });
}

std::optional<BarState> state_of(const std::string& text) {
  static const std::regex kRate(R"((?:^|[^\w.,-])([0-9]+\.?[0-9]*)\s*(s/it|it/s)(?!\w))");
  static const std::regex kBar(R"(^([^|]*?)[0-9]+%\|[^|]*\|\s*[0-9.]+[kMG]?/([0-9.]+[kMG]?)\s*\[([0-9:]+)<)");
  std::smatch rate, bar;
  if (!std::regex_search(text, rate, kRate)) return std::nullopt;
  const std::optional<double> number = figure_of(rate[1].str());
  if (!number || *number <= 0) return std::nullopt;
  BarState out;
  out.step_s = rate[2] == "s/it" ? *number : 1 / *number;
  if (!std::regex_search(text, bar, kBar)) return out;
  std::string name = bar[1].str();
  if (is_other_work(name)) return std::nullopt;
  // "Epoch 3:" is the bar of "Epoch 2:" again.
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  out.bar = std::string(trimmed(name)) + " " + bar[2].str();
  out.elapsed_s = elapsed_in(bar[3].str());
  return out;
}

}  // namespace

std::vector<double> step_times_of_bars(std::string_view text) {
  struct Bar {
    double elapsed_s = 0;
    std::vector<double> step_times;
  };
  std::map<std::string, Bar> bars;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view state = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (state.size() > kLongestState || state.find("it") == std::string_view::npos) continue;
    const std::optional<BarState> shown = state_of(without_colours(state));
    if (!shown) continue;
    Bar& bar = bars[shown->bar];
    bar.elapsed_s = std::max(bar.elapsed_s, shown->elapsed_s);
    bar.step_times.push_back(shown->step_s);
  }
  const auto longest = std::max_element(
      bars.begin(), bars.end(), [](const auto& a, const auto& b) { return a.second.elapsed_s < b.second.elapsed_s; });
  return longest == bars.end() ? std::vector<double>() : std::move(longest->second.step_times);
}

}  // namespace stepcast
