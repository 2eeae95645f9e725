#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

/// Largest global batch that a log may name: beyond it a damaged one is read.
inline constexpr double kMostBatch = 1e12;

/// A line of a log without the colours of a terminal (ECMA-48: ESC [ … letter).
std::string without_colours(std::string_view line);

/// A text that is a number and nothing else; null where it is not. "nan" and "inf" are numbers: samples that do not
/// count.
std::optional<double> figure_of(std::string_view text);

/// Seconds of a unit of time by its name, "ms" or "minutes"; nothing where it is none.
std::optional<double> seconds_of_unit(std::string_view unit);

}  // namespace stepcast
