#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <tuple>

#include "calibration/importers/measured/results_builder.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr double kMostWatts = 1e7;

std::optional<double> leading_number(std::string_view text) {
  const std::string_view word = trimmed(text);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// A point in time as tables write it: `2026/11/21 20:15:07.123`, `2026-11-21T20:15:07Z`, or seconds since 1970.
struct Moment {
  double seconds = 0;
  bool dated = false;
};

std::optional<Moment> moment_of(std::string_view text) {
  const std::string word(trimmed(text));
  int year = 0;
  unsigned month = 0, day = 0;
  int hour = 0, minute = 0;
  double second = 0;
  char a = 0, b = 0, c = 0;
  if (std::sscanf(word.c_str(), "%4d%c%2u%c%2u%c%2d:%2d:%lf", &year, &a, &month, &b, &day, &c, &hour, &minute,
                  &second) == 9 &&
      year >= 1970 && year < 3000) {
    const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month), std::chrono::day(day)};
    if (!date.ok() || hour < 0 || hour > 23 || minute < 0 || minute > 59 || !(second >= 0 && second < 61))
      return std::nullopt;
    const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
    return Moment{days * 86400 + hour * 3600 + minute * 60 + second, true};
  }
  const auto number = leading_number(word);
  if (!number || *number < 0 || *number > 1e12) return std::nullopt;
  return Moment{*number, *number > 1e9};
}

std::string stamp_of(double seconds) {
  const auto whole = static_cast<long>(std::floor(seconds));
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(whole / 86400))};
  const long rest = whole % 86400;
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), rest / 3600,
                     rest / 60 % 60, rest % 60);
}

/// Readings of one device.
struct Readings {
  std::vector<double> watts, seconds, utilization, clock, temperature;
  std::optional<double> limit;
};

class Devices {
 public:
  Devices(std::string source, const MeasuredHints& hints, ResultsBuilder& results)
      : source_(std::move(source)), hints_(hints), results_(results) {}

  Readings& of(const std::string& device) {
    for (auto& [name, readings] : found_)
      if (name == device) return readings;
    return found_.emplace_back(device, Readings{}).second;
  }

  void finish(Diagnostics& diagnostics) {
    double first = -1;
    bool any = false;
    for (auto& [name, readings] : found_) {
      if (readings.watts.empty()) continue;
      any = true;
      if (!readings.seconds.empty() && readings.seconds.front() > 1e9 &&
          (first < 0 || readings.seconds.front() < first))
        first = readings.seconds.front();
      results_.add(row_of(name, readings));
    }
    if (first >= 0) results_.date(stamp_of(first));
    if (!any && diagnostics.ok()) diagnostics.error("", "no reading of power in it");
  }

 private:
  Json row_of(const std::string& name, const Readings& r) const {
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

  std::string source_;
  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  std::vector<std::pair<std::string, Readings>> found_;
};

std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(',', at), line.size());
    std::string_view cell = trimmed(line.substr(at, end - at));
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = cell.substr(1, cell.size() - 2);
    out.emplace_back(cell);
    at = end + 1;
  }
  return out;
}

/// What a column of one of the tables holds.
enum class Column { other, time, device, name, watts, utilization, clock, temperature, limit };

struct ColumnName {
  std::string_view text;
  Column column;
};
// Names of nvidia-smi's queries, DCGM's fields and dmon's short ones, Redfish's and common sensors' columns. The first
// that a header begins with counts.
constexpr std::array kColumns{
    ColumnName{"timestamp", Column::time},
    ColumnName{"time", Column::time},
    ColumnName{"date", Column::time},
    ColumnName{"index", Column::device},
    ColumnName{"gpu_name", Column::name},
    ColumnName{"name", Column::name},
    ColumnName{"utilization.gpu", Column::utilization},
    ColumnName{"power.limit", Column::limit},
    ColumnName{"enforced.power.limit", Column::limit},
    ColumnName{"power.draw", Column::watts},
    ColumnName{"clocks.current.sm", Column::clock},
    ColumnName{"clocks.sm", Column::clock},
    ColumnName{"temperature.gpu", Column::temperature},
    ColumnName{"DCGM_FI_DEV_POWER_USAGE", Column::watts},
    ColumnName{"DCGM_FI_DEV_GPU_UTIL", Column::utilization},
    ColumnName{"DCGM_FI_DEV_SM_CLOCK", Column::clock},
    ColumnName{"DCGM_FI_DEV_GPU_TEMP", Column::temperature},
    ColumnName{"DCGM_FI_DEV_POWER_MGMT_LIMIT", Column::limit},
    ColumnName{"POWER", Column::watts},
    ColumnName{"PMLMT", Column::limit},
    ColumnName{"GPUTL", Column::utilization},
    ColumnName{"SMCLK", Column::clock},
    ColumnName{"TMPTR", Column::temperature},
    ColumnName{"PowerConsumedWatts", Column::watts},
    ColumnName{"power", Column::watts},
    ColumnName{"watts", Column::watts},
    ColumnName{"gpu", Column::device},
    ColumnName{"device", Column::device},
    ColumnName{"host", Column::device},
    ColumnName{"node", Column::device},
    ColumnName{"sensor", Column::device},
};

