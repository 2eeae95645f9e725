#include "checks/measured/log_text.hpp"

#include <charconv>

namespace stepcast {

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

}  // namespace stepcast
