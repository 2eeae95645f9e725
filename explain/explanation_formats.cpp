#include <fmt/format.h>

#include <algorithm>

#include "explain/bottleneck_words.hpp"
#include "explain/explanation.hpp"
#include "report/humane.hpp"
#include "report/text_layout.hpp"

namespace stepcast {

namespace {

constexpr int kShareBar = 30;
/// Changes that are not legal are counted by reason in the text, and listed in the JSON.
constexpr std::size_t kMostSettings = 24;

std::string trimmed(const std::string& line) { return line.substr(0, line.find_last_not_of(' ') + 1) + "\n"; }

/// Without a sign before nothing.
std::string elasticity_text(double value) { return fmt::format("{:.3f}", std::abs(value) < 0.0005 ? 0.0 : value); }

}  // namespace

std::string wrapped_sentence(const std::string& text) { return wrapped(text, "  ", "  "); }

namespace {

std::string path_table(const Explanation& e) {
  std::string out = "\nCritical path: what the longest chain of the step waits for\n";
  for (const PathPart& part : e.critical_path) {
    const double share = part.time / e.prediction.step_time;
    out += trimmed(fmt::format("  {}{}{}  {}", pad_right(part.what, 36), pad_left(humane(part.time), 11),
                               pad_left(percent(share), 10), bar(std::clamp(share, 0.0, 1.0), kShareBar)));
  }
  return out;
}

std::string cost_text(const std::optional<double>& cost) { return cost ? signed_percent(*cost) : "–"; }

std::string figures_table(const Explanation& e) {
  std::string out = "\nWhat 10 % more of a rate, or 10 % less of a time, brings\n";
  out += fmt::format("  {}{}{}{}\n", pad_right("", 42), pad_left("throughput", 12), pad_left("cost/sample", 13),
                     pad_left("elasticity", 12));
  for (const FigureEffect& f : e.figures)
    out += trimmed(fmt::format("  {}{}{}{}  {}", pad_right(f.words, 42), pad_left(signed_percent(f.throughput), 12),
                               pad_left(cost_text(f.cost), 13), pad_left(elasticity_text(f.elasticity), 12),
                               f.value.size() < 18 ? f.value : ""));
  return out;
}

std::string settings_table(const Explanation& e) {
  std::string out = "\nWhat other settings bring\n";
  out += fmt::format("  {}{}{}{}\n", pad_right("", 48), pad_left("throughput", 12), pad_left("cost/sample", 13),
                     pad_left("memory", 24));
  std::size_t legal = 0, refused = 0;
  bool marked = false;
  for (const SettingEffect& s : e.settings) {
    if (!s.legal) {
      ++refused;
      continue;
    }
    if (++legal > kMostSettings) continue;
    const std::string memory = fmt::format("{} of {}{}", humane(s.peak), humane(s.capacity), s.fits ? "" : " ✗");
    marked = marked || s.more_samples;
    out += trimmed(fmt::format("  {}{}{}{}", pad_right(s.change + (s.more_samples ? " *" : ""), 48),
                               pad_left(signed_percent(s.throughput), 12), pad_left(cost_text(s.cost), 13),
                               pad_left(memory, 24)));
  }
  if (legal > kMostSettings) out += fmt::format("  … and {} more (--json lists them)\n", legal - kMostSettings);
  if (marked) out += "  * not counted: samples to the target may grow\n";
  if (refused > 0) out += fmt::format("  {} more changes are not legal here (--json says why)\n", refused);
  return out;
}

}  // namespace

std::string text_report(const Explanation& e) {
  const Prediction& p = e.prediction;
  const std::string size = fmt::format("{} node{} · {} device{}", whole(p.nodes), p.nodes == 1 ? "" : "s",
                                       whole(p.devices), p.devices == 1 ? "" : "s");
  std::string out = opening(p.scenario_name.empty() ? "scenario" : p.scenario_name, size) + rule();
  for (const std::string& sentence : e.words) out += wrapped_sentence(sentence);
  out += path_table(e) + figures_table(e) + settings_table(e);
  out += "\n" +
         wrapped_sentence(fmt::format("Effects are changes of the closed form ({} a step; {} {}), at unchanged prices.",
                                      humane(e.closed_form), p.fidelity, humane(p.step_time)));
  return out + fmt::format("stepcast {} · {} · catalogue {}\n", p.version, p.fidelity, p.catalog_hash);
}

Json to_json(const Explanation& e) {
  const auto optional = [](const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); };
  Json path = Json::array(), figures = Json::array(), settings = Json::array();
  for (const PathPart& part : e.critical_path)
    path.push_back({{"what", part.what},
                    {"time_s", part.time.value()},
                    {"share", part.time / e.prediction.step_time},
                    {"operations", part.operations}});
  for (const FigureEffect& f : e.figures)
    figures.push_back({{"name", f.name},
                       {"words", f.words},
                       {"value", f.value},
                       {"kind", f.rate ? "rate" : "time"},
                       {"throughput_change", f.throughput},
                       {"cost_per_sample_change", optional(f.cost)},
                       {"elasticity", f.elasticity}});
  for (const SettingEffect& s : e.settings) {
    Json row{{"change", s.change}, {"set", s.words}, {"legal", s.legal}};
    if (s.legal) {
      row["throughput_change"] = s.throughput;
      row["cost_per_sample_change"] = optional(s.cost);
      row["samples_may_grow"] = s.more_samples;
      row["fits"] = s.fits;
      row["peak_GiB"] = s.peak.in(1_GiB);
    } else {
      row["refusal"] = s.refusal;
    }
    settings.push_back(std::move(row));
  }
  return {{"scenario", e.prediction.scenario_name},
          {"step_time_s", e.prediction.step_time.value()},
          {"closed_form_s", e.closed_form.value()},
          {"fidelity", e.prediction.fidelity},
          {"words", e.words},
          {"critical_path", std::move(path)},
          {"figure_step", kFigureStep},
          {"figures", std::move(figures)},
          {"settings", std::move(settings)},
          {"version", e.prediction.version},
          {"catalog_hash", e.prediction.catalog_hash}};
}

}  // namespace stepcast
