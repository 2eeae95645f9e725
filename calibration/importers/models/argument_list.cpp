#include "calibration/importers/models/argument_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kMostSubstitutions = 16;  ///< a variable may name itself

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!(c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) return false;
  return true;
}

/// Text without comments, quotes and the backslashes at line ends; brackets of arrays are blanks.
std::string plain(std::string_view text) {
  std::string out;
  bool comment = false;
  int braces = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n') {
      comment = false;
      out += '\n';
      continue;
    }
    const bool starts_word = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\n' || text[i - 1] == '\t';
    if (c == '#' && starts_word) comment = true;
    if (comment) continue;
    if (c == '$' && i + 1 < text.size() && text[i + 1] == '{') ++braces;
    if (c == '}' && braces > 0) --braces;
    const bool dropped = c == '"' || c == '\'' || c == '\\' || c == ',' || c == '[' || c == ']';
    const bool blank = c == '(' || c == ')' || c == '\r';
    if (braces > 0 || (!dropped && !blank))
      out += c;
    else if (blank || c == ',')
      out += ' ';
  }
  return out;
}

/// `--name` and not a negative number.
bool is_option(std::string_view word) { return word.size() > 2 && word.substr(0, 2) == "--"; }

}  // namespace

ArgumentList::ArgumentList(std::string_view text, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
  const std::string readable = plain(text);
  std::string option;
  for (const std::string_view line : lines_of(readable))
    for (const std::string_view found : words_of(line)) {
      std::string word(found);
      const std::size_t equals = word.find('=');
      if (equals != std::string::npos && is_name(std::string_view(word).substr(0, equals))) {
        variables_[word.substr(0, equals)] = word.substr(equals + 1);
        option.clear();
        continue;
      }
      if (is_option(word)) {
        option = word.substr(0, equals);
        std::vector<std::string>& values = options_[option];
        values.clear();  // the last one counts
        if (equals != std::string::npos) values.push_back(word.substr(equals + 1));
      } else if (!option.empty()) {
        options_[option].push_back(std::move(word));
      }
    }
}

std::string ArgumentList::substituted(const std::string& word) const {
  std::string out = word;
  for (int i = 0; i < kMostSubstitutions; ++i) {
    const std::size_t at = out.find('$');
    if (at == std::string::npos || at + 1 >= out.size()) return out;
    std::size_t end = at + 1;
    std::string name, otherwise;
    if (out[end] == '{') {
      const std::size_t close = out.find('}', end);
      if (close == std::string::npos) return out;
      name = out.substr(end + 1, close - end - 1);
      if (const std::size_t colon = name.find(':'); colon != std::string::npos) {
        otherwise = name.substr(std::min(name.size(), colon + 2));
        name.resize(colon);
      }
      end = close + 1;
    } else {
      while (end < out.size() && is_name(std::string_view(out).substr(at + 1, end - at))) ++end;
      name = out.substr(at + 1, end - at - 1);
    }
    const auto found = variables_.find(name);
    const std::string value = found == variables_.end() || found->second.find("${" + name) != std::string::npos
                                  ? (found != variables_.end() && otherwise.empty() ? found->second : otherwise)
                                  : found->second;
    out.replace(at, end - at, value);
  }
  return out;
}

bool ArgumentList::has(const std::string& option) {
  known_.insert(option);
  return options_.contains(option);
}

std::vector<std::string> ArgumentList::values(const std::string& option) {
  std::vector<std::string> out;
  if (!has(option)) return out;
  for (const std::string& value : options_.at(option)) out.push_back(substituted(value));
  return out;
}

std::string ArgumentList::text(const std::string& option) {
  const std::vector<std::string> found = values(option);
  if (has(option) && found.empty()) diagnostics_.error("", fmt::format("{} has no value", option));
  return found.empty() ? std::string() : found[0];
}

std::optional<double> ArgumentList::number(const std::string& option) {
  if (!has(option)) return std::nullopt;
  const std::string value = text(option);
  double out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(out)) {
    diagnostics_.error("", fmt::format("{}: found {}, expected a number", option, shown(value)),
                       value.starts_with('$') ? "put the variable's value in" : "");
    return std::nullopt;
  }
  return out;
}

std::optional<int> ArgumentList::whole(const std::string& option, int least) {
  const std::optional<double> value = number(option);
  if (!value) return std::nullopt;
  if (*value < least || *value > 2e9 || *value != std::floor(*value)) {
    diagnostics_.error("",
                       fmt::format("{}: found {:g}, expected a whole number of at least {}", option, *value, least));
    return std::nullopt;
  }
  return static_cast<int>(*value);
}

std::string ArgumentList::variable(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::string() : substituted(found->second);
}

std::vector<std::string> ArgumentList::unknown() const {
  std::vector<std::string> out;
  for (const auto& [option, values] : options_)
    if (!known_.contains(option)) out.push_back(option);
  return out;
}

}  // namespace stepcast
