#pragma once

#include <span>
#include <string_view>

namespace CLI {
class App;
}

namespace stepcast {

/// Commands as they are typed, of one command.
struct CommandExamples {
  std::string_view command;  ///< "stepcast fabric show"
  std::string_view lines;    ///< one a line; each begins with the command
};

/// Of every command that does something, in the order of the help.
std::span<const CommandExamples> command_examples();

/// Puts each command's examples under its help, before what else stands there, and nothing of the program's under a
/// command without.
void add_examples(CLI::App& program);

}  // namespace stepcast
