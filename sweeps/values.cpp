#include "sweeps/values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "calibration/importers/text_file.hpp"
#include "fields/utf8.hpp"

namespace stepcast {

namespace {

/// Largest file of values; a million of them take less.
constexpr std::size_t kMostListBytes = 64u << 20;
/// Whole numbers up to this are exact in a double.
constexpr double kLargestExact = 9007199254740992.0;

/// Reads a number at the start of a text; what follows it goes to `rest`.
std::optional<double> leading_number(std::string_view text, std::string_view& rest) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || !std::isfinite(out)) return std::nullopt;
  rest = text.substr(static_cast<std::size_t>(end - text.data()));
  return out;
}

std::optional<double> whole_text_number(std::string_view text) {
  std::string_view rest;
  const auto out = leading_number(text, rest);
  return out && rest.empty() ? out : std::nullopt;
}

bool is_whole(double value) { return value == std::floor(value) && std::abs(value) < kLargestExact; }

/// Steps such as 0.1 add up to 0.30000000000000004: twelve digits are what was meant.
Json number_json(double value) {
  if (is_whole(value)) return static_cast<std::int64_t>(value);
  const std::string text = fmt::format("{:.12g}", value);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

struct Range {
  double first = 0, last = 0;
  char operation = '+';
  double step = 1;

  [[nodiscard]] std::string fault() const {
    if (operation == '*' && !(step > 1)) return "a range by a factor needs one above 1";
    if (operation == '*' && !(first > 0)) return "a range by a factor starts above 0";
    if (operation != '*' && !(step > 0)) return "a range needs a step above 0";
    if (operation == '-' ? last > first : last < first)
      return operation == '-' ? "the range goes up" : "the range goes down; 8..1-1 counts down";
    return {};
  }
  [[nodiscard]] double at(double i) const {
    if (operation == '*') return first * std::pow(step, i);
    return operation == '-' ? first - i * step : first + i * step;
  }
  /// Values up to the end, which belongs to the range where it is met.
  [[nodiscard]] double count() const {
    constexpr double kRounding = 1e-9;  // of a step
    const double steps = operation == '*' ? std::log(last / first) / std::log(step) : std::abs(last - first) / step;
    return std::floor(steps + kRounding) + 1;
  }
};

/// The items of one list, and what is wrong with them.
class ListReader {
 public:
  ListReader(std::string_view list, std::string pointer, Diagnostics& diagnostics)
      : list_(list), pointer_(std::move(pointer)), diagnostics_(diagnostics) {}

  std::vector<Json> read() {
    if (!is_utf8(std::string(list_))) fault("found bytes that are no UTF-8");
    if (faulty_) return {};
    for (const std::string_view item : items()) {
      read_item(trimmed(item));
      if (faulty_) return {};
    }
    return std::move(values_);
  }

 private:
  void fault(std::string message, std::string suggestion = {}) {
    faulty_ = true;
    diagnostics_.error(pointer_, std::move(message), std::move(suggestion));
  }

  /// Splits at commas outside quotes, brackets and braces.
  [[nodiscard]] std::vector<std::string_view> items() const {
    std::vector<std::string_view> out;
    std::size_t start = 0;
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < list_.size(); ++i) {
      const char c = list_[i];
      if (quoted) {
        if (c == '\\') ++i;
        if (c == '"') quoted = false;
      } else if (c == '"') {
        quoted = true;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (c == ']' || c == '}') {
        --depth;
      } else if (c == ',' && depth <= 0) {
        out.push_back(list_.substr(start, i - start));
        start = i + 1;
      }
    }
    out.push_back(list_.substr(start));
    return out;
  }

  void add(Json value) {
    if (values_.size() >= kMostValues) return fault(fmt::format("more than {} values", kMostValues));
    if (!known_.insert(canonical_text(value)).second)
      return fault(fmt::format("{} is given twice", describe(value)), "leave one of them out");
    values_.push_back(std::move(value));
  }

  void read_item(std::string_view item) {
    if (item.empty()) return fault("an empty item in the list", "write an empty text as \"\"");
    if (item.front() == '@') return read_file(item.substr(1));
    if (item.front() == '"' || item.front() == '[' || item.front() == '{') return read_json_item(item);
    const std::size_t dots = item.find("..");
    if (dots != std::string_view::npos && whole_text_number(item.substr(0, dots)))
      return read_range(item, *whole_text_number(item.substr(0, dots)), item.substr(dots + 2));
    add(parse_value(item));
  }

  void read_json_item(std::string_view item) {
    Diagnostics syntax(diagnostics_.file());
    Json value = parse_json(item, syntax);
    if (!syntax.ok()) return fault(fmt::format("{}: {}", shown(item), syntax.faults().front().message));
    add(std::move(value));
  }

  void read_range(std::string_view item, double first, std::string_view end) {
    Range range{first};
    std::string_view rest;
    const auto last = leading_number(end, rest);
    bool sound = last.has_value();
    if (sound && !rest.empty()) {
      range.operation = rest.front();
      const auto step = whole_text_number(rest.substr(1));
      sound = step && std::string_view("+-*").find(range.operation) != std::string_view::npos;
      range.step = step.value_or(1);
    }
    if (!sound)
      return fault(fmt::format("found {}, expected a range such as 1..8, 1..9+2, 9..1-2 or 4..64*2", shown(item)),
                   "quote a text: \"1..x\"");
    range.last = *last;
    if (rest.empty() && !values_.empty() && values_.back().is_number()) return refuse_bare(item);
    if (std::string reason = range.fault(); !reason.empty()) return fault(fmt::format("{}: {}", shown(item), reason));
    if (range.count() > static_cast<double>(kMostValues))
      return fault(fmt::format("{}: more than {} values", shown(item), kMostValues));
    for (double i = 0; i < range.count() && !faulty_; ++i) add(number_json(range.at(i)));
  }

  /// `scale --nodes` goes on as the numbers before a range began; here that would be read as well as one by one.
  void refuse_bare(std::string_view item) {
    fault(fmt::format("{} after {} may go one by one or on as the numbers before it", shown(item),
                      describe(values_.back())),
          fmt::format("say how: {0}+1, or {0}*2", item));
  }

  void read_file(std::string_view name) {
    Diagnostics reading{std::string(name)};
    const std::string text = read_description(std::filesystem::path(name), reading, kMostListBytes);
    if (!reading.ok()) return fault(reading.faults().front().text());
    for (const std::string_view line : lines_of(text)) {
      const std::string_view value = trimmed(line);
      if (value.empty() || value.front() == '#') continue;
      if (!is_utf8(std::string(value))) return fault(fmt::format("{} holds bytes that are no UTF-8", shown(name)));
      add(parse_value(value));
      if (faulty_) return;
    }
    if (values_.empty()) fault(fmt::format("{} holds no value", shown(name)));
  }

  std::string_view list_;
  std::string pointer_;
  Diagnostics& diagnostics_;
  std::vector<Json> values_;
  std::unordered_set<std::string> known_;
  bool faulty_ = false;
};

}  // namespace

std::string canonical_text(const Json& value) {
  const bool whole = value.is_number_float() && is_whole(value.get<double>());
  return (whole ? Json(static_cast<std::int64_t>(value.get<double>())) : value)
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json parse_value(std::string_view text) {
  Diagnostics ignored("");
  Json value = parse_json(text, ignored);
  return ignored.ok() ? value : Json(std::string(text));
}

std::vector<Json> parse_values(std::string_view list, const std::string& pointer, Diagnostics& diagnostics) {
  return ListReader(list, pointer, diagnostics).read();
}

}  // namespace stepcast
