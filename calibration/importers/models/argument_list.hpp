#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/models/shell_script.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

/// What to do where a script does not set a value.
inline constexpr const char* kCallSaysIt = "--call says what the script is called with, or put the value in";

/// The options of a command line as people keep them: plain arguments over lines, or a shell script that sets variables
/// and passes arrays of them. Nothing is run; see follow_shell_script. Of a script that runs a Python program with the
/// option that `marks` names, only what that command gets counts, else every option. Asked-for options are remembered,
/// so that the rest can be listed.
class ArgumentList {
 public:
  /// `call`: what the script is called with, variables `NAME=VALUE` before its arguments.
  ArgumentList(std::string_view text, std::string_view call, std::string_view marks, Diagnostics& diagnostics);

  [[nodiscard]] bool has(const std::string& option);
  /// Whether YAML sets an option to false.
  [[nodiscard]] bool denies(const std::string& option) const;
  /// Words behind an option up to the next; empty for a flag.
  std::vector<std::string> values(const std::string& option);
  /// The first word behind an option, a fault when there is none; empty without the option.
  std::string text(const std::string& option);
  /// A whole number of at least `least`, a fault when it is none; nothing without the option.
  std::optional<int> whole(const std::string& option, int least = 1);
  /// A number, a fault when it is none; nothing without the option.
  std::optional<double> number(const std::string& option);
  /// A variable of the script; empty when it sets none.
  std::string variable(const std::string& name);
  /// Marks an option as known: what it says costs neither time nor memory, or is said elsewhere.
  void ignore(std::string_view option) { known_.emplace(option, false); }
  /// Whether an option that nobody knows is this asked-for one, which the list lacks, with a slip of the pen; then it
  /// is a fault, and known from then on.
  bool refuse_as(const std::string& wanted);
  /// The same of every option that was asked for: what stands in for it would be somebody else's choice.
  void refuse_misspelt();
  /// Options that nobody asked for, sorted.
  [[nodiscard]] std::vector<std::string> unknown() const;
  [[nodiscard]] bool empty() const { return options_.empty(); }
  /// What the script leaves open: branches that it does not decide, variables that it does not set, asked-for options
  /// that the command does not get. To be asked for last.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void gather(std::string_view marks);
  /// Words with the variables as they are at the end put in.
  std::vector<std::string> final_words(const std::vector<std::string>& words);
  void add_options(const std::vector<std::string>& words, std::string& option);
  /// Options of YAML, `--name: value`, whose flags are true or false.
  void take_flags();
  void add_value(const std::string& option, std::string word);
  [[nodiscard]] std::vector<std::string> doubts() const;

  Diagnostics& diagnostics_;
  ShellOutcome script_;
  int commands_ = 0;  ///< with the marking option
  std::set<std::string> of_yaml_;
  std::set<std::string> elsewhere_;  ///< options that the command does not get
  std::vector<std::string> unset_;   ///< references to variables that nothing sets
  std::map<std::string, std::vector<std::string>> options_;
  std::map<std::string, bool, std::less<>> known_;  ///< options, and whether they were asked for
};

}  // namespace stepcast
