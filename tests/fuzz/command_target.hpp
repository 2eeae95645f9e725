#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepcast {

/// A command whose input file is hostile. In its arguments FILE stands for the file and OUT for a file that may be
/// written.
struct CommandTarget {
  std::string name;
  std::vector<std::string> arguments;
  std::string input;               ///< name of the file; in a folder where the command goes by it
  std::vector<std::string> seeds;  ///< files of the tree, relative to its root, that are good inputs
};

const std::vector<CommandTarget>& command_targets();

/// Throws std::invalid_argument with the names there are.
const CommandTarget& command_target(const std::string& name);

/// Runs the command on these bytes in this process. Throws std::logic_error when it is answered with anything but a
/// result, a failed check, or bad input that says what is wrong.
void run_command_target(const CommandTarget& target, const std::uint8_t* data, std::size_t size);

}  // namespace stepcast
