#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

/// Seconds since 1970 (or since a start) of a point in time as tables write it: `2026/11/21 20:15:07.123`,
/// `2026-11-21T20:15:07Z`, `2026-11-21T21:15:07+01:00`, or a number, from 1e11 on of milliseconds.
std::optional<double> moment_of(std::string_view text);

/// Seconds since 1970 of what C's asctime writes: `Fri Nov 20 10:00:00 2026`.
std::optional<double> calendar_moment_of(std::string_view text);

/// `2026-11-21T20:15:07Z` of seconds since 1970.
std::string stamp_of(double seconds);

}  // namespace stepcast
