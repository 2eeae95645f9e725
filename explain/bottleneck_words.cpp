#include "explain/bottleneck_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

/// Changes that make nodes alike and are worth a word; in the order of the settings, the best first.
std::vector<const SettingEffect*> evening_changes(const Explanation& e) {
  std::vector<const SettingEffect*> out;
  for (const SettingEffect& effect : e.settings)
    if (effect.evens_nodes && effect.legal && effect.fits && effect.throughput >= kWorthSaying) out.push_back(&effect);
  return out;
}

/// Nodes that are slower than the others hold all of them up.
std::string uneven_sentence(const Explanation& e) {
  std::string out;
  for (const SettingEffect* effect : evening_changes(e))
    out += fmt::format("{}{} brings {}{}", out.empty() ? "Some nodes keep the others waiting: " : "; ", effect->change,
                       signed_percent(effect->throughput), out.empty() ? " throughput" : "");
  return out.empty() ? out : out + ".";
}

/// Whether they hold the step up more than any figure of the hardware does.
bool uneven_nodes_first(const Explanation& e) {
  const auto changes = evening_changes(e);
  return !changes.empty() && (e.figures.empty() || changes.front()->throughput >= e.figures.front().throughput);
}

/// What is asked most when a network is bought.
std::string nic_sentence(const Explanation& e) {
  for (const SettingEffect& effect : e.settings)
    if (effect.legal && effect.one_more_nic)
      return fmt::format("One more NIC a node brings {} throughput.", signed_percent(effect.throughput));
  return {};
}

/// "strategy", "cluster" or "workload": what a changed setting is a matter of. More actors are more machines.
std::string_view part_of(std::string_view word) {
  return word.starts_with("strategy.actors.nodes=") ? "cluster" : word.substr(0, word.find('.'));
}

/// The best legal change that fits memory of one part of the scenario, beside those that make nodes alike
/// (uneven_sentence); null where none is worth a word.
const SettingEffect* best_change(const Explanation& e, std::string_view part) {
  const auto of_part = [&](const SettingEffect& effect) {
    return !effect.evens_nodes && std::all_of(effect.words.begin(), effect.words.end(),
                                              [&](const std::string& word) { return part_of(word) == part; });
  };
  const SettingEffect* best = nullptr;
  for (const SettingEffect& effect : e.settings)
    if (effect.legal && effect.fits && effect.throughput >= kWorthSaying && of_part(effect) &&
        (best == nullptr || effect.throughput > best->throughput))
      best = &effect;
  return best;
}

/// What the strategy can bring, which keeps the machines and the work of a step as they are.
std::string strategy_sentence(const Explanation& e) {
  const SettingEffect* best = best_change(e, "strategy");
  if (best == nullptr) return "No single change of the strategy that fits memory brings 0.5 % or more.";
  return fmt::format("Of changes of the strategy, {} helps most: {} throughput, {} of {} memory{}.", best->change,
                     signed_percent(best->throughput), humane(best->peak), humane(best->capacity),
                     best->more_samples ? "; not counted: samples to the target may grow" : "");
}

/// What other machines, and another batch or precision, bring most.
std::string beyond_strategy_sentence(const Explanation& e) {
  const SettingEffect *machines = best_change(e, "cluster"), *work = best_change(e, "workload");
  if (machines == nullptr) std::swap(machines, work);
  if (machines == nullptr)
    return "Beyond it, no other machines, batch or precision that fit memory bring 0.5 % or more.";
  std::string out = fmt::format("Beyond the strategy, {} brings {} throughput", machines->change,
                                signed_percent(machines->throughput));
  if (work != nullptr) out += fmt::format(", and {} {}", work->change, signed_percent(work->throughput));
  const bool more = machines->more_samples || (work != nullptr && work->more_samples);
  if (more) out += "; not counted: samples to the target may grow";
  return out + ".";
}

std::string memory_sentence(const Explanation& e) {
  const std::optional<std::string> why = misfit_words(e.prediction.memory);
  return why ? fmt::format("It does not fit: {}.", *why) : std::string();
}

}  // namespace

std::string signed_percent(double share) {
  const double percent = 100 * share;
  if (std::abs(percent) < 0.05) return "±0.0 %";
  return fmt::format("{}{:.1f} %", percent > 0 ? "+" : "−", std::abs(percent));
}

std::optional<std::string> misfit_words(const MemoryReport& memory) {
  if (memory.fits || memory.stages.empty()) return std::nullopt;
  const Bytes peak = memory.stages.at(static_cast<std::size_t>(memory.worst_stage)).total();
  if (peak <= memory.capacity) return "what is offloaded is more than the node's memory";
  return fmt::format("{} too much on the fullest device", humane(peak - memory.capacity));
}

std::vector<std::string> bottleneck_words(const Explanation& explanation) {
  std::vector<std::string> out;
  std::string uneven = uneven_sentence(explanation), figures = figures_sentence(explanation);
  if (!uneven_nodes_first(explanation)) std::swap(uneven, figures);
  for (std::string sentence :
       {memory_sentence(explanation), path_sentence(explanation), uneven, figures, nic_sentence(explanation),
        strategy_sentence(explanation), beyond_strategy_sentence(explanation)})
    if (!sentence.empty()) out.push_back(std::move(sentence));
  return out;
}

}  // namespace stepcast
