#include "calibration/importers/models/shell_values.hpp"

#include <algorithm>
#include <vector>

#include "calibration/importers/models/shell_arithmetic.hpp"
#include "calibration/importers/models/shell_tokens.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestReference = 16;  ///< a variable may name itself

/// Length of the name, digit or special parameter at the start of a text.
std::size_t name_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && is_shell_name(text.substr(0, length + 1))) ++length;
  return length > 0 || text.empty() || std::string_view("0123456789@*#?").find(text[0]) == std::string_view::npos
             ? length
             : 1;
}

std::string joined_words(std::string_view text, std::string_view between) {
  std::string out;
  for (const std::string_view line : lines_of(text))
    for (const std::string_view word : words_of(line)) (out += out.empty() ? "" : between) += word;
  return out;
}

}  // namespace

const std::string* ShellValues::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

std::string ShellValues::expanded(std::string_view word) { return without_quotes(word, 0); }

std::string ShellValues::resolved(std::string text) {
  for (int i = 0; i < kDeepestReference && is_unknown(text); ++i) {
    std::string next = without_quotes(text, 0);
    if (next == text) break;
    text = std::move(next);
  }
  return text;
}

std::string ShellValues::without_quotes(std::string_view word, int depth) {
  std::string out;
  bool single = false, twice = false;
  for (std::size_t at = 0; at < word.size() && !exhausted();) {
    const char c = word[at];
    if (c == '\'' && !twice) {
      single = !single;
      ++at;
    } else if (c == '"' && !single) {
      twice = !twice;
      ++at;
    } else if (c == '\\' && !single) {
      if (at + 1 < word.size() && word[at + 1] != '\n' && word[at + 1] != '\r') out += word[at + 1];
      at += 2;
    } else if (c == '$' && !single) {
      const std::size_t begin = at;
      const auto value = reference(word, at, depth);
      out += value ? *value : std::string(word.substr(begin, at - begin));
    } else {
      out += c;
      ++at;
    }
  }
  bytes_ += out.size();
  return exhausted() ? std::string() : out;
}

std::optional<std::string> ShellValues::reference(std::string_view word, std::size_t& at, int depth) {
  const std::size_t begin = at++;
  if (at < word.size() && (word[at] == '{' || word[at] == '(' || word[at] == '[')) {
    const std::size_t close = shell_closing(word, at);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view inside = word.substr(at + 1, close - at - 1);
    const char open = word[at];
    at = close + 1;
    if (depth >= kDeepestReference) return std::nullopt;
    if (open == '{') return braces(inside, depth + 1);
    if (open == '[') return arithmetic(inside, depth + 1);
    if (inside.size() < 2 || inside.front() != '(' || inside.back() != ')') return echoed(inside, depth + 1);
    return arithmetic(inside.substr(1, inside.size() - 2), depth + 1);
  }
  at += name_length(word.substr(at));
  return value_of(word.substr(begin + 1, at - begin - 1));
}

std::optional<std::string> ShellValues::echoed(std::string_view command, int depth) {
  const std::vector<ShellToken> tokens = shell_tokens(command);
  const auto word = [&](std::size_t at) { return at < tokens.size() && tokens[at].word; };
  std::size_t at = 0;
  std::string between = " ";
  if (word(0) && tokens[0].text.starts_with("IFS=") && tokens.size() > 1 && !tokens[1].word) {
    between = without_quotes(std::string_view(tokens[0].text).substr(4), depth).substr(0, 1);
    at = 2;
  }
  if (!word(at) || tokens[at].text != "echo") return std::nullopt;
  std::string out;
  for (++at; word(at); ++at) {
    const std::string& written = tokens[at].text;
    // Its own options, and files that it writes to.
    if ((out.empty() && written.starts_with('-')) || written.find_first_of("<>") != std::string::npos)
      return std::nullopt;
    std::string one = without_quotes(written, depth);
    if (written.starts_with("\"${") && written.ends_with("[*]}\"")) one = joined_words(one, between);
    out += (out.empty() ? "" : " ") + one;
  }
  // Behind the last word stands the line's end alone.
  return at + 1 == tokens.size() && !is_unknown(out) ? std::optional(out) : std::nullopt;
}

std::optional<std::string> ShellValues::value_of(std::string_view name) {
  read_.emplace(name);
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  return closed_ ? std::optional<std::string>("") : std::nullopt;
}

std::optional<std::string> ShellValues::braces(std::string_view inside, int depth) {
  const std::size_t digits = std::min(inside.find_first_not_of("0123456789"), inside.size());
  const std::string_view name = inside.substr(0, digits > 0 ? digits : name_length(inside));
  std::string_view rest = inside.substr(name.size());
  if (name.empty()) return std::nullopt;
  if (rest == "[@]" || rest == "[*]") rest = {};
  auto value = value_of(name);
  if (rest.empty()) return value;
  const bool empty_too = rest.front() == ':';
  if (empty_too) rest.remove_prefix(1);
  if (rest.empty()) return std::nullopt;
  const bool there = value && (empty_too ? !value->empty() : values_.contains(name));
  const char how = rest.front();
  if (how == '+') return there ? without_quotes(rest.substr(1), depth) : std::string();
  if (how != '-' && how != '=') return std::nullopt;
  if (there) return value;
  std::string otherwise = without_quotes(rest.substr(1), depth);
  if (how == '=') values_.insert_or_assign(std::string(name), otherwise);
  return otherwise;
}

std::optional<std::string> ShellValues::arithmetic(std::string_view inside, int depth) {
  if (depth >= kDeepestReference) return std::nullopt;
  const auto number = shell_arithmetic(without_quotes(inside, depth), [&](const std::string& name) {
    const auto value = value_of(name);
    if (!value || !is_unknown(*value)) return value.value_or("");
    return without_quotes(*value, depth + 1);
  });
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

}  // namespace stepcast
