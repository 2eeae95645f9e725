#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "calibration/importers/models/shell_values.hpp"

namespace stepcast {

/// Whether a text matches a shell's pattern of characters, `*` and `?`.
bool matches_shell_pattern(std::string_view text, std::string_view pattern);

/// What `[ … ]`, `[[ … ]]` or `test …` says, of the words between the brackets: comparisons of texts and of numbers,
/// `-z`, `-n`, `!`, and, or. Nothing where the script does not tell, as of files and of variables that it does not set.
std::optional<bool> shell_condition(const std::vector<std::string_view>& words, ShellValues& values);

/// What `((…))` says of the expression within.
std::optional<bool> shell_arithmetic_condition(std::string_view expression, ShellValues& values);

}  // namespace stepcast
