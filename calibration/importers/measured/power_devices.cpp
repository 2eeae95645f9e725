#include "calibration/importers/measured/power_devices.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

struct ColumnName {
  std::string_view text;
  PowerColumn column;
};
// Whole names, without the unit behind them: nvidia-smi --help-query-gpu, DCGM's fields (dcgm_fields.h) and dmon's
// short names. Beside power.draw stand power.management, power.max_limit and others that are no reading.
constexpr std::array kWholeNames{
    ColumnName{"index", PowerColumn::device},
    ColumnName{"uuid", PowerColumn::identity},
    ColumnName{"gpu_uuid", PowerColumn::identity},
    ColumnName{"pci.bus_id", PowerColumn::identity},
    ColumnName{"gpu_bus_id", PowerColumn::identity},
    ColumnName{"serial", PowerColumn::identity},
    ColumnName{"gpu_serial", PowerColumn::identity},
    ColumnName{"gpu_name", PowerColumn::name},
    ColumnName{"power.draw", PowerColumn::watts},
    ColumnName{"power.draw.instant", PowerColumn::watts},
    ColumnName{"power.draw.average", PowerColumn::watts},
    ColumnName{"power.limit", PowerColumn::limit},
    ColumnName{"power_limit", PowerColumn::limit},
    ColumnName{"enforced.power.limit", PowerColumn::limit},
    ColumnName{"utilization.gpu", PowerColumn::utilization},
    ColumnName{"clocks.current.sm", PowerColumn::clock},
    ColumnName{"clocks.sm", PowerColumn::clock},
    ColumnName{"temperature.gpu", PowerColumn::temperature},
    ColumnName{"DCGM_FI_DEV_POWER_USAGE", PowerColumn::watts},
    ColumnName{"DCGM_FI_DEV_POWER_USAGE_INSTANT", PowerColumn::watts},
    ColumnName{"DCGM_FI_DEV_GPU_UTIL", PowerColumn::utilization},
    ColumnName{"DCGM_FI_DEV_SM_CLOCK", PowerColumn::clock},
    ColumnName{"DCGM_FI_DEV_GPU_TEMP", PowerColumn::temperature},
    ColumnName{"DCGM_FI_DEV_POWER_MGMT_LIMIT", PowerColumn::limit},
    ColumnName{"POWER", PowerColumn::watts},
    ColumnName{"PMLMT", PowerColumn::limit},
    ColumnName{"GPUTL", PowerColumn::utilization},
    ColumnName{"SMCLK", PowerColumn::clock},
    ColumnName{"TMPTR", PowerColumn::temperature},
};
// Beginnings, for tables that a site writes itself: Redfish's property, and what sensors are commonly called. The first
// that fits counts.
constexpr std::array kBeginnings{
    ColumnName{"timestamp", PowerColumn::time},
    ColumnName{"time", PowerColumn::time},
    ColumnName{"date", PowerColumn::time},
    ColumnName{"name", PowerColumn::name},
    ColumnName{"PowerConsumedWatts", PowerColumn::watts},
    ColumnName{"power", PowerColumn::watts},
    ColumnName{"watts", PowerColumn::watts},
    ColumnName{"gpu", PowerColumn::device},
    ColumnName{"device", PowerColumn::device},
    ColumnName{"host", PowerColumn::host},
    ColumnName{"node", PowerColumn::host},
    ColumnName{"sensor", PowerColumn::device},
};

/// `power.draw [W]`, `power (kW)`, `power_kW`: the name and the unit behind it.
std::pair<std::string_view, std::string> name_and_unit(std::string_view header) {
  const std::size_t bracket = header.find_first_of("[(");
  std::string_view name = trimmed(header.substr(0, bracket));
  if (bracket != std::string_view::npos) {
    const std::string_view inside = header.substr(bracket + 1);
    return {name, std::string(trimmed(inside.substr(0, inside.find_first_of("])"))))};
  }
  const std::size_t last = name.find_last_of("_ ");
  if (last == std::string_view::npos || !watts_in(name.substr(last + 1))) return {name, ""};
  return {trimmed(name.substr(0, last)), std::string(name.substr(last + 1))};
}

}  // namespace

