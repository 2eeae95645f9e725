#include "explain/bottleneck_words.hpp"

#include <fmt/format.h>

#include <cmath>

#include "report/humane.hpp"

namespace stepcast {

namespace {

/// Shares below this are not worth a word.
constexpr double kWorthSaying = 0.005;

std::string path_sentence(const Explanation& e) {
  if (e.critical_path.empty()) return {};
  const Seconds step = e.prediction.step_time;
  const PathPart& first = e.critical_path[0];
  std::string out = fmt::format("Of the {} step {} ({}) goes to {}", humane(step), percent(first.time / step),
                                humane(first.time), first.what);
  if (e.critical_path.size() > 1 && e.critical_path[1].time / step > kWorthSaying)
    out += fmt::format("; next comes {} with {}", e.critical_path[1].what, percent(e.critical_path[1].time / step));
  return out + ".";
}

std::string figure_phrase(const FigureEffect& figure) {
  return fmt::format("10 % {} {} ({}) brings {}", figure.rate ? "more" : "less", figure.words, figure.value,
                     signed_percent(figure.throughput));
}

std::string figures_sentence(const Explanation& e) {
  if (e.figures.empty() || e.figures[0].throughput < kWorthSaying)
    return "No single figure of the hardware holds the step up: 10 % more of any brings less than 0.5 %.";
  std::string out =
      fmt::format("The step is bound most by the {}: {} throughput", e.figures[0].words, figure_phrase(e.figures[0]));
  if (e.figures.size() > 1 && e.figures[1].throughput >= kWorthSaying) out += "; " + figure_phrase(e.figures[1]);
  return out + ".";
}

/// What is asked most when a network is bought.
std::string nic_sentence(const Explanation& e) {
  for (const SettingEffect& effect : e.settings)
    if (effect.legal && effect.one_more_nic)
      return fmt::format("One more NIC a node brings {} throughput.", signed_percent(effect.throughput));
  return {};
}

/// The best change that keeps the work of a step and the machines as they are.
std::string setting_sentence(const Explanation& e) {
  for (const SettingEffect& effect : e.settings) {
    const bool same_job = !effect.change.starts_with("nodes") && !effect.change.starts_with("NICs") &&
                          !effect.change.starts_with("global_batch") && !effect.change.starts_with("precision") &&
                          !effect.change.starts_with("oversubscription");
    if (!effect.legal || !effect.fits || !same_job) continue;
    if (effect.throughput < kWorthSaying) break;
    return fmt::format("Of the settings, {} helps most: {} throughput, {} of {} memory.", effect.change,
                       signed_percent(effect.throughput), humane(effect.peak), humane(effect.capacity));
  }
  return "No single change of a setting that fits memory brings 0.5 % or more.";
}

std::string memory_sentence(const Explanation& e) {
  const MemoryReport& memory = e.prediction.memory;
  if (memory.fits || memory.stages.empty()) return {};
  const Bytes peak = memory.stages.at(static_cast<std::size_t>(memory.worst_stage)).total();
  return fmt::format("It does not fit: {} too much on the fullest device.", humane(peak - memory.capacity));
}

}  // namespace

std::string signed_percent(double share) {
  const double percent = 100 * share;
  if (std::abs(percent) < 0.05) return "±0.0 %";
  return fmt::format("{}{:.1f} %", percent > 0 ? "+" : "−", std::abs(percent));
}

std::vector<std::string> bottleneck_words(const Explanation& explanation) {
  std::vector<std::string> out;
  for (std::string sentence : {memory_sentence(explanation), path_sentence(explanation), figures_sentence(explanation),
                               nic_sentence(explanation), setting_sentence(explanation)})
    if (!sentence.empty()) out.push_back(std::move(sentence));
  return out;
}

}  // namespace stepcast
