#pragma once

#include <string_view>

#include "fields/json_text.hpp"

namespace stepcast {

/// Reads TOML 1.0 as JSON: tables, arrays of tables, dotted keys, inline tables, arrays, strings, numbers and truth
/// values; dates stay texts. Faults, with the line: what is none of these, a key given twice. Returns null then.
Json parse_toml(std::string_view text, Diagnostics& diagnostics);

}  // namespace stepcast
