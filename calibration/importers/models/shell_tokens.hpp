#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// A word of a shell script with its quotes and references as written, or an operator between commands: a line's end,
/// `;`, `;;`, `&`, `&&`, `|`, `||`, `(`, `)`, and `()` behind the name of a function.
struct ShellToken {
  bool word = false;
  std::string text;
  int line = 1;
};

/// Words and operators of a script, without comments; what a here-document holds stands behind its line. A quote or a
/// bracket that nothing closes is left out, so that plain lists of arguments read as they look.
std::vector<ShellToken> shell_tokens(std::string_view script);

/// Where what opens at `at` (a quote, a backtick, `(`, `{` or `[`) closes; npos where nothing does. Quotes and escapes
/// within are passed over, in parentheses comments as well.
std::size_t shell_closing(std::string_view text, std::size_t at);

/// Whether a text is a name of a variable.
bool is_shell_name(std::string_view text);

}  // namespace stepcast
