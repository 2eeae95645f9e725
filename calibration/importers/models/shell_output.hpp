#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// What `printf` makes of a format with `%s` and `%d`, once more for words that are left. Nothing where the format has
/// something else.
std::optional<std::string> shell_printed(std::string_view format, const std::vector<std::string>& words);

/// An assignment of an arithmetic command, `i=0`, `i++`, `n += 2*k`: the name and the expression of its new value.
struct ShellCount {
  std::string name, expression;
};
std::optional<ShellCount> shell_count(std::string_view text);

}  // namespace stepcast