Column column_of(std::string_view header) {
  for (const ColumnName& one : kColumns)
    if (header.substr(0, one.text.size()) == one.text) return one.column;
  return Column::other;
}

std::string gpu_name(const std::string& cell) {
  return !cell.empty() && cell.find_first_not_of("0123456789") == std::string::npos ? "gpu" + cell : cell;
}

/// Comma-separated readings under a header.
void read_csv_readings(std::string_view text, Devices& devices, const std::string& unnamed, bool gpus,
                       ResultsBuilder& results, Diagnostics& diagnostics) {
  std::vector<Column> columns;
  bool watts = false;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::vector<std::string> cells = cells_of(line);
    const std::string at = fmt::format("line {}", number);
    if (columns.empty()) {
      for (const std::string& cell : cells) {
        columns.push_back(column_of(cell));
        watts = watts || columns.back() == Column::watts;
      }
      if (!watts)
        return diagnostics.error(at, "no column of power in the header",
                                 "power.draw, DCGM_FI_DEV_POWER_USAGE, "
                                 "PowerConsumedWatts or watts");
      continue;
    }
    if (cells.size() != columns.size()) {
      diagnostics.error(at, fmt::format("has {} cells, its header {}", cells.size(), columns.size()));
      continue;
    }
    std::string device = unnamed;
    std::optional<double> seconds, power, utilization, clock, temperature, limit;
    bool faulty = false;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string& cell = cells[i];
      // [N/A] and [Not Supported] stand where a part has no such sensor.
      const bool absent = cell.empty() || cell.front() == '[' || cell == "N/A";
      if (columns[i] == Column::device && !absent) device = gpus ? gpu_name(cell) : cell;
      if (columns[i] == Column::name && !absent) results.accelerator(cell);
      if (absent) continue;
      if (columns[i] == Column::time) {
        if (const auto moment = moment_of(cell)) seconds = moment->seconds;
      }
      const auto take = [&](Column column, std::optional<double>& to) {
        if (columns[i] != column) return;
        to = leading_number(cell);
        if (!to) {
          diagnostics.error(at, fmt::format("found {}, expected a number", shown(cell)));
          faulty = true;
        }
      };
      take(Column::watts, power);
      take(Column::utilization, utilization);
      take(Column::clock, clock);
      take(Column::temperature, temperature);
      take(Column::limit, limit);
    }
    if (faulty || !power) continue;
    if (*power < 0 || *power > kMostWatts) {
      diagnostics.error(at, fmt::format("found {} W", *power));
      continue;
    }
    Readings& r = devices.of(device);
    r.watts.push_back(*power);
    if (seconds) r.seconds.push_back(*seconds);
    if (utilization && *utilization >= 0) r.utilization.push_back(*utilization);
    if (clock && *clock >= 0) r.clock.push_back(*clock);
    if (temperature) r.temperature.push_back(*temperature);
    if (limit && *limit >= 0) r.limit = limit;
  }
  if (columns.empty()) diagnostics.error("", "is empty");
}

/// `dcgmi dmon`: a header of short names, then `GPU 0   65.3   0`.
void read_dmon(std::string_view text, Devices& devices, Diagnostics& diagnostics) {
  std::vector<Column> columns;
  std::size_t number = 0;
  for (const std::string_view raw : lines_of(text)) {
    ++number;
    const std::string_view line = trimmed(raw);
    const std::string at = fmt::format("line {}", number);
    if (line.starts_with("#")) {
      const auto names = words_of(line.substr(1));
      columns.clear();
      for (std::size_t i = 1; i < names.size(); ++i) columns.push_back(column_of(names[i]));
      continue;
    }
    const auto cells = words_of(line);
    if (cells.size() < 3 || cells[0] != "GPU" || columns.empty()) continue;
    if (cells.size() - 2 != columns.size()) {
      diagnostics.error(at, fmt::format("has {} readings, its header {}", cells.size() - 2, columns.size()));
      continue;
    }
    Readings& r = devices.of("gpu" + std::string(cells[1]));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto value = leading_number(cells[i + 2]);
      if (!value || *value < 0 || *value > kMostWatts) {
        if (columns[i] == Column::watts && cells[i + 2] != "N/A")
          diagnostics.error(at, fmt::format("found {}, expected watts", shown(cells[i + 2])));
        continue;
      }
      if (columns[i] == Column::watts) r.watts.push_back(*value);
      if (columns[i] == Column::utilization) r.utilization.push_back(*value);
      if (columns[i] == Column::clock) r.clock.push_back(*value);
      if (columns[i] == Column::temperature) r.temperature.push_back(*value);
      if (columns[i] == Column::limit) r.limit = value;
    }
  }
}

