#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// The options of a command line as people keep them: plain arguments over lines, or a shell script that sets variables
/// and passes arrays of them. Nothing is run: assignments of plain values are followed, and `$NAME`, `${NAME}`,
/// `${NAME:-otherwise}` and sums and products as `$((A*B))` put in. Asked-for options are remembered, so that the rest
/// can be listed.
class ArgumentList {
 public:
  ArgumentList(std::string_view text, Diagnostics& diagnostics);

  [[nodiscard]] bool has(const std::string& option);
  /// Words behind an option up to the next; empty for a flag.
  std::vector<std::string> values(const std::string& option);
  std::string text(const std::string& option);
  std::optional<int> whole(const std::string& option, int least = 1);
  std::optional<double> number(const std::string& option);
  /// A variable of the script; empty when it sets none.
  [[nodiscard]] std::string variable(const std::string& name) const;
  void ignore(std::string_view option) { known_.emplace(option); }
  /// Options that nobody asked for, sorted.
  [[nodiscard]] std::vector<std::string> unknown() const;
  [[nodiscard]] bool empty() const { return options_.empty(); }

 private:
  /// `$NAME` or `${NAME:-otherwise}`, and where it ends.
  struct Reference {
    std::string name, otherwise;
    std::size_t end = 0;
  };
  static std::optional<Reference> reference_at(const std::string& text, std::size_t at);
  [[nodiscard]] std::string value_of(const Reference& reference) const;
  [[nodiscard]] std::optional<long> arithmetic(const std::string& expression, int depth) const;
  [[nodiscard]] std::string substituted(const std::string& word, int depth = 0) const;

  Diagnostics& diagnostics_;
  std::map<std::string, std::string> variables_;
  std::map<std::string, std::vector<std::string>> options_;
  std::set<std::string> known_;
};

}  // namespace stepcast
