#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace stepcast {

/// One option of a command, as its help says it.
struct CommandOption {
  std::vector<std::string> names;    ///< with their dashes, short ones first; of a positional its name alone
  std::string value;                 ///< what the value is called (FILE); empty: a flag
  std::vector<std::string> choices;  ///< words that the value must be one of; empty: anything
  std::string description;
  bool positional = false;
  bool required = false;
  bool repeatable = false;
};

/// A command with what lies below it. What manual pages and shell completions are written from, so that they cannot say
/// anything else than the program does.
struct CommandNode {
  std::string path;  ///< "stepcast fabric show"
  std::string name;  ///< "show"
  std::string description;
  std::string footer;
  std::vector<CommandOption> options;
  std::vector<CommandNode> commands;
};

/// The tree of commands below and including `app`.
CommandNode command_tree(const CLI::App& app, const std::string& parent_path = "");

}  // namespace stepcast
