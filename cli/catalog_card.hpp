#pragma once

#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

/// A catalogue entry for reading: every figure with its unit, evidence and the number of its source; sources below.
std::string catalog_card(const std::string& kind, const Json& entry);

/// A figure whose name ends in its unit, as `latency 1.2 µs` for latency_us.
std::string figure_text(const std::string& name, const Json& value);

/// A number with all its digits, and thousands separators from five on: 12.5, 2039, 81,559.
std::string plain_number(double number);

}  // namespace stepcast
