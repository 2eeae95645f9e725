#include "calibration/importers/measured/power_metrics.hpp"

#include <array>
#include <initializer_list>

#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct MetricName {
  std::string_view text;
  PowerColumn column;
  double scale = 1;
};
constexpr double kMilli = 1e-3, kMicro = 1e-6, kPercent = 100;
// In small letters, the best of a quantity first. nvidia_smi_: utkuozdemir's exporter has units in its names,
// Telegraf's plugin has not. nvidia_gpu_: exporters over NVML. gpu_: AMD's device-metrics-exporter, amd_: its
// amd_smi_exporter, whose power is in microwatts. node_hwmon_: node_exporter, whose power1_input has no word of its
// own.
constexpr std::array kMetrics{
    MetricName{"nvidia_smi_power_draw_watts", PowerColumn::watts},
    MetricName{"nvidia_smi_power_draw_instant_watts", PowerColumn::watts},
    MetricName{"nvidia_smi_power_draw_average_watts", PowerColumn::watts},
    MetricName{"nvidia_smi_power_draw", PowerColumn::watts},
    MetricName{"nvidia_smi_enforced_power_limit_watts", PowerColumn::limit},
    MetricName{"nvidia_smi_power_limit_watts", PowerColumn::limit},
    MetricName{"nvidia_smi_power_limit", PowerColumn::limit},
    MetricName{"nvidia_smi_utilization_gpu_ratio", PowerColumn::utilization, kPercent},
    MetricName{"nvidia_smi_utilization_gpu", PowerColumn::utilization},
    MetricName{"nvidia_smi_clocks_current_sm_clock_hz", PowerColumn::clock, kMicro},
    MetricName{"nvidia_smi_clocks_current_sm_hz", PowerColumn::clock, kMicro},
    MetricName{"nvidia_smi_clocks_current_sm", PowerColumn::clock},
    MetricName{"nvidia_smi_temperature_gpu", PowerColumn::temperature},
    MetricName{"nvidia_gpu_power_usage_milliwatts", PowerColumn::watts, kMilli},
    MetricName{"nvidia_gpu_power_usage", PowerColumn::watts},
    MetricName{"nvidia_gpu_duty_cycle", PowerColumn::utilization},
    MetricName{"nvidia_gpu_temperature_celsius", PowerColumn::temperature},
    MetricName{"nvidia_gpu_temperature", PowerColumn::temperature},
    MetricName{"gpu_package_power", PowerColumn::watts},
    MetricName{"gpu_average_package_power", PowerColumn::watts},
    MetricName{"gpu_power_usage", PowerColumn::watts},
    MetricName{"gpu_gfx_activity", PowerColumn::utilization},
    MetricName{"gpu_junction_temperature", PowerColumn::temperature},
    MetricName{"gpu_edge_temperature", PowerColumn::temperature},
    MetricName{"gpu_power", PowerColumn::watts, kMicro},
    MetricName{"gpu_power_avg", PowerColumn::watts},
    MetricName{"gpu_use_percent", PowerColumn::utilization},
    MetricName{"node_hwmon_power_watt", PowerColumn::watts},
    MetricName{"node_hwmon_power_input_watt", PowerColumn::watts},
    MetricName{"node_hwmon_power_average_watt", PowerColumn::watts},
    MetricName{"ipmi_dcmi_power_consumption_current_watts", PowerColumn::watts},
    MetricName{"ipmi_dcmi_power_consumption_watts", PowerColumn::watts},
    MetricName{"ipmi_power_watts", PowerColumn::watts},
};

/// Units that names of metrics end in.
struct UnitName {
  std::string_view ending;
  double scale;
};
constexpr std::array kUnitsOfNames{UnitName{"_milliwatts", kMilli},
                                   UnitName{"_mw", kMilli},
                                   UnitName{"_microwatts", kMicro},
                                   UnitName{"_uw", kMicro},
                                   UnitName{"_kilowatts", 1e3},
                                   UnitName{"_kw", 1e3},
                                   UnitName{"_watts", 1},
                                   UnitName{"_watt", 1},
                                   UnitName{"_w", 1},
                                   UnitName{"power", 1},
                                   UnitName{"power_usage", 1},
                                   UnitName{"power_draw", 1},
                                   UnitName{"power_average", 1},
                                   UnitName{"power_consumed", 1},
                                   UnitName{"power_consumption", 1}};