std::string label(const Json& metric, const char* name) {
  return metric.contains(name) && metric[name].is_string() ? metric[name].get<std::string>() : "";
}

}  // namespace

void read_nvidia_smi(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  Devices devices("nvidia-smi", hints, results);
  read_csv_readings(text, devices, hints.device.empty() ? "gpu0" : hints.device, true, results, diagnostics);
  devices.finish(diagnostics);
}

void read_dcgm(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  Devices devices("dcgm", hints, results);
  if (trimmed(text).starts_with("#"))
    read_dmon(text, devices, diagnostics);
  else
    read_csv_readings(text, devices, hints.device.empty() ? "gpu0" : hints.device, true, results, diagnostics);
  devices.finish(diagnostics);
}

void read_prometheus(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints,
                     ResultsBuilder& results, Diagnostics& diagnostics) {
  const Json document = parse_json(text, diagnostics);
  if (!diagnostics.ok()) return;
  const auto fail = [&](const char* at, const char* what) { diagnostics.error(at, what, "/api/v1/query_range"); };
  if (!document.is_object() || !document.contains("status") || document["status"] != "success")
    return fail("/status", "is no successful answer of Prometheus");
  if (!document.contains("data") || !document["data"].is_object() || !document["data"].contains("result") ||
      !document["data"]["result"].is_array())
    return fail("/data/result", "missing");
  Devices devices("prometheus", hints, results);
  const Json& series = document["data"]["result"];
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string at = fmt::format("/data/result/{}", i);
    if (!series[i].is_object() || !series[i].contains("metric") || !series[i]["metric"].is_object() ||
        !series[i].contains("values") || !series[i]["values"].is_array()) {
      diagnostics.error(at, "has no metric and values", "a range query, not an instant one");
      continue;
    }
    const Json& metric = series[i]["metric"];
    const std::string name = label(metric, "__name__");
    if (column_of(name) == Column::other) continue;
    const std::string host = label(metric, "Hostname").empty() ? label(metric, "instance") : label(metric, "Hostname");
    if (!host.empty()) results.host(host);
    if (const std::string model = label(metric, "modelName"); !model.empty()) results.accelerator(model);
    std::string device = gpu_name(label(metric, "gpu").empty() ? hints.device : label(metric, "gpu"));
    if (device.empty()) device = "gpu0";
    if (!host.empty()) device += "@" + host;
    Readings& r = devices.of(device);
    for (const Json& pair : series[i]["values"]) {
      const bool sound = pair.is_array() && pair.size() == 2 && pair[0].is_number() && pair[1].is_string();
      const auto value = sound ? leading_number(pair[1].get<std::string>()) : std::nullopt;
      if (!value || *value < 0 || *value > kMostWatts) {
        diagnostics.error(at + "/values", fmt::format("found {}, expected [time, \"number\"]", describe(pair)));
        break;
      }
      const Column column = column_of(name);
      if (column == Column::watts) {
        r.watts.push_back(*value);
        r.seconds.push_back(std::clamp(pair[0].get<double>(), 0.0, 1e11));
      }
      if (column == Column::utilization) r.utilization.push_back(*value);
      if (column == Column::clock) r.clock.push_back(*value);
      if (column == Column::temperature) r.temperature.push_back(*value);
      if (column == Column::limit) r.limit = value;
    }
  }
  devices.finish(diagnostics);
}

void read_ipmi(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  constexpr std::string_view kReading = "Instantaneous power reading:";
  const std::string device = hints.device.empty() ? "node" : hints.device;
  if (text.find(kReading) == std::string_view::npos) {
    Devices devices(text.find("PowerConsumedWatts") != std::string_view::npos ? "redfish" : "ipmi", hints, results);
    read_csv_readings(text, devices, device, false, results, diagnostics);
    return devices.finish(diagnostics);
  }
  Devices devices("ipmi", hints, results);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const auto at = line.find(kReading);
    if (at == std::string_view::npos) continue;
    const auto watts = leading_number(line.substr(at + kReading.size()));
    if (!watts || *watts < 0 || *watts > kMostWatts)
      diagnostics.error(fmt::format("line {}", number), fmt::format("found {}, expected watts", shown(line)));
    else
      devices.of(device).watts.push_back(*watts);
  }
  devices.finish(diagnostics);
}

}  // namespace stepcast
