#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/power_tables.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

bool is_reading(const std::optional<double>& value) { return value && *value >= 0 && *value <= kMostWatts; }

/// nvidia-smi's short names of columns (nvidia-smi dmon -h).
PowerColumn column_of_dmon(std::string_view name) {
  if (name == "pwr") return PowerColumn::watts;
  if (name == "sm") return PowerColumn::utilization;
  if (name == "pclk") return PowerColumn::clock;
  if (name == "gtemp" || name == "temp") return PowerColumn::temperature;
  return PowerColumn::other;
}

/// Lines of nvidia-smi dmon below one header.
class DmonTable {
 public:
  DmonTable(Devices& devices, Diagnostics& diagnostics) : devices_(devices), diagnostics_(diagnostics) {}

  void line(std::string text, const std::string& at) {
    std::replace(text.begin(), text.end(), ',', ' ');
    const bool comment = trimmed(text).starts_with("#");
    if (comment) text.erase(0, text.find('#') + 1);
    const std::vector<std::string_view> words = words_of(text);
    if (comment) {
      // Of the header's two lines the second has units.
      if (std::find(words.begin(), words.end(), "gpu") != words.end()) names_.assign(words.begin(), words.end());
      return;
    }
    if (words.empty() || names_.empty()) return;
    if (words.size() != names_.size())
      return diagnostics_.error(at, fmt::format("has {} columns, its header {}", words.size(), names_.size()));
    row(words);
  }

 private:
  void row(const std::vector<std::string_view>& words) {
    std::string date, time, gpu;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == "Date") date = words[i];
      if (names_[i] == "Time") time = words[i];
      if (names_[i] == "gpu") gpu = words[i];
    }
    Readings& readings = devices_.of(gpu_name(gpu));
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const auto value = leading_number(words[i]);
      if (!is_reading(value)) continue;
      const PowerColumn column = column_of_dmon(names_[i]);
      readings.add(column, *value);
      if (column != PowerColumn::watts) continue;
      if (const auto moment = moment_of_dmon(date, time)) readings.seconds.push_back(*moment);
    }
  }

  /// Of `20261101` and `12:00:05`; without a date the second of the day.
  static std::optional<double> moment_of_dmon(const std::string& date, const std::string& time) {
    if (date.size() == 8)
      return moment_of(fmt::format("{}-{}-{}T{}", date.substr(0, 4), date.substr(4, 2), date.substr(6, 2), time));
    int hour = 0, minute = 0, second = 0;
    if (std::sscanf(time.c_str(), "%2d:%2d:%2d", &hour, &minute, &second) != 3) return std::nullopt;
    return hour * 3600.0 + minute * 60.0 + second;
  }

  Devices& devices_;
  Diagnostics& diagnostics_;
  std::vector<std::string> names_;
};

}  // namespace

void read_nvidia_smi_dmon(std::string_view text, Devices& devices, Diagnostics& diagnostics) {
  DmonTable table(devices, diagnostics);
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) table.line(std::string(line), fmt::format("line {}", ++number));
}

void read_dcgmi_dmon(std::string_view text, Devices& devices, Diagnostics& diagnostics) {
  std::vector<PowerColumn> columns;
  std::size_t number = 0;
  for (const std::string_view raw : lines_of(text)) {
    ++number;
    const std::string_view line = trimmed(raw);
    const std::string at = fmt::format("line {}", number);
    if (line.starts_with("#")) {
      const auto names = words_of(line.substr(1));
      columns.clear();
      for (std::size_t i = 1; i < names.size(); ++i) columns.push_back(column_of(names[i]).column);
      continue;
    }
    const auto cells = words_of(line);
    if (cells.size() < 3 || cells[0] != "GPU" || columns.empty()) continue;
    if (cells.size() - 2 != columns.size()) {
      diagnostics.error(at, fmt::format("has {} readings, its header {}", cells.size() - 2, columns.size()));
      continue;
    }
    Readings& readings = devices.of("gpu" + std::string(cells[1]));
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto value = leading_number(cells[i + 2]);
      if (is_reading(value))
        readings.add(columns[i], *value);
      else if (columns[i] == PowerColumn::watts && cells[i + 2] != "N/A")
        diagnostics.error(at, fmt::format("found {}, expected watts", shown(cells[i + 2])));
    }
  }
}

}  // namespace stepcast
