#pragma once

#include <optional>
#include <string>

#include "fields/json_text.hpp"

namespace stepcast {

/// A whole or a finite number as YAML and TOML write them: with a plus before it, and underscores between its digits.
/// Nothing where the word is none.
std::optional<Json> plain_number(std::string word);

}  // namespace stepcast
