#include <fmt/format.h>

#include "calibration/importers/measured/moment.hpp"
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

/// `Instantaneous power reading:   412 Watts` over and over, each with its `IPMI timestamp: Fri Nov 20 10:00:00 2026`.
void read_dcmi(std::string_view text, std::string_view title, Readings& readings, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  constexpr std::string_view kTime = "IPMI timestamp:";
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (const auto time = line.find(kTime); time != std::string_view::npos)
      if (const auto moment = calendar_moment_of(line.substr(time + kTime.size()))) results.date(*moment);
    const auto at = line.find(title);
    if (at == std::string_view::npos) continue;
    const auto watts = leading_number(line.substr(at + title.size()));
    if (!watts || *watts < 0 || *watts > kMostWatts)
      diagnostics.error(fmt::format("line {}", number), fmt::format("found {}, expected watts", shown(line)));
    else
      readings.watts.push_back(*watts);
  }
}

}  // namespace

void read_ipmi(std::string_view text, const std::string& /*file*/, const MeasuredHints& hints, ResultsBuilder& results,
               Diagnostics& diagnostics) {
  constexpr std::string_view kReading = "Instantaneous power reading:";
  const std::string device = hints.device.empty() ? "node" : hints.device;
  Devices devices(text.find("PowerConsumedWatts") != std::string_view::npos ? "redfish" : "ipmi", hints, results);
  if (text.find(kReading) != std::string_view::npos)
    read_dcmi(text, kReading, devices.of(device), results, diagnostics);
  else if (const SensorList* list = sensor_list_of(text))
    read_sensors(text, *list, devices, diagnostics);
  else
    read_csv_readings(text, devices, {device, !hints.device.empty(), false}, results, diagnostics);
  devices.finish(diagnostics);
}

}  // namespace stepcast
