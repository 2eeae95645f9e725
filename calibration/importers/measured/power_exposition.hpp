#pragma once

#include <optional>
#include <string_view>

#include "calibration/importers/measured/power_series.hpp"

namespace stepcast {

/// Whether a text is Prometheus' exposition format, as an exporter answers: `NAME{label="value"} 65.3`.
bool is_exposition(std::string_view text);
/// The answers of an exporter, one or several after one another; each is a reading.
void read_exposition(std::string_view text, PowerSeries& series, ResultsBuilder& results, Diagnostics& diagnostics);

/// Labels between braces, which the text begins with; takes them off. Nothing where they do not end.
std::optional<SeriesLabels> take_labels(std::string_view& text);

}  // namespace stepcast
