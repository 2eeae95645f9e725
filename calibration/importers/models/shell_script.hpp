#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/models/shell_values.hpp"

namespace stepcast {

/// A place where a script alone does not say which of its commands run.
struct ShellDoubt {
  int line = 1;
  std::string condition;        ///< as written
  std::set<std::string> once;   ///< variables and options set in one branch that may not be taken
  std::set<std::string> often;  ///< those set in several branches
  int rounds = 0;               ///< of a loop of more: those that were taken; 0: of branches
};

/// A command's words, or those of the value that a variable is given.
struct ShellPiece {
  bool command = false;
  std::vector<std::string> words;
};

struct ShellOutcome {
  ShellValues values;  ///< as they are at the end
  std::vector<ShellPiece> pieces;
  std::vector<ShellDoubt> doubts;
};

/// Follows a shell script without running anything: assignments, arrays, `printf -v`, functions, loops that count
/// (`for ((…))`), and of `if`, `case`, `&&` and `||` the branches that the script's own values choose. A branch that
/// they do not decide is taken, after those before it, and is a doubt; of another loop, or one that they do not bound,
/// the first round is taken. `values` are there before it begins.
ShellOutcome follow_shell_script(std::string_view script, ShellValues values);

/// Words between blanks and commas, without comments, quotes and the brackets of lists.
std::vector<std::string> shell_arguments(std::string_view text);

}  // namespace stepcast
