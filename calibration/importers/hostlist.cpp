#include "calibration/importers/hostlist.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostDigits = 15;

[[noreturn]] void fail(const std::string& message) { throw std::invalid_argument(message); }

std::uint64_t number(std::string_view digits) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (digits.empty() || digits.size() > kMostDigits || error != std::errc{} || end != digits.data() + digits.size())
    fail(fmt::format("{} in brackets is no number", shown(digits)));
  return out;
}

/// What one pair of brackets stands for.
std::vector<std::string> expand_brackets(std::string_view inside, std::size_t most) {
  std::vector<std::string> out;
  while (true) {
    const std::size_t comma = std::min(inside.find(','), inside.size());
    const std::string_view part = inside.substr(0, comma);
    const std::size_t dash = std::min(part.find('-'), part.size());
    const std::string_view first = part.substr(0, dash);
    const std::string_view last = dash == part.size() ? first : part.substr(dash + 1);
    const std::uint64_t from = number(first), to = number(last);
    if (to < from) fail(fmt::format("the range {} falls", shown(part)));
    if (to - from >= most || out.size() + (to - from) >= most)
      fail(fmt::format("{} makes more than {} names", shown(part), most));
    for (std::uint64_t i = from; i <= to; ++i) out.push_back(fmt::format("{:0{}}", i, first.size()));
    if (comma == inside.size()) return out;
    inside.remove_prefix(comma + 1);
  }
}

/// One element of the list: text and brackets in turn; several brackets multiply, the last one running fastest.
void expand_element(std::string_view element, std::size_t most, std::vector<std::string>& out) {
  std::vector<std::string> names{""};
  while (!element.empty()) {
    const std::size_t open = std::min(element.find('['), element.size());
    const std::string_view text = element.substr(0, open);
    if (text.find(']') != std::string_view::npos)
      fail(fmt::format("{} closes a bracket that is not open", shown(element)));
    for (std::string& name : names) name += text;
    element.remove_prefix(open);
    if (element.empty()) break;
    const std::size_t close = element.find(']');
    if (close == std::string_view::npos) fail(fmt::format("{} does not close its bracket", shown(element)));
    const std::string_view inside = element.substr(1, close - 1);
    if (inside.find('[') != std::string_view::npos)
      fail(fmt::format("{} has brackets inside brackets", shown(element)));
    const std::vector<std::string> choices = expand_brackets(inside, most);
    if (names.size() * choices.size() > most) fail(fmt::format("{} makes more than {} names", shown(element), most));
    std::vector<std::string> longer;
    longer.reserve(names.size() * choices.size());
    for (const std::string& name : names)
      for (const std::string& choice : choices) longer.push_back(name + choice);
    names = std::move(longer);
    element.remove_prefix(close + 1);
  }
  if (out.size() + names.size() > most) fail(fmt::format("more than {} names", most));
  out.insert(out.end(), names.begin(), names.end());
}

/// A name as a prefix and the number at its end.
struct SplitName {
  std::string_view prefix, digits;
};

SplitName split(std::string_view name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && name.size() - at < kMostDigits) --at;
  return {name.substr(0, at), name.substr(at)};
}

}  // namespace

std::vector<std::string> expand_hostlist(std::string_view expression, std::size_t most) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= expression.size(); ++i) {
    const char c = i < expression.size() ? expression[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (i < expression.size() && (c != ',' || depth > 0)) continue;
    const std::string_view element = expression.substr(start, i - start);
    if (element.empty()) fail(expression.empty() ? "the list is empty" : "a name in the list is empty");
    expand_element(element, most, out);
    start = i + 1;
  }
  return out;
}

std::string compress_hostlist(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size();) {
    const SplitName first = split(names[i]);
    std::size_t run = 1;
    for (std::uint64_t next = first.digits.empty() ? 0 : number(first.digits) + 1;
         !first.digits.empty() && i + run < names.size(); ++run, ++next) {
      const SplitName other = split(names[i + run]);
      if (other.prefix != first.prefix || other.digits != fmt::format("{:0{}}", next, first.digits.size())) break;
    }
    if (!out.empty()) out += ',';
    out += run == 1 ? names[i] : fmt::format("{}[{}-{}]", first.prefix, first.digits, split(names[i + run - 1]).digits);
    i += run;
  }
  return out;
}

}  // namespace stepcast
