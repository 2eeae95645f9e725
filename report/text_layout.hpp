#pragma once

#include <string>
#include <string_view>

#include "units/quantity.hpp"

namespace stepcast {

inline constexpr int kColumns = 100;
inline constexpr int kLabel = 24;
inline constexpr int kBar = 36;

/// A line across the report.
std::string rule();
/// The first line of a report, with its size at the right end, or below a long title.
std::string opening(const std::string& title, const std::string& right);
/// A heading, with something at the right end of its line.
std::string heading(std::string_view title, const std::string& right = {});
/// Two names with their values.
std::string pair_line(const std::string& left_name, const std::string& left, const std::string& right_name,
                      const std::string& right);
/// A part of a time, its share and a bar of it.
std::string part_line(std::string_view name, Seconds time, Seconds whole);
/// Breaks a line at blanks so that none passes the width; continued lines are indented.
std::string wrapped(const std::string& text, const std::string& first, const std::string& next);

}  // namespace stepcast
