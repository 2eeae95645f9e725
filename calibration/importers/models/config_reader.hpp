#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Reads single keys of another program's flat configuration and remembers which were asked for, so that the rest can
/// be listed. Faults go to the diagnostics. A key whose value is null, or "auto", is not there.
class ConfigReader {
 public:
  ConfigReader(const Json& document, std::string pointer, Diagnostics& diagnostics)
      : document_(document), pointer_(std::move(pointer)), diagnostics_(diagnostics) {}

  [[nodiscard]] bool has(std::string_view key) const;
  /// A whole number of at least `least`; nothing when the key is absent.
  std::optional<int> whole(std::string_view key, int least = 1);
  /// The first of several names that is there; a fault when none is.
  int required(std::initializer_list<std::string_view> keys);
  /// A number, a fault when it is none; nothing when the key is absent.
  std::optional<double> number(std::string_view key);
  /// True or false; `otherwise` when the key is absent or, with a fault, something else.
  bool flag(std::string_view key, bool otherwise);
  /// A string, a fault when it is none; empty when the key is absent.
  std::string text(std::string_view key);
  /// Marks keys as asked for whose values are read elsewhere.
  void ask(std::initializer_list<std::string_view> keys);
  /// Marks keys as known: they say nothing that costs time or memory.
  void ignore(std::initializer_list<std::string_view> keys) { ignore(std::span(keys.begin(), keys.size())); }
  void ignore(std::span<const std::string_view> keys);
  /// Keys that nobody asked for, one slip of the pen from a key that was asked for and that `stated` lacks, are faults
  /// and known from then on: the reader's own value would stand in for theirs.
  void refuse_misspelt(const Json& stated);
  void refuse_misspelt() { refuse_misspelt(document_); }
  /// Keys that nobody asked for, in the order of the file.
  [[nodiscard]] std::vector<std::string> unknown() const;

 private:
  const Json* find(std::string_view key);
  bool refuse_as(std::string_view wanted, const Json& stated);
  void wrong(std::string_view key, const Json& found, std::string_view expected);

  const Json& document_;
  std::string pointer_;
  Diagnostics& diagnostics_;
  std::map<std::string, bool, std::less<>> known_;  ///< keys, and whether their absence tells something
};

/// Whether one letter too many, too few or wrong, or two that changed places, make one name of the other. What begins
/// otherwise, or has another number, is another name: q_head_dim and v_head_dim, stage2_… and stage3_….
bool is_slip(std::string_view written, std::string_view meant);

/// `unknown keys, not used: a, b, c`; empty when there are none.
std::string unknown_note(const std::vector<std::string>& keys);

}  // namespace stepcast
