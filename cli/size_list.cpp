#include "cli/size_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>

#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostSizes = 1000;

[[noreturn]] void fail(std::string message) {
  throw InputError({{"--nodes", "", std::move(message), "write sizes as 1,2,4..128 or 4..128*2"}});
}

int number(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size() || out < 1)
    fail(fmt::format("found \"{}\", expected a whole number of at least 1", text));
  return out;
}

/// How one size follows from the one before.
struct Rule {
  int factor = 1, difference = 0;
  [[nodiscard]] long next(long size) const { return size * factor + difference; }
};

std::optional<std::vector<int>> range(int first, int last, Rule rule) {
  std::vector<int> out;
  for (long size = first; size <= last; size = rule.next(size)) {
    out.push_back(static_cast<int>(size));
    if (out.size() > kMostSizes) fail(fmt::format("more than {} sizes", kMostSizes));
  }
  if (out.empty() || out.back() != last) return std::nullopt;
  return out;
}

/// A range that says how it goes on: by a factor or by a difference.
std::vector<int> stepped(int first, int last, char sign, int step) {
  if (sign == '*' && step < 2) fail(fmt::format("found the factor {}, expected one above 1", step));
  std::vector<int> out;
  for (long size = first; size <= last; size = sign == '*' ? size * step : size + step) {
    out.push_back(static_cast<int>(size));
    if (out.size() > kMostSizes) fail(fmt::format("more than {} sizes", kMostSizes));
  }
  return out;
}

std::vector<int> expand(const std::vector<int>& before, std::string_view item, std::size_t dots) {
  const int first = number(item.substr(0, dots));
  const std::size_t sign = item.find_first_of("*+", dots);
  const int last = number(item.substr(dots + 2, std::min(sign, item.size()) - dots - 2));
  if (last < first) fail(fmt::format("the range {}..{} goes down", first, last));
  if (sign != std::string_view::npos) return stepped(first, last, item[sign], number(item.substr(sign + 1)));
  if (before.empty()) return *range(first, last, {1, 1});
  const int previous = before.back(), difference = first - previous;
  if (difference <= 0) fail(fmt::format("{} follows {}; sizes ascend", first, previous));
  const bool even = before.size() > 1 && previous - before[before.size() - 2] == difference;
  if (!even && first % previous == 0)
    if (const auto sizes = range(first, last, {first / previous, 0})) return *sizes;
  if (const auto sizes = range(first, last, {1, difference})) return *sizes;
  fail(fmt::format("the range {}..{} after {} leads to {} neither by a factor nor in equal steps", first, last,
                   previous, last));
}

}  // namespace

std::vector<int> parse_sizes(std::string_view text) {
  std::vector<int> out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    const std::size_t dots = item.find("..");
    const std::vector<int> sizes =
        dots == std::string_view::npos ? std::vector<int>{number(item)} : expand(out, item, dots);
    for (const int size : sizes) {
      if (!out.empty() && size <= out.back()) fail(fmt::format("{} follows {}; sizes ascend", size, out.back()));
      out.push_back(size);
    }
    if (out.size() > kMostSizes) fail(fmt::format("more than {} sizes", kMostSizes));
    at = comma + 1;
  }
  return out;
}

}  // namespace stepcast
