#include "checks/measured/keras_bars.hpp"

#include <algorithm>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/log_text.hpp"

namespace stepcast {

namespace {

/// States of a bar are short; what is longer is something else.
constexpr std::size_t kLongestState = 4096;

/// A bar, or a line of `verbose=2`, at one moment.
struct KerasState {
  double done = 0, all = 0, elapsed_s = 0;
  double figure = 0;  ///< seconds of a step, or samples a second
  bool counts_samples = false;
  bool validated = false;         ///< shown after the validation of its epoch
  bool holds_validation = false;  ///< whose time is in that of a step
  std::size_t epoch = 0;          ///< of the `Epoch 2/3` above it, counted from 1; 0: none is
};

/// Keras 3 stops its clock before it validates: `━━━━ 5s 51ms/step`, and `- 5s - 51ms/step` without a bar.
bool is_of_keras_3(const std::string& before_time) {
  static const std::regex kLine(R"(^- [0-9]+s - $)");
  return before_time.find("━") != std::string::npos || std::regex_search(before_time, kLine);
}

std::optional<KerasState> state_of(const std::string& text) {
  static const std::regex kState(
      R"((?:^|[\s:>])([0-9]{1,9})/([0-9]{1,9})\s(.*?)([0-9]+\.?[0-9]*)(s|ms|us|µs)/(step|sample)(?!\w))");
  static const std::regex kElapsed(R"(([0-9]+)s)");
  std::smatch found, elapsed;
  if (text.find("loss") == std::string::npos || !std::regex_search(text, found, kState)) return std::nullopt;
  KerasState out;
  const std::optional<double> number = figure_of(found[4].str());
  if (!number || *number <= 0) return std::nullopt;
  out.done = figure_of(found[1].str()).value_or(0);
  out.all = figure_of(found[2].str()).value_or(0);
  const double in_second = found[5] == "s" ? 1 : found[5] == "ms" ? 1e3 : 1e6;
  out.counts_samples = found[6] == "sample";
  out.figure = out.counts_samples ? in_second / *number : *number / in_second;
  const std::string before = found[3].str();
  if (std::regex_search(before, elapsed, kElapsed)) out.elapsed_s = figure_of(elapsed[1].str()).value_or(0);
  out.validated = text.find("val_") != std::string::npos;
  out.holds_validation = out.validated && !is_of_keras_3(before);
  return out;
}

bool begins_epoch(const std::string& line) {
  static const std::regex kEpoch(R"((?:^|[\s:>])Epoch [0-9]+/[0-9]+\s*$)");
  return std::regex_search(line, kEpoch);
}

/// Whether a state is of the same bar as one before it. A bar that is full is shown again only when it has validated.
bool goes_on(const KerasState& before, const KerasState& now) {
  if (before.epoch != now.epoch || before.all != now.all || now.done < before.done) return false;
  return before.done < before.all || (now.validated && !before.validated);
}

/// The last state of each bar.
std::vector<KerasState> bars_of(std::string_view text) {
  std::vector<KerasState> out;
  std::size_t epochs = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool tells = raw.find("/step") != std::string_view::npos || raw.find("/sample") != std::string_view::npos ||
                       raw.find("Epoch ") != std::string_view::npos;
    if (raw.size() > kLongestState || !tells) continue;
    std::string line = without_colours(raw);
    std::erase(line, '\b');
    if (begins_epoch(line)) ++epochs;
    std::optional<KerasState> state = state_of(line);
    if (!state) continue;
    state->epoch = epochs;
    if (out.empty() || !goes_on(out.back(), *state))
      out.push_back(*state);
    else if (!state->holds_validation)
      out.back() = *state;
  }
  return out;
}

/// The bars that train: the first of each epoch, else the one that ran longest.
std::vector<KerasState> bars_of_training(std::string_view text) {
  const std::vector<KerasState> all = bars_of(text);
  std::vector<KerasState> out;
  for (const KerasState& bar : all)
    if (bar.epoch > (out.empty() ? 0 : out.back().epoch)) out.push_back(bar);
  const auto longest =
      std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.elapsed_s < b.elapsed_s; });
  if (out.empty() && longest != all.end()) out.push_back(*longest);
  return out;
}

}  // namespace

NamedSeries read_keras_bars(std::string_view text) {
  NamedSeries out;
  for (const KerasState& bar : bars_of_training(text))
    if (!bar.holds_validation) add_sample(out, bar.counts_samples ? "samples_per_s" : "step_time_s", bar.figure);
  return out;
}

bool keras_bars_hold_validation(std::string_view text) {
  const std::vector<KerasState> bars = bars_of_training(text);
  return std::any_of(bars.begin(), bars.end(), [](const KerasState& bar) { return bar.holds_validation; });
}

}  // namespace stepcast
