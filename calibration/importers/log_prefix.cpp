#include "calibration/importers/log_prefix.hpp"

#include <algorithm>
#include <cctype>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

bool is_decimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Takes characters of one kind off the front; false where there is none.
bool take_run(std::string_view& text, bool (*kind)(char)) {
  const auto end = std::find_if_not(text.begin(), text.end(), kind);
  const bool any = end != text.begin();
  text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  return any;
}

/// Digits, with a fraction where there is one: of a time some lines have none.
bool take_number(std::string_view& text) {
  if (!take_run(text, is_decimal)) return false;
  if (text.size() > 1 && text.front() == '.' && is_decimal(text[1])) {
    text.remove_prefix(1);
    take_run(text, is_decimal);
  }
  return true;
}

}  // namespace

void LogPrefix::learn(std::string_view before) { prefix_ = trimmed(before); }

std::string_view LogPrefix::strip(std::string_view line) const {
  line = trimmed(line);
  std::string_view rest = line;
  // Numbers may have other digits, and blanks another width; all else is the same.
  for (std::string_view left = prefix_; !left.empty();) {
    if (take_number(left)) {
      if (!take_number(rest)) return line;
      continue;
    }
    if (take_run(left, is_space)) {
      if (!take_run(rest, is_space)) return line;
      continue;
    }
    if (rest.empty() || rest.front() != left.front()) return line;
    left.remove_prefix(1);
    rest.remove_prefix(1);
  }
  return trimmed(rest);
}

}  // namespace stepcast