PowerMetric guess_of(const std::string& low) {
  const bool power = contains(low, "power") || contains(low, "watt");
  if (!power || is_bound_or_state(low) || contains(low, "energy")) return {};
  for (const UnitName& unit : kUnitsOfNames)
    if (low.ends_with(unit.ending)) return {PowerColumn::watts, unit.scale, kMetrics.size(), true};
  return {};
}

/// The first of some labels that a series has.
std::string first_of(const SeriesLabels& labels, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (std::string value = label_of(labels, name); !value.empty()) return value;
  return {};
}

/// AMD's exporter puts what a site likes before its names: amd_gpu_package_power.
std::string_view without_prefix(std::string_view low) { return low.starts_with("amd_") ? low.substr(4) : low; }

bool is_of_gpus(std::string_view low, const SeriesLabels& labels) {
  for (const std::string_view word : {"gpu", "nvidia", "dcgm", "amd_", "accelerator", "habana", "xpum"})
    if (contains(low, word)) return true;
  return labels.count("gpu") > 0 || labels.count("gpu_id") > 0 || labels.count("gpu_index") > 0;
}

std::string sensor_of(std::string_view low, const SeriesLabels& labels) {
  if (low.starts_with("ipmi_dcmi_")) return "node";
  const std::string chip = label_of(labels, "chip");
  const std::string sensor = first_of(labels, {"label", "name", "sensor", "psu", "id"});
  if (chip.empty()) return sensor.empty() ? "node" : sensor;
  return sensor.empty() ? chip : chip + "/" + sensor;
}

}  // namespace

std::string label_of(const SeriesLabels& labels, const char* name) {
  const auto found = labels.find(name);
  return found == labels.end() ? std::string() : found->second;
}

PowerMetric metric_of(std::string_view name, const SeriesLabels& labels) {
  if (name.starts_with("DCGM_")) {
    const KnownColumn known = column_of(name);
    return {known.column, 1, known.rank};
  }
  const std::string low = lower_case(name);
  const std::string_view plain = without_prefix(low);
  // Clocks of all parts of a GPU are one metric of AMD's.
  if (plain == "gpu_clock") {
    const std::string type = lower_case(label_of(labels, "clock_type")), index = label_of(labels, "clock_index");
    const bool shaders = type.empty() || contains(type, "system");
    return {shaders && (index.empty() || index == "0") ? PowerColumn::clock : PowerColumn::other};
  }
  for (std::size_t rank = 0; rank < kMetrics.size(); ++rank)
    if (plain == kMetrics[rank].text || low == kMetrics[rank].text)
      return {kMetrics[rank].column, kMetrics[rank].scale, rank};
  return guess_of(low);
}

MetricOrigin origin_of(std::string_view metric, const SeriesLabels& labels) {
  const std::string low = lower_case(metric);
  MetricOrigin out;
  out.host = first_of(labels, {"Hostname", "hostname", "host", "nodename", "node", "instance"});
  if (!is_of_gpus(low, labels)) {
    out.device = sensor_of(low, labels);
    return out;
  }
  out.model = first_of(labels, {"modelName", "card_model", "gpu_name", "name", "productname"});
  // amd_smi_exporter's label for the index is called as the metric.
  const std::string own = std::string(without_prefix(low));
  const std::string index = first_of(labels, {"gpu", "gpu_id", "gpu_index", "index", "minor_number", own.c_str()});
  out.device = gpu_name(index);
  if (!index.empty()) return out;
  out.device = first_of(labels, {"uuid", "UUID", "gpu_uuid", "serial_number", "bus_id", "pci_bus_id"});
  out.identity = !out.device.empty();
  return out;
}

bool is_further_partition(const SeriesLabels& labels) {
  const std::string partition = first_of(labels, {"gpu_partition_id", "partition_id"});
  return !partition.empty() && partition != "0";
}

}  // namespace stepcast
