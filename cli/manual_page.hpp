#pragma once

#include <string>

#include "cli/command_tree.hpp"

namespace stepcast {

/// The manual page of a command, in roff with the man macros: "stepcast-run.1" for `stepcast run`. Commands below it
/// are part of the page, except those of the program itself, which have pages of their own.
std::string manual_page(const CommandNode& command, const std::string& version);

}  // namespace stepcast
