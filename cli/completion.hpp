#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace stepcast {

/// Completion of a program's commands, options and choices for bash: to be sourced, or put into a folder of
/// bash-completion. Other words are completed as file names.
std::string bash_completion(const CommandNode& program);

/// The same for zsh, to be put into a folder of `fpath` as _stepcast.
std::string zsh_completion(const CommandNode& program);

}  // namespace stepcast
