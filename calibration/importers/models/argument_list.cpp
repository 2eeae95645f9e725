#include "calibration/importers/models/argument_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "calibration/importers/models/shell_arithmetic.hpp"
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

/// Where the `))` of a `$((` at `at` begins; the end of the text where there is none.
std::size_t arithmetic_end(std::string_view text, std::size_t at) {
  int open = 0;
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '(') ++open;
    if (text[i] == ')' && --open == 0) return i - 1;
  }
  return text.size();
}

/// Turns a script into words between blanks: without comments, quotes and the backslashes at line ends, brackets of
/// arrays as blanks. Kept are what braces of variables and `$((…))` enclose, and parentheses within a quoted word, as
/// in
/// `"(tt|)*29"`.
class PlainText {
 public:
  explicit PlainText(std::string_view text) : text_(text) {}

  std::string read() {
    for (at_ = 0; at_ < text_.size(); ++at_) take();
    return std::move(out_);
  }

 private:
  void take() {
    const char c = text_[at_];
    if (c == '\n') comment_ = false;
    const bool starts_word = at_ == 0 || text_[at_ - 1] == ' ' || text_[at_ - 1] == '\n' || text_[at_ - 1] == '\t';
    if (c == '#' && starts_word) comment_ = true;
    if (comment_) return;
    if (text_.substr(at_, 3) == "$((" && take_arithmetic()) return;
    if (text_.substr(at_, 2) == "${") ++braces_;
    if (c == '}' && braces_ > 0) --braces_;
    const bool quote = c == '"' || c == '\'';
    if (quote && at_ >= quoted_until_) open_quote(c);
    if (quote) return;
    const bool parenthesis = c == '(' || c == ')';
    const bool kept = braces_ > 0 || (parenthesis && at_ < quoted_until_);
    const bool separates = parenthesis || c == '\r' || c == ',', dropped = c == '\\' || c == '[' || c == ']';
    if (!kept && separates)
      out_ += ' ';
    else if (kept || !dropped)
      out_ += c;
  }

  /// `$((A * B))` as one word.
  bool take_arithmetic() {
    const std::string_view line = text_.substr(0, text_.find('\n', at_));
    const std::size_t end = arithmetic_end(line, at_);
    if (end == line.size()) return false;
    for (const char c : text_.substr(at_, end + 2 - at_))
      if (c != ' ' && c != '\t' && c != '"') out_ += c;
    at_ = end + 1;
    return true;
  }

  void open_quote(char quote) {
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) return;
    const bool word = text_.substr(at_, end - at_).find_first_of(" \t\r\n") == std::string_view::npos;
    if (word) quoted_until_ = end;
  }

  std::string_view text_;
  std::size_t at_ = 0, quoted_until_ = 0;  ///< end of the quoted word being read
  int braces_ = 0;
  bool comment_ = false;
  std::string out_;
};

/// `--name` and not a negative number.
bool is_option(std::string_view word) { return word.size() > 2 && word.substr(0, 2) == "--"; }

}  // namespace

ArgumentList::ArgumentList(std::string_view text, Diagnostics& diagnostics) : diagnostics_(diagnostics) {
  const std::string readable = PlainText(text).read();
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

std::string ArgumentList::substituted(const std::string& word, int depth) const {
  std::string out = word;
  for (int i = 0; i < kMostSubstitutions; ++i) {
    const std::size_t at = out.find('$');
    if (at == std::string::npos || at + 1 >= out.size()) return out;
    std::size_t end = at + 1;
    std::string value;
    if (out.compare(end, 2, "((") == 0) {
      const std::size_t close = arithmetic_end(out, at);
      if (close == out.size()) return out;
      const auto number = arithmetic(out.substr(end + 2, close - end - 2), depth);
      if (!number) return out;
      value = std::to_string(*number);
      end = close + 2;
    } else {
      const std::optional<Reference> found = reference_at(out, at);
      if (!found) return out;
      value = value_of(*found);
      end = found->end;
    }
    out.replace(at, end - at, value);
  }
  return out;
}

std::optional<ArgumentList::Reference> ArgumentList::reference_at(const std::string& text, std::size_t at) {
  Reference out;
  out.end = at + 1;
  if (text[out.end] == '{') {
    const std::size_t close = text.find('}', out.end);
    if (close == std::string::npos) return std::nullopt;
    out.name = text.substr(out.end + 1, close - out.end - 1);
    if (const std::size_t colon = out.name.find(':'); colon != std::string::npos) {
      out.otherwise = out.name.substr(std::min(out.name.size(), colon + 2));
      out.name.resize(colon);
    }
    out.end = close + 1;
    return out;
  }
  while (out.end < text.size() && is_name(std::string_view(text).substr(at + 1, out.end - at))) ++out.end;
  out.name = text.substr(at + 1, out.end - at - 1);
  return out;
}

std::string ArgumentList::value_of(const Reference& reference) const {
  const auto found = variables_.find(reference.name);
  if (found == variables_.end()) return reference.otherwise;
  // `A=${A:-8}` names itself.
  const bool names_itself = found->second.find("${" + reference.name) != std::string::npos;
  return names_itself && !reference.otherwise.empty() ? reference.otherwise : found->second;
}

std::optional<long> ArgumentList::arithmetic(const std::string& expression, int depth) const {
  if (depth >= kMostSubstitutions) return std::nullopt;  // a variable may name itself
  return shell_arithmetic(substituted(expression, depth + 1), [&](const std::string& name) {
    const auto found = variables_.find(name);
    return found == variables_.end() ? std::string() : substituted(found->second, depth + 1);
  });
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
