#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace stepcast {

/// One thing that is wrong with an input: where, what was found and expected, and the nearest valid choice.
struct Fault {
  std::string file;
  std::string pointer;     ///< JSON pointer, "" for the whole document
  std::string message;     ///< what was found and what was expected
  std::string suggestion;  ///< nearest valid choice or way out; may be empty
  std::string meant = {};  ///< JSON pointer of the key that a misspelt one stands for; may be empty

  /// `file: /pointer: message; suggestion`
  [[nodiscard]] std::string text() const;
};

/// Bad input. Carries every fault found, never only the first. The command line turns it into exit code 2.
class InputError : public std::exception {
 public:
  explicit InputError(std::vector<Fault> faults);
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  /// All faults, one a line.
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::vector<Fault> faults_;
  std::string text_;
};

/// Collects the faults of one input while it is read, so that all are reported at once.
class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}

  /// What was found and what was expected at a JSON pointer, and the nearest valid choice or way out.
  void error(std::string pointer, std::string message, std::string suggestion = {});
  /// A key of the object at `object` that `owner` does not have. What lacks because of it is no fault of its own; keys
  /// that the object has, `given`, do not lack.
  void unknown_key(const std::string& object, std::string_view owner, const std::string& key,
                   const std::vector<std::string>& known, const std::vector<std::string>& given = {});
  /// A misspelt key stands for the one at this pointer.
  [[nodiscard]] bool meant(std::string_view pointer) const;
  /// Takes over faults that another reader collected.
  void add(std::vector<Fault> faults);
  /// Nothing was wrong so far.
  [[nodiscard]] bool ok() const { return faults_.empty(); }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  /// Throws InputError with everything collected, if anything was.
  void throw_if_faulty() const;

 private:
  std::string file_;
  std::vector<Fault> faults_;
};

/// The candidate nearest to `wanted` by edit distance, or null when none is close.
const std::string* nearest(std::string_view wanted, const std::vector<std::string>& candidates);

/// `did you mean "x"?` for the nearest candidate, or "" when none is close.
std::string did_you_mean(std::string_view wanted, const std::vector<std::string>& candidates);

/// `expected one of a, b, c`, shortened when there are many.
std::string expected_one_of(const std::vector<std::string>& candidates);

/// The hint for a word that is none of the candidates: the one that was meant, else all of them.
std::string nearest_choice(std::string_view wanted, const std::vector<std::string>& candidates);

}  // namespace stepcast