bool is_bound_or_state(std::string_view low) {
  for (const std::string_view word : {"state", "status", "cap", "limit", "max", "min", "mode", "management", "mgmt",
                                      "factor", "threshold", "highest", "lowest", "peak", "rated", "interval"})
    if (contains(low, word)) return true;
  return false;
}

std::optional<double> leading_number(std::string_view text) {
  const std::string_view word = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

void Readings::add(PowerColumn column, double value) {
  if (column == PowerColumn::watts) watts.push_back(value);
  if (column == PowerColumn::utilization) utilization.push_back(value);
  if (column == PowerColumn::clock) clock.push_back(value);
  if (column == PowerColumn::temperature) temperature.push_back(value);
  if (column == PowerColumn::limit) limit = value;
}

Readings& Devices::of(const std::string& device) {
  for (auto& [name, readings] : found_)
    if (name == device) return readings;
  return found_.emplace_back(device, Readings{}).second;
}

void Devices::finish(Diagnostics& diagnostics, const std::string& expected) {
  double first = -1;
  bool any = false;
  for (auto& [name, readings] : found_) {
    if (readings.watts.empty()) continue;
    any = true;
    if (!readings.seconds.empty() && readings.seconds.front() > 1e9 && (first < 0 || readings.seconds.front() < first))
      first = readings.seconds.front();
    results_.add(row_of(name, readings));
  }
  if (first >= 0) results_.date(first);
  if (!any && diagnostics.ok()) diagnostics.error("", "no reading of power in it", expected);
}

Json Devices::row_of(const std::string& name, const Readings& r) const {
  Json row{{"kind", "power"}, {"device", name}, {"source", source_}, {"state", hints_.state}};
  if (r.seconds.size() == r.watts.size() && r.watts.size() > 1) {
    const double span = r.seconds.back() - r.seconds.front();
    if (span > 0) row["sample_interval_ms"] = span * 1e3 / static_cast<double>(r.watts.size() - 1);
    std::vector<double> times;
    for (const double second : r.seconds) times.push_back(second - r.seconds.front());
    row["times_s"] = times;
  }
  row["samples_W"] = r.watts;
  const auto beside = [&](const char* key, const std::vector<double>& values) {
    if (values.size() == r.watts.size()) row[key] = values;
  };
  beside("utilization_pct", r.utilization);
  beside("sm_clock_MHz", r.clock);
  beside("temperature_C", r.temperature);
  if (r.limit) row["power_limit_W"] = *r.limit;
  return row;
}

KnownColumn column_of(std::string_view header) {
  const auto [name, unit] = name_and_unit(header);
  const std::string low = lower_case(name);
  std::size_t rank = 0;
  for (const ColumnName& one : kWholeNames) {
    if (low == lower_case(one.text)) return {one.column, rank, unit};
    ++rank;
  }
  // Names with dots are queries of nvidia-smi, names in capitals DCGM's; all that count are listed whole.
  if (name.find('.') != std::string_view::npos || name.starts_with("DCGM_")) return {};
  for (const ColumnName& one : kBeginnings) {
    if (low.starts_with(lower_case(one.text)))
      return one.column == PowerColumn::watts && is_bound_or_state(low) ? KnownColumn{}
                                                                        : KnownColumn{one.column, rank, unit};
    ++rank;
  }
  return {};
}

std::optional<double> watts_in(std::string_view unit) {
  if (unit == "mW") return 1e-3;
  const std::string low = lower_case(unit);
  if (low == "w" || low == "watt" || low == "watts") return 1;
  return low == "kw" ? std::optional(1e3) : std::nullopt;
}

std::string gpu_name(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos ? "gpu" + cell : cell;
}

}  // namespace stepcast
