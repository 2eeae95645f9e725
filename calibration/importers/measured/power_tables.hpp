#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/measured/power_devices.hpp"

namespace stepcast {

/// Cells between commas, or another separator, without blanks and quotes around them; between quotes a comma is none,
/// and two quotes are one.
std::vector<std::string> cells_of(std::string_view line, char separator = ',');

/// Whose readings a table holds where no column tells.
struct CsvPlace {
  std::string unnamed;  ///< device of such readings
  bool named = false;   ///< by the user
  bool gpus = false;    ///< a device that is a number is a GPU's index
};

/// Comma-separated readings under a header.
void read_csv_readings(std::string_view text, Devices& devices, const CsvPlace& place, ResultsBuilder& results,
                       Diagnostics& diagnostics);

/// What `dcgmi dmon` prints: a header of short names, then `GPU 0   65.3   0`.
void read_dcgmi_dmon(std::string_view text, Devices& devices, Diagnostics& diagnostics);

/// What `nvidia-smi dmon` prints, in columns or with commas: `# gpu pwr gtemp …`, with `-o DT` the date and the time
/// before it, then a line for each GPU and second, `-` where it has no such sensor.
void read_nvidia_smi_dmon(std::string_view text, Devices& devices, Diagnostics& diagnostics);

}  // namespace stepcast
