#pragma once

#include <functional>
#include <string>
#include <vector>

namespace stepcast::probes {

/// The options of a probe, read from the words of its command line.
class Arguments {
 public:
  /// `program` and what it is for, in one sentence; shown by `--help`.
  Arguments(std::string program, std::string purpose);

  /// An option with a value (`value` names it in the help) or, where `value` is empty, a flag. `set` gets the value and
  /// may throw Fault; its message is put behind the option's name.
  void add(std::string name, std::string value, std::string help, std::function<void(const std::string&)> set);

  /// Reads `--name value`, `--name=value` and flags. Throws one Fault (bad input) with a line for every fault: unknown
  /// options with the nearest known one, values that are missing or refused, options given twice.
  void parse(int argc, const char* const* argv) const;

  /// Whether `--help` or `--version` is among the words.
  static bool asks(int argc, const char* const* argv, const std::string& flag);

  [[nodiscard]] std::string help() const;

 private:
  struct Option {
    std::string name, value, help;
    std::function<void(const std::string&)> set;
  };
  [[nodiscard]] const Option* find(const std::string& name) const;
  [[nodiscard]] std::string nearest(const std::string& name) const;

  std::string program_, purpose_;
  std::vector<Option> options_;
};

}  // namespace stepcast::probes
