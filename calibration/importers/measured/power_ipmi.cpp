#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "calibration/importers/measured/moment.hpp"
#include "calibration/importers/measured/power_redfish.hpp"
#include "calibration/importers/measured/power_tables.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

/// Where a program's list of sensors has what is read of it.
struct SensorList {
  std::size_t cells, name, reading, unit;
  std::string_view watts;
};
// ipmitool -c sdr: `PSU1_Input_Power,3100,Watts,ok`; ipmi-sensors --comma-separated-output of FreeIPMI:
// `138,Pwr Consumption,Current,1498.00,W,'OK'` below `ID,Name,Type,Reading,Units,Event`.
constexpr SensorList kIpmitool{4, 0, 1, 2, "Watts"};
constexpr SensorList kFreeIpmi{6, 1, 3, 4, "W"};

/// Which list a file is, by its first line; null for other tables.
const SensorList* sensor_list_of(std::string_view text) {
  for (const std::string_view line : lines_of(text)) {
    if (trimmed(line).empty()) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() == kFreeIpmi.cells && cells[0] == "ID" && cells[3] == "Reading") return &kFreeIpmi;
    // Its last cell is the sensor's state: ok, ns (no reading), nc, cr, nr.
    return cells.size() == kIpmitool.cells && cells[3].size() == 2 && column_of(cells[0]).column != PowerColumn::time
               ? &kIpmitool
               : nullptr;
  }
  return nullptr;
}

/// Every sensor of power is a device of its own.
void read_sensors(std::string_view text, const SensorList& list, Devices& devices, Diagnostics& diagnostics) {
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() != list.cells || cells[list.unit] != list.watts) continue;
    const std::string& reading = cells[list.reading];
    if (reading.empty() || reading == "N/A") continue;  // a supply without power
    const auto watts = leading_number(reading);
    if (!watts || *watts < 0 || *watts > kMostWatts)
      return diagnostics.error(fmt::format("line {}", number), fmt::format("found {}, expected watts", shown(reading)));
    devices.of(cells[list.name]).watts.push_back(*watts);
  }
}

/// Tables between bars: `PSU1 Input | 1250 Watts | ok` of ipmitool sdr (elist, type: in the last cell), `PSU1 Input |
/// 1250.000 | Watts | ok …` of ipmitool sensor, and of ipmi-sensors a number before the name and the unit behind the
/// reading. Thresholds, which stand behind them, have no unit.
void read_bars(std::string_view text, Devices& devices, Diagnostics& diagnostics) {
  std::size_t number = 0, name = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const std::vector<std::string> cells = cells_of(line, '|');
    if (cells[0] == "ID") name = 1;
    for (std::size_t i = name + 1; i < cells.size(); ++i) {
      const bool unit_alone = i > name + 1 && (cells[i] == "Watts" || cells[i] == "W");
      const std::string& reading = cells[unit_alone ? i - 1 : i];
      const auto watts = leading_number(reading);
      if (!watts || (!unit_alone && !cells[i].ends_with(" Watts"))) continue;
      if (*watts < 0 || *watts > kMostWatts)
        diagnostics.error(fmt::format("line {}", number), fmt::format("found {}, expected watts", shown(reading)));
      else
        devices.of(cells[name]).watts.push_back(*watts);
      break;
    }
  }
}

/// Of `11/20/2026 - 10:00:00`, as FreeIPMI writes it.
std::optional<double> american_moment_of(std::string_view text) {
  int month = 0, day = 0, year = 0;
  char clock[16] = {};
  if (std::sscanf(std::string(text).c_str(), " %2d/%2d/%4d - %15s", &month, &day, &year, clock) != 4)
    return std::nullopt;
  return moment_of(fmt::format("{:04}-{:02}-{:02}T{}", year, month, day, clock));
}

/// `Instantaneous power reading:   412 Watts` over and over, each with its `IPMI timestamp: Fri Nov 20 10:00:00 2026`;
/// ipmi-dcmi of FreeIPMI: `Current Power : 412 Watts` and `Time Stamp : 11/20/2026 - 10:00:00`.
void read_dcmi(std::string_view text, std::string_view title, Readings& readings, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  constexpr std::string_view kTime = "IPMI timestamp:", kFreeIpmiTime = "Time Stamp";
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (const auto time = line.find(kTime); time != std::string_view::npos)
      if (const auto moment = calendar_moment_of(line.substr(time + kTime.size()))) results.date(*moment);
    if (trimmed(line).starts_with(kFreeIpmiTime))
      if (const auto moment = american_moment_of(line.substr(line.find(':') + 1))) results.date(*moment);
    const auto at = line.find(title);
    if (at == std::string_view::npos) continue;
    const auto watts = leading_number(line.substr(std::min(line.find(':', at), line.size() - 1) + 1));
    if (!watts || *watts < 0 || *watts > kMostWatts)
      diagnostics.error(fmt::format("line {}", number), fmt::format("found {}, expected watts", shown(line)));
    else
      readings.watts.push_back(*watts);
  }
}

}  // namespace

void read_ipmi(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  constexpr std::string_view kReading = "Instantaneous power reading", kFreeIpmiReading = "Current Power ";
  if (is_redfish(text)) {
    PowerSeries series(hints, results);
    const std::string refers = read_redfish(text, series, results, diagnostics);
    Devices devices("redfish", hints, results);
    series.finish(devices, diagnostics);
    const char* const expected =
        "expected Power, Sensors, EnvironmentMetrics or a MetricReport of Redfish with their readings";
    return devices.finish(diagnostics, refers.empty() ? expected : refers);
  }
  const std::string device = hints.device.empty() ? "node" : hints.device;
  Devices devices(text.find("PowerConsumedWatts") != std::string_view::npos ? "redfish" : "ipmi", hints, results);
  if (text.find(kReading) != std::string_view::npos)
    read_dcmi(text, kReading, devices.of(device), results, diagnostics);
  else if (text.find(kFreeIpmiReading) != std::string_view::npos && text.find(':') != std::string_view::npos)
    read_dcmi(text, kFreeIpmiReading, devices.of(device), results, diagnostics);
  else if (trimmed(text).substr(0, trimmed(text).find('\n')).find('|') != std::string_view::npos)
    read_bars(text, devices, diagnostics);
  else if (const SensorList* list = sensor_list_of(text))
    read_sensors(text, *list, devices, diagnostics);
  else
    read_csv_readings(text, devices, {device, !hints.device.empty(), false}, results, diagnostics);
  devices.finish(diagnostics);
}

}  // namespace stepcast
