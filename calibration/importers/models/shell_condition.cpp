#include "calibration/importers/models/shell_condition.hpp"

#include <fmt/format.h>

#include <array>
#include <span>

#include "calibration/importers/models/shell_arithmetic.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

using Words = std::span<const std::string_view>;

std::optional<long> number_of(const std::string& text) {
  return is_unknown(text) ? std::nullopt : shell_arithmetic(text, [](const std::string&) { return std::string(); });
}

struct Comparison {
  std::string_view test, operation;  ///< as `[ … ]` and as `((…))` write it
  bool (*holds)(long, long);
};
constexpr std::array kComparisons{Comparison{"-le", "<=", [](long a, long b) { return a <= b; }},
                                  Comparison{"-ge", ">=", [](long a, long b) { return a >= b; }},
                                  Comparison{"-eq", "==", [](long a, long b) { return a == b; }},
                                  Comparison{"-ne", "!=", [](long a, long b) { return a != b; }},
                                  Comparison{"-lt", "<", [](long a, long b) { return a < b; }},
                                  Comparison{"-gt", ">", [](long a, long b) { return a > b; }}};

std::optional<bool> compared(const std::string& left, std::string_view how, const std::string& right) {
  if (how == "=" || how == "==" || how == "!=") {
    if (is_unknown(left) || is_unknown(right)) return std::nullopt;
    return matches_shell_pattern(left, right) == (how != "!=");
  }
  for (const Comparison& one : kComparisons) {
    if (how != one.test) continue;
    const auto a = number_of(left), b = number_of(right);
    return a && b ? std::optional(one.holds(*a, *b)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<bool> single(Words words, ShellValues& values) {
  bool holds = true;
  while (!words.empty() && words.front() == "!") {
    holds = !holds;
    words = words.subspan(1);
  }
  const auto signed_as = [&](std::optional<bool> found) { return found ? std::optional(*found == holds) : found; };
  if (words.size() == 3) return signed_as(compared(values.expanded(words[0]), words[1], values.expanded(words[2])));
  if (words.empty() || words.size() > 2) return std::nullopt;
  const std::string last = values.expanded(words.back());
  if (is_unknown(last)) return std::nullopt;
  if (words.size() == 1 || words[0] == "-n") return signed_as(!last.empty());
  return words[0] == "-z" ? signed_as(last.empty()) : std::nullopt;
}

/// Parts between words, joined: `decisive` is what one part alone decides.
std::optional<bool> joined(Words words, std::array<std::string_view, 2> by, bool decisive, ShellValues& values,
                           std::optional<bool> (*part)(Words, ShellValues&)) {
  bool known = true;
  for (std::size_t begin = 0; begin <= words.size();) {
    std::size_t end = begin;
    while (end < words.size() && words[end] != by[0] && words[end] != by[1]) ++end;
    const auto found = part(words.subspan(begin, end - begin), values);
    if (found == decisive) return decisive;
    known = known && found;
    begin = end + 1;
  }
  return known ? std::optional(!decisive) : std::nullopt;
}

std::optional<bool> all_of(Words words, ShellValues& values) {
  return joined(words, {"&&", "-a"}, false, values, single);
}

}  // namespace

bool matches_shell_pattern(std::string_view text, std::string_view pattern) {
  // Behind the last star everything before has matched as early as it can.
  std::size_t at = 0, in = 0, star = std::string_view::npos, resume = 0;
  while (at < text.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      resume = at;
    } else if (in < pattern.size() && (pattern[in] == '?' || pattern[in] == text[at])) {
      ++in;
      ++at;
    } else if (star != std::string_view::npos) {
      in = star + 1;
      at = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

std::optional<bool> shell_condition(const std::vector<std::string_view>& words, ShellValues& values) {
  return joined(words, {"||", "-o"}, true, values, all_of);
}

std::optional<bool> shell_arithmetic_condition(std::string_view expression, ShellValues& values) {
  const auto value = [&](std::string_view text) { return number_of(values.expanded(fmt::format("$(({}))", text))); };
  for (const Comparison& one : kComparisons) {
    const std::size_t at = expression.find(one.operation);
    if (at == std::string_view::npos) continue;
    const auto a = value(expression.substr(0, at)), b = value(expression.substr(at + one.operation.size()));
    return a && b ? std::optional(one.holds(*a, *b)) : std::nullopt;
  }
  const auto found = value(expression);
  return found ? std::optional(*found != 0) : std::nullopt;
}

}  // namespace stepcast
