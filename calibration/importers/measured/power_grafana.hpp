#pragma once

#include <string>
#include <string_view>

#include "calibration/importers/measured/power_series.hpp"

namespace stepcast {

/// Whether a text is CSV as Grafana's panels export it: a column of times, and a column for each series (joined by
/// time), or the series in cells beside a column of values.
bool is_grafana(std::string_view text);

/// Reads such a file. What a column is of, its name tells (`DCGM_FI_DEV_POWER_USAGE{gpu="0"}`), else the units of its
/// cells, `hints.metric`, or the file's name, which is the panel's title; of a column that nothing tells a fault. A
/// legend that holds a GPU's number is that GPU's: `n1 GPU 3` is gpu3@n1.
void read_grafana(std::string_view text, const std::string& file, const MeasuredHints& hints, PowerSeries& series,
                  ResultsBuilder& results, Diagnostics& diagnostics);

}  // namespace stepcast
