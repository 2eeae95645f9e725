#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/measured/power_devices.hpp"

namespace stepcast {

/// Cells between commas, without blanks and quotes around them.
std::vector<std::string> cells_of(std::string_view line);

/// Whose readings a table holds where no column tells.
struct CsvPlace {
  std::string unnamed;  ///< device of such readings
  bool named = false;   ///< by the user
  bool gpus = false;    ///< a device that is a number is a GPU's index
};

/// Comma-separated readings under a header.
void read_csv_readings(std::string_view text, Devices& devices, const CsvPlace& place, ResultsBuilder& results,
                       Diagnostics& diagnostics);

}  // namespace stepcast
