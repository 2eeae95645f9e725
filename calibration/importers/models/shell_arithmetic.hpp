#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace stepcast {

/// What a shell's `$((…))` comes to: whole numbers and names under + - * / % and parentheses. `value_of` gives the text
/// of a name. Nothing where it is no such expression, divides by zero or leaves the range of numbers.
std::optional<long> shell_arithmetic(std::string_view expression,
                                     const std::function<std::string(const std::string&)>& value_of);

}  // namespace stepcast
