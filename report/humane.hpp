#pragma once

#include <string>

#include "fields/short_number.hpp"
#include "units/quantity.hpp"

namespace stepcast {

/// Numbers as people read them: about three significant digits, a unit that fits, the same in every locale.
std::string humane(Seconds time);         ///< "41.5 ms", "2.31 s", "3.2 h", "12.4 days"
std::string humane(Bytes size);           ///< "54.3 GiB"
std::string humane(Watts power);          ///< "412 W", "53.1 kW"
std::string humane(Joules energy);        ///< "830 J", "2.31 MJ"
std::string humane_count(double number);  ///< "0.0356", "1,024", "74.7 k", "1.21 M"
/// "960 t".
std::string humane_mass(double kilograms);
std::string percent(double share);  ///< "45.5 %"

/// A bar of `cells` character cells, filled to a share (0–1) in eighths of a cell; the rest is blank.
std::string bar(double share, int cells);
/// The same with its rest shown.
std::string gauge(double share, int cells);

/// Columns that UTF-8 text takes on a terminal, for text without wide characters.
int columns_of(const std::string& text);
std::string pad_left(const std::string& text, int columns);
std::string pad_right(const std::string& text, int columns);

}  // namespace stepcast
