#include "explain/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "explain/bottleneck_words.hpp"
#include "explain/text_layout.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

/// Parts of one side in order of first mention.
using Parts = std::vector<std::pair<std::string, Seconds>>;

/// What the mean device does; adds up to the step, for what no part names is one of its own.
Parts parts_of(const Prediction& p) {
  Parts out{{"compute", p.compute}};
  for (const auto& [kind, share] : p.communication.by_kind)
    out.emplace_back(kind == "storage" ? "loading of input" : "exposed " + kind, share.exposed);
  out.emplace_back("pipeline bubble", p.bubble);
  out.emplace_back("synchronisation wait", p.synchronization_wait);
  out.emplace_back("optimizer", p.optimizer);
  out.emplace_back("waiting for the host", p.host);
  out.emplace_back("fixed time of the framework", p.overhead - p.host);
  Seconds named;
  for (const auto& [name, time] : out) named += time;
  out.emplace_back("not attributed", p.step_time - named);
  return out;
}

Parts parts_of(const std::vector<PathPart>& path) {
  Parts out;
  for (const PathPart& part : path) out.emplace_back(part.what, part.time);
  return out;
}

/// Times that round to nothing beside the step.
bool negligible(Seconds time, Seconds step) { return std::abs(time / step) < 1e-9; }

std::vector<PartDifference> differences(const Parts& before, const Parts& after, Seconds step) {
  std::vector<PartDifference> out;
  const auto at = [&out](const std::string& name) -> PartDifference& {
    for (PartDifference& part : out)
      if (part.part == name) return part;
    return out.emplace_back(PartDifference{name, Seconds(0), Seconds(0)});
  };
  for (const auto& [name, time] : before) at(name).before += time;
  for (const auto& [name, time] : after) at(name).after += time;
  std::erase_if(
      out, [&](const PartDifference& part) { return negligible(part.before, step) && negligible(part.after, step); });
  std::stable_sort(out.begin(), out.end(), [](const PartDifference& a, const PartDifference& b) {
    return std::abs(a.change().value()) > std::abs(b.change().value());
  });
  return out;
}

std::optional<double> known(double value) { return value > 0 ? std::optional<double>(value) : std::nullopt; }

std::vector<FigureDifference> figures_of(const Prediction& a, const Prediction& b) {
  const auto memory = [](const Prediction& p) -> std::optional<double> {
    if (p.memory.stages.empty()) return std::nullopt;
    return p.memory.stages.at(static_cast<std::size_t>(p.memory.worst_stage)).total().in(1_GiB);
  };
  const auto cost = [](const Prediction& p) -> std::optional<double> {
    if (!p.cost_rate || p.samples_per_s <= 0) return std::nullopt;
    return p.cost_rate->value() / p.samples_per_s;
  };
  std::vector<FigureDifference> out{
      {"step time", "s", a.step_time.value(), b.step_time.value()},
      {"samples per second", "1/s", known(a.samples_per_s), known(b.samples_per_s)},
      {"tokens per second", "1/s", known(a.tokens_per_s), known(b.tokens_per_s)},
      {"MFU", "", known(a.mfu), known(b.mfu)},
      {"peak memory of a device", "GiB", memory(a), memory(b)},
      {"mean power", "W", known(a.average_power.value()), known(b.average_power.value())},
      {"energy per sample", "J", known(a.energy_per_sample.value()), known(b.energy_per_sample.value())},
      {"cost per sample", "USD", cost(a), cost(b)},
      {"devices", "", known(a.devices), known(b.devices)}};
  std::erase_if(out, [](const FigureDifference& figure) { return !figure.before && !figure.after; });
  return out;
}

std::vector<std::string> words_of(const Comparison& c, const std::vector<PartDifference>& causes) {
  const Seconds change = c.step_after - c.step_before;
  std::vector<std::string> out = c.do_not_fit;
  if (std::abs(change / c.step_before) < 0.0005) {
    out.push_back(fmt::format("The steps take equally long: {} and {}.", humane(c.step_before), humane(c.step_after)));
  } else {
    out.push_back(fmt::format("B takes {} {}: {} instead of {} ({}).", humane(change < Seconds(0) ? -change : change),
                              change < Seconds(0) ? "less" : "longer", humane(c.step_after), humane(c.step_before),
                              signed_percent(change / c.step_before)));
    std::string why = "Of the difference";
    int named = 0;
    for (const PartDifference& part : causes) {
      if (named == 4 || std::abs(part.change() / change) < 0.02) break;
      why += fmt::format("{}{} is {}", named == 0 ? " " : (named == 3 ? ", and " : ", "), signed_time(part.change()),
                         part.part);
      ++named;
    }
    if (named > 0) out.push_back(why + ".");
  }
  const ChangedKey* strongest = nullptr;
  for (const ChangedKey& key : c.keys)
    if (key.alone && (!strongest || std::abs(key.alone->value()) > std::abs(strongest->alone->value())))
      strongest = &key;
  if (strongest && std::abs(*strongest->alone / c.step_before) > 0.0005)
    out.push_back(fmt::format("Of the changed settings, {} ({} → {}) does most by itself: {}.", strongest->key,
                              strongest->before.empty() ? "unset" : strongest->before,
                              strongest->after.empty() ? "unset" : strongest->after, signed_time(*strongest->alone)));
  out.insert(out.end(), c.without_settings.begin(), c.without_settings.end());
  return out;
}

}  // namespace

Comparison compare(const ComparedStep& before, const ComparedStep& after) {
  Comparison out;
  out.before = before.name;
  out.after = after.name;
  out.step_before = before.prediction.step_time;
  out.step_after = after.prediction.step_time;
  out.parts = differences(parts_of(before.prediction), parts_of(after.prediction), out.step_before);
  if (before.detail && after.detail)
    out.path =
        differences(parts_of(before.detail->critical_path), parts_of(after.detail->critical_path), out.step_before);
  out.figures = figures_of(before.prediction, after.prediction);
  for (const auto& [name, side] : {std::pair{"A", &before}, std::pair{"B", &after}})
    if (const auto why = misfit_words(side->prediction.memory))
      out.do_not_fit.push_back(fmt::format("{} does not fit: {}.", name, *why));
  for (const auto& [name, side] : {std::pair{"A", &before}, std::pair{"B", &after}})
    if (!side->holds_settings)
      out.without_settings.push_back(fmt::format(
          "{} was stored by an older version without its settings: what was changed is known in part.", name));
  out.keys = changed_keys(before.settings, after.settings);
  finish(out);
  return out;
}

void finish(Comparison& comparison) {
  comparison.words = words_of(comparison, comparison.path.empty() ? comparison.parts : comparison.path);
}

}  // namespace stepcast
