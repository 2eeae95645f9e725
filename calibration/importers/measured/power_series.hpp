#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "calibration/importers/measured/power_metrics.hpp"

namespace stepcast {

/// Samples of exporters' metrics, put together into devices when all have been seen: a GPU has a series for each pod
/// that it served, and what it is called may stand in a metric of its own (nvidia_smi_gpu_info, node_hwmon_chip_names).
class PowerSeries {
 public:
  PowerSeries(const MeasuredHints& hints, ResultsBuilder& results) : hints_(hints), results_(results) {}

  /// A metric's sample; `seconds` since 1970 where the source tells them. Of a GPU that is parted (MIG) each instance
  /// has a series, with the same reading of the whole: only the first instance's counts. Returns what the sample is of.
  PowerColumn take(const std::string& metric, const SeriesLabels& labels, std::optional<double> seconds, double value);
  /// The same of a device that its source names, in W, %, MHz or °C.
  void take(const std::string& device, const PowerMetric& metric, std::optional<double> seconds, double value);

  /// Hands all over, and says which guesses were made. A reading beyond kMostWatts is a fault.
  void finish(Devices& devices, Diagnostics& diagnostics);
  /// ", found …": metrics that are none of those known; empty where all are.
  [[nodiscard]] std::string others() const;

 private:
  using Samples = std::vector<std::pair<std::optional<double>, double>>;
  struct Part {
    std::string key;
    MetricOrigin origin;
    SeriesLabels labels;
    std::map<PowerColumn, std::map<std::size_t, Samples>> columns;  ///< by rank, the best first
  };

  Part& part_of(const MetricOrigin& origin, const SeriesLabels& labels);
  bool describes(const std::string& metric, const SeriesLabels& labels, double value);
  [[nodiscard]] std::string name_of(const Part& part);
  [[nodiscard]] std::string sensor_name(const Part& part) const;

  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  std::vector<Part> parts_;
  std::map<std::string, std::size_t> places_;                  ///< of parts, by key
  std::map<std::string, std::string> first_instance_;          ///< by key
  std::map<std::string, std::string> indices_, sensor_names_;  ///< by identity; by chip, or chip and sensor
  std::vector<std::string> unnumbered_;                        ///< identities, numbered as they come
  std::vector<std::string> guesses_;
  std::set<std::string> others_;
  std::string worst_;  ///< metric with a reading that nothing has
};

}  // namespace stepcast
