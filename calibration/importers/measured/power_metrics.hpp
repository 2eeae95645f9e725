#pragma once

#include <map>
#include <string>
#include <string_view>

#include "calibration/importers/measured/power_devices.hpp"

namespace stepcast {

/// Labels of a series of Prometheus, by name.
using SeriesLabels = std::map<std::string, std::string>;

/// A label's value; empty where a series lacks it.
std::string label_of(const SeriesLabels& labels, const char* name);

/// What an exporter's metric holds: reading × `scale` is in W, %, MHz or °C. Of several metrics of one quantity the one
/// with the lowest rank is the best.
struct PowerMetric {
  PowerColumn column = PowerColumn::other;
  double scale = 1;
  std::size_t rank = 0;
  bool guessed = false;  ///< by its name alone: it is of no exporter that is known
};

/// Metrics of the DCGM exporter, of those that ask nvidia-smi or NVML, of AMD's two, of node_exporter's hwmon, of
/// ipmi_exporter and of what else says watts in its name. AMD's may have a prefix or stand in capitals.
PowerMetric metric_of(std::string_view name, const SeriesLabels& labels);

/// Where a reading comes from: a GPU (`device` is gpu0, or an identity where nothing tells its index), a sensor of a
/// host, or the host as a whole (`node`).
struct MetricOrigin {
  std::string device, host, model;
  bool identity = false;  ///< device is a UUID, a serial number or an address of a GPU
};
MetricOrigin origin_of(std::string_view metric, const SeriesLabels& labels);

/// A part of a GPU beside the one that its readings are counted of: AMD's partitions after the first read 0 W.
bool is_further_partition(const SeriesLabels& labels);

}  // namespace stepcast
