#include "calibration/importers/measured/power_series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostOthers = 5;
constexpr const char* kChipNames = "node_hwmon_chip_names";
constexpr const char* kSensorLabels = "node_hwmon_sensor_label";

std::string at_host(const std::string& device, const std::string& host) {
  return host.empty() ? device : device + "@" + host;
}

}  // namespace

PowerSeries::Part& PowerSeries::part_of(const MetricOrigin& origin, const SeriesLabels& labels) {
  const std::string key = at_host(origin.device, origin.host);
  const auto [found, added] = places_.emplace(key, parts_.size());
  if (added) parts_.push_back({key, origin, labels, {}});
  return parts_[found->second];
}

/// Metrics whose labels say what others are of.
bool PowerSeries::describes(const std::string& metric, const SeriesLabels& labels, double value) {
  if (metric == "nvidia_smi_index") {
    indices_[at_host(label_of(labels, "uuid"), origin_of(metric, labels).host)] =
        fmt::format("{}", static_cast<long>(std::clamp(value, 0.0, 1e6)));
    return true;
  }
  if (metric == "nvidia_smi_gpu_info") {
    if (const std::string name = label_of(labels, "name"); !name.empty()) results_.accelerator(name);
    return true;
  }
  if (metric == kChipNames) {
    sensor_names_[label_of(labels, "chip")] = label_of(labels, "chip_name");
    return true;
  }
  if (metric == kSensorLabels) {
    sensor_names_[label_of(labels, "chip") + "/" + label_of(labels, "sensor")] = label_of(labels, "label");
    return true;
  }
  return false;
}

PowerColumn PowerSeries::take(const std::string& metric, const SeriesLabels& labels, std::optional<double> seconds,
                              double value) {
  if (describes(metric, labels, value) || is_further_partition(labels)) return PowerColumn::other;
  PowerMetric known = metric_of(metric, labels);
  if (known.column == PowerColumn::other) {
    if (others_.size() < kMostOthers) others_.insert(metric);
    return PowerColumn::other;
  }
  const MetricOrigin origin = origin_of(metric, labels);
  Part& part = part_of(origin, labels);
  const std::string instance = label_of(labels, "GPU_I_ID");
  if (first_instance_.emplace(part.key, instance).first->second != instance) return PowerColumn::other;
  if (known.guessed) {
    const auto found = std::find(guesses_.begin(), guesses_.end(), metric);
    known.rank += static_cast<std::size_t>(found - guesses_.begin());
    if (found == guesses_.end()) guesses_.push_back(metric);
  }
  value *= known.scale;
  if (value < 0 || value > kMostWatts) worst_ = fmt::format("{} {}", metric, value);
  part.columns[known.column][known.rank].emplace_back(seconds, value);
  return known.column;
}

void PowerSeries::take(const std::string& device, const PowerMetric& metric, std::optional<double> seconds,
                       double value) {
  value *= metric.scale;
  if (value < 0 || value > kMostWatts) worst_ = fmt::format("{} {}", device, value);
  MetricOrigin origin;
  origin.device = device;
  part_of(origin, {}).columns[metric.column][metric.rank].emplace_back(seconds, value);
}

/// Chips by their names, sensors by their labels, where node_exporter gives them.
std::string PowerSeries::sensor_name(const Part& part) const {
  const std::string chip = label_of(part.labels, "chip");
  if (chip.empty()) return part.origin.device;
  const auto named = [&](const std::string& key, const std::string& otherwise) {
    const auto found = sensor_names_.find(key);
    return found == sensor_names_.end() || found->second.empty() ? otherwise : found->second;
  };
  const std::string sensor = label_of(part.labels, "sensor");
  const std::string name = named(chip, chip) + "/" + named(chip + "/" + sensor, sensor);
  const auto same = [&](const Part& other) {
    return &other != &part && other.origin.host == part.origin.host && label_of(other.labels, "sensor") == sensor &&
           named(label_of(other.labels, "chip"), "") == named(chip, "");
  };
  return std::any_of(parts_.begin(), parts_.end(), same) ? chip + "/" + sensor : name;
}

std::string PowerSeries::name_of(const Part& part) {
  const MetricOrigin& origin = part.origin;
  if (!origin.host.empty()) results_.host(origin.host);
  if (!origin.model.empty()) results_.accelerator(origin.model);
  if (!origin.identity) {
    const std::string unnamed = hints_.device.empty() ? "gpu0" : gpu_name(hints_.device);
    return at_host(origin.device.empty() ? unnamed : sensor_name(part), origin.host);
  }
  if (const auto index = indices_.find(part.key); index != indices_.end())
    return at_host(gpu_name(index->second), origin.host);
  // Numbered on each host of its own.
  const auto on_host = [&](const std::string& key) { return key.ends_with("@" + origin.host) || origin.host.empty(); };
  const auto number = std::count_if(unnumbered_.begin(), unnumbered_.end(), on_host);
  unnumbered_.push_back(part.key);
  std::string name = at_host(fmt::format("gpu{}", number), origin.host);
  results_.warn(fmt::format("nothing tells an index: {} is taken as {}", origin.device, name));
  return name;
}

void PowerSeries::finish(Devices& devices, Diagnostics& diagnostics) {
  if (!worst_.empty()) diagnostics.error("", fmt::format("found {}, expected a reading", worst_));
  for (const std::string& metric : guesses_) results_.warn(fmt::format("{} is taken for power drawn", metric));
  for (Part& part : parts_) {
    if (part.columns.count(PowerColumn::watts) == 0) continue;
    Readings& readings = devices.of(name_of(part));
    for (auto& [column, by_rank] : part.columns) {
      Samples& samples = by_rank.begin()->second;
      const bool timed = std::all_of(samples.begin(), samples.end(), [](const auto& s) { return s.first.has_value(); });
      if (timed) {
        std::stable_sort(samples.begin(), samples.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
        samples.erase(std::unique(samples.begin(), samples.end(), same), samples.end());
      }
      for (const auto& [second, value] : samples) {
        readings.add(column, value);
        if (timed && column == PowerColumn::watts) readings.seconds.push_back(*second);
      }
    }
  }
}

std::string PowerSeries::others() const {
  return others_.empty() ? "" : fmt::format("; found {}", fmt::join(others_, ", "));
}

}  // namespace stepcast
