#include "calibration/importers/models/shell_arithmetic.hpp"

#include <cctype>
#include <charconv>

namespace stepcast {

namespace {

constexpr int kDeepestParentheses = 32;
constexpr long kMost = 1L << 62;  ///< larger ones are no tokens of a training

class Reader {
 public:
  Reader(std::string_view text, const std::function<std::string(const std::string&)>& value_of)
      : rest_(text), value_of_(value_of) {}

  std::optional<long> read() {
    const auto value = choice(0);
    skip_blanks();
    return rest_.empty() ? value : std::nullopt;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front())) != 0) rest_.remove_prefix(1);
  }

  /// The next character if it is one of these.
  std::optional<char> next(std::string_view of) {
    skip_blanks();
    if (rest_.empty() || of.find(rest_.front()) == std::string_view::npos) return std::nullopt;
    const char found = rest_.front();
    rest_.remove_prefix(1);
    return found;
  }

  bool accept(std::string_view sign) {
    skip_blanks();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  /// `condition ? one : other`.
  std::optional<long> choice(int depth) {
    const auto condition = either(depth);
    if (!condition || !accept("?")) return condition;
    const auto one = choice(depth);
    if (!one || !accept(":")) return std::nullopt;
    const auto other = choice(depth);
    return *condition != 0 ? one : other;
  }

  std::optional<long> either(int depth) {
    auto value = both(depth);
    while (value && accept("||")) {
      const auto other = both(depth);
      value = other ? std::optional<long>(*value != 0 || *other != 0) : std::nullopt;
    }
    return value;
  }

  std::optional<long> both(int depth) {
    auto value = comparison(depth);
    while (value && accept("&&")) {
      const auto other = comparison(depth);
      value = other ? std::optional<long>(*value != 0 && *other != 0) : std::nullopt;
    }
    return value;
  }

  std::optional<long> comparison(int depth) {
    const auto value = sum(depth);
    if (!value) return std::nullopt;
    for (const std::string_view sign : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!accept(sign)) continue;
      const auto other = sum(depth);
      if (!other) return std::nullopt;
      const long difference = *value < *other ? -1 : *value > *other ? 1 : 0;
      if (sign == "==" || sign == "!=") return (difference == 0) == (sign == "==") ? 1 : 0;
      const bool equal_too = sign.size() == 2;
      if (difference == 0) return equal_too ? 1 : 0;
      return (difference < 0) == (sign[0] == '<') ? 1 : 0;
    }
    return value;
  }

  static std::optional<long> within_range(long value) {
    return value <= kMost && value >= -kMost ? std::optional(value) : std::nullopt;
  }

  std::optional<long> sum(int depth) {
    auto value = product(depth);
    while (value) {
      const auto sign = next("+-");
      if (!sign) break;
      const auto other = product(depth);
      value = other ? within_range(*sign == '+' ? *value + *other : *value - *other) : std::nullopt;
    }
    return value;
  }

  std::optional<long> product(int depth) {
    auto value = operand(depth);
    while (value) {
      const auto sign = next("*/%");
      if (!sign) break;
      const auto other = operand(depth);
      if (!other || (*sign != '*' && *other == 0)) return std::nullopt;
      long result = 0;
      if (*sign == '*' && __builtin_mul_overflow(*value, *other, &result)) return std::nullopt;
      if (*sign != '*') result = *sign == '/' ? *value / *other : *value % *other;
      value = within_range(result);
    }
    return value;
  }

  std::optional<long> operand(int depth) {
    if (depth > kDeepestParentheses) return std::nullopt;
    if (next("(")) {
      const auto value = choice(depth + 1);
      return next(")") ? value : std::nullopt;
    }
    if (next("-")) {
      const auto value = operand(depth + 1);
      return value ? std::optional(-*value) : std::nullopt;
    }
    if (next("!")) {
      const auto value = operand(depth + 1);
      return value ? std::optional<long>(*value == 0) : std::nullopt;
    }
    skip_blanks();
    std::size_t length = 0;
    while (length < rest_.size() && (rest_[length] == '_' || std::isalnum(static_cast<unsigned char>(rest_[length]))))
      ++length;
    const std::string word(rest_.substr(0, length));
    rest_.remove_prefix(length);
    if (word.empty()) return std::nullopt;
    return number(std::isdigit(static_cast<unsigned char>(word.front())) != 0 ? word : value_of_(word));
  }

  static std::optional<long> number(const std::string& text) {
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? within_range(value) : std::nullopt;
  }

  std::string_view rest_;
  const std::function<std::string(const std::string&)>& value_of_;
};

}  // namespace

std::optional<long> shell_arithmetic(std::string_view expression,
                                     const std::function<std::string(const std::string&)>& value_of) {
  return Reader(expression, value_of).read();
}

}  // namespace stepcast
