#pragma once

#include <string_view>

#include "calibration/importers/measured/power_series.hpp"

namespace stepcast {

/// Whether a text is JSON, or has documents of Redfish between other lines.
bool is_redfish(std::string_view text);

/// Reads what Redfish services answer (DMTF DSP0268), one resource or several after one another, in arrays or in
/// collections: Power of a chassis, power supplies and their metrics, EnvironmentMetrics, sensors, metric reports of
/// the TelemetryService. Every control, supply and sensor is a device of its own. Returns which other resource the text
/// refers to, to be said where it holds no reading itself; empty where it refers to none.
std::string read_redfish(std::string_view text, PowerSeries& series, ResultsBuilder& results, Diagnostics& diagnostics);

}  // namespace stepcast
