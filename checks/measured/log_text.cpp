#include "checks/measured/log_text.hpp"

#include <charconv>

namespace stepcast {

namespace {

struct UnitOfTime {
  std::string_view name;
  double seconds;
};
constexpr std::array kUnits{
    UnitOfTime{"s", 1},         UnitOfTime{"sec", 1},   UnitOfTime{"secs", 1},    UnitOfTime{"second", 1},
    UnitOfTime{"seconds", 1},   UnitOfTime{"ms", 1e-3}, UnitOfTime{"msec", 1e-3}, UnitOfTime{"msecs", 1e-3},
    UnitOfTime{"millis", 1e-3}, UnitOfTime{"us", 1e-6}, UnitOfTime{"usec", 1e-6}, UnitOfTime{"millisecond", 1e-3},
    UnitOfTime{"min", 60},      UnitOfTime{"mins", 60}, UnitOfTime{"minute", 60}, UnitOfTime{"milliseconds", 1e-3},
    UnitOfTime{"minutes", 60},  UnitOfTime{"h", 3600},  UnitOfTime{"hour", 3600}, UnitOfTime{"hours", 3600},
    UnitOfTime{"µs", 1e-6},     UnitOfTime{"μs", 1e-6},
};

}  // namespace

std::string without_colours(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      i += 2;
      while (i < line.size() && (line[i] < '@' || line[i] > '~')) ++i;
      continue;
    }
    out += line[i];
  }
  return out;
}

std::optional<double> figure_of(std::string_view text) {
  double out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(out) : std::nullopt;
}

std::optional<double> seconds_of_unit(std::string_view unit) {
  for (const UnitOfTime& known : kUnits)
    if (known.name == unit) return known.seconds;
  return std::nullopt;
}

}  // namespace stepcast
