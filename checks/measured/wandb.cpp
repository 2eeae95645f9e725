#include "checks/measured/wandb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace stepcast {

namespace {

constexpr std::string_view kBetween = " - ";
constexpr std::array<std::string_view, 2> kBounds{"__MIN", "__MAX"};
constexpr std::array<std::string_view, 3> kAxes{"_step", "_runtime", "_timestamp"};

bool is_bound(const std::string& name, const NamedSeries& series) {
  return std::any_of(kBounds.begin(), kBounds.end(), [&](std::string_view bound) {
    return name.ends_with(bound) && series.count(name.substr(0, name.size() - bound.size())) > 0;
  });
}

/// Whether the columns are a chart's: one has bounds beside it, or all but the axis are of runs.
bool is_chart(const NamedSeries& series) {
  std::size_t of_runs = 0, others = 0;
  for (const auto& [name, parts] : series) {
    if (is_bound(name, series)) return true;
    (name.find(kBetween) != std::string::npos ? of_runs : others) += 1;
  }
  return of_runs > 0 && others <= 1;
}

std::vector<double> without_gaps(const SampleParts& parts) {
  std::vector<double> out;
  for (const std::vector<double>& part : parts)
    for (const double sample : part)
      if (!std::isnan(sample)) out.push_back(sample);
  return out;
}

}  // namespace

void join_wandb_runs(NamedSeries& series, std::vector<std::string>& notes) {
  if (!is_chart(series)) return;
  NamedSeries out;
  std::set<std::string> runs;
  for (const auto& [name, parts] : series) {
    if (is_bound(name, series)) continue;
    const std::size_t between = name.rfind(kBetween);
    if (between == std::string::npos) {
      out[name] = parts;
      continue;
    }
    const std::string metric = name.substr(between + kBetween.size());
    if (std::find(kAxes.begin(), kAxes.end(), metric) != kAxes.end()) continue;
    // Steps at which another run alone has a point are gaps, no samples.
    std::vector<double> samples = without_gaps(parts);
    if (samples.empty()) continue;
    runs.insert(name.substr(0, between));
    out[name] = {samples};
    out[metric].push_back(std::move(samples));
  }
  if (runs.size() > 1)
    notes.push_back(fmt::format("{} runs count together ({}): --series METRIC=\"RUN - NAME\" takes one", runs.size(),
                                fmt::join(runs, ", ")));
  series = std::move(out);
}

std::filesystem::path wandb_file(const std::filesystem::path& folder) {
  std::error_code error;
  for (const std::filesystem::path& place : {folder / "files", folder})
    for (const char* name : {"wandb-history.jsonl", "wandb-summary.json"})
      if (std::filesystem::is_regular_file(place / name, error)) return place / name;
  return {};
}

std::string_view without_group(std::string_view name) {
  constexpr std::array<std::string_view, 9> kGroups{"train", "training", "perf", "performance", "throughput",
                                                    "speed", "metrics",  "time", "timing"};
  for (const std::string_view group : kGroups) {
    // Nested keys of JSON are joined by dots.
    if (!name.starts_with(group) || name.size() <= group.size() + 1) continue;
    if (name[group.size()] != '/' && name[group.size()] != '.') continue;
    name.remove_prefix(group.size() + 1);
    break;
  }
  for (const std::string_view statistic : {".mean", ".last"})
    if (name.ends_with(statistic)) name.remove_suffix(statistic.size());
  return name;
}

}  // namespace stepcast
