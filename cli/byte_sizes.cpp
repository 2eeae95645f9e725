#include "cli/byte_sizes.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostSizes = 1000;
constexpr double kLargest = 1LL << 50;

[[noreturn]] void fail(std::string message) {
  throw InputError({{"--sizes", "", std::move(message), "write sizes as 1M,64M,1G, 1K:16G or 8:1K*4"}});
}

/// Powers of 1,024 of a unit's letter; nothing for a unit that is none.
double unit_of(std::string_view unit, std::string_view whole) {
  if (unit.empty() || unit == "B") return 1;
  constexpr std::string_view kLetters = "KMGT";
  const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
  const std::size_t power = kLetters.find(letter);
  const std::string_view rest = unit.substr(1);
  if (power == std::string_view::npos || (!rest.empty() && rest != "iB"))
    fail(fmt::format("found \"{}\", expected a whole number of bytes, or of K, M, G or T (powers of 1,024)", whole));
  return std::exp2(10.0 * static_cast<double>(power + 1));
}

double size(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc())
    fail(fmt::format("found \"{}\", expected a whole number of bytes, or of K, M, G or T (powers of 1,024)", text));
  const double bytes = number * unit_of(text.substr(static_cast<std::size_t>(end - text.data())), text);
  if (!(bytes >= 1) || bytes != std::floor(bytes))
    fail(fmt::format("found \"{}\", expected whole bytes, at least 1", text));
  if (bytes > kLargest) fail(fmt::format("found \"{}\", expected at most 1,024 T", text));
  return bytes;
}

/// How one size of a range follows from the one before.
struct Growth {
  double factor = 2, difference = 0;
};

Growth growth(char sign, std::string_view text) {
  if (sign == '+') return {1, size(text)};
  double factor = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), factor, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(factor > 1) || factor != std::floor(factor))
    fail(fmt::format("found the factor \"{}\", expected a whole number above 1", text));
  return {factor, 0};
}

void add(std::vector<Bytes>& out, double bytes) {
  out.emplace_back(bytes);
  if (out.size() > kMostSizes) fail(fmt::format("more than {} sizes", kMostSizes));
}

void add_range(std::vector<Bytes>& out, std::string_view text, std::size_t colon) {
  const std::size_t sign = text.find_first_of("*+", colon);
  const double first = size(text.substr(0, colon));
  const double last = size(text.substr(colon + 1, (sign == std::string_view::npos ? text.size() : sign) - colon - 1));
  if (last < first) fail(fmt::format("the range {} goes down", text));
  const Growth rule = sign == std::string_view::npos ? Growth{} : growth(text[sign], text.substr(sign + 1));
  double bytes = first;
  while (bytes <= last) {
    add(out, bytes);
    bytes = bytes * rule.factor + rule.difference;
  }
}

}  // namespace

std::vector<Bytes> parse_byte_sizes(std::string_view text) {
  std::vector<Bytes> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    const std::size_t colon = item.find(':');
    if (colon == std::string_view::npos)
      add(out, size(item));
    else
      add_range(out, item, colon);
    at = comma + 1;
  }
  return out;
}

}  // namespace stepcast
