#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stepcast {

/// Variables of a shell script, and what words that refer to them come to.
class ShellValues {
 public:
  /// Variables that nothing assigns are empty from now on, and not unknown.
  void close() { closed_ = true; }
  void assign(const std::string& name, std::string value) {
    bytes_ += value.size();  // a list that grows in a loop is a new text each time
    values_[name] = std::move(value);
  }
  [[nodiscard]] const std::string* find(const std::string& name) const;
  /// A word without its quotes and with `$NAME`, `${NAME}`, `${NAME:-otherwise}`, `${NAME:=otherwise}`,
  /// `${NAME:+instead}`, `${NAME[@]}`, `$((…))`, `$[…]` and `$(echo …)` put in. What is not known stays as it is
  /// written.
  std::string expanded(std::string_view word);
  /// The same once more for a text in which references were left, with the variables as they are now.
  std::string resolved(std::string text);
  /// The names that were asked for.
  [[nodiscard]] const std::set<std::string>& read() const { return read_; }
  /// Whether words have come to more than any script means; they are empty from then on.
  [[nodiscard]] bool exhausted() const { return bytes_ > kMostBytes; }

 private:
  static constexpr std::size_t kMostBytes = 16U << 20;  ///< as of a description that is read

  std::string without_quotes(std::string_view word, int depth);
  /// What the reference at `at` comes to, `at` behind it; nothing where it is not known.
  std::optional<std::string> reference(std::string_view word, std::size_t& at, int depth);
  std::optional<std::string> braces(std::string_view inside, int depth);
  std::optional<std::string> arithmetic(std::string_view inside, int depth);
  /// `echo words`, or `IFS=,; echo "${list[*]}"`: what it prints, a list's words with the sign between them.
  std::optional<std::string> echoed(std::string_view command, int depth);
  std::optional<std::string> value_of(std::string_view name);

  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string> read_;
  std::size_t bytes_ = 0;
  bool closed_ = false;
};

/// Whether a text still holds a reference, or output of a command.
inline bool is_unknown(std::string_view text) { return text.find_first_of("$`") != std::string_view::npos; }

}  // namespace stepcast
