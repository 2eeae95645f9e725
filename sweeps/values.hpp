#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// The same text for values that mean the same to a scenario: 64 and 64.0.
std::string canonical_text(const Json& value);

/// Most values of one list; more is a typing error in a range.
inline constexpr std::size_t kMostValues = 1'000'000;

/// The values of a list as `--set path=LIST` writes it, in order (docs/guide/sweep.md):
///
///     1,2,4..64*2     4, 8, … 64 by a factor; `1..9+2` and `9..1-2` by a difference; `1..4` by one, unless a number
///                     stands before it (`1,2,4..64` may mean either and is a fault)
///     "a,b"           JSON text: commas and dots in quotes mean nothing; objects and arrays are JSON too
///     ring,tree       a word is a text
///     @values.txt     one value a line
///
/// A range that starts with numbers and ends with none, a range that runs the wrong way, a value given twice and an
/// empty item are faults, at `pointer`; empty then.
std::vector<Json> parse_values(std::string_view list, const std::string& pointer, Diagnostics& diagnostics);

/// One value: JSON if it parses as JSON, else a text.
Json parse_value(std::string_view text);

}  // namespace stepcast
