#include "calibration/importers/models/shell_output.hpp"

#include <fmt/format.h>

#include "calibration/importers/models/shell_tokens.hpp"

namespace stepcast {

namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kAround);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kAround) + 1 - begin);
}

/// One pass over the format, with the words from `next` on; whether it has none but `%s`, `%d` and `%%`.
bool print_once(std::string_view format, const std::vector<std::string>& words, std::size_t& next, std::string& out) {
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      out += format[at];
      continue;
    }
    const char kind = ++at < format.size() ? format[at] : ' ';
    if (kind == '%')
      out += kind;
    else if (kind != 's' && kind != 'd')
      return false;
    else if (next < words.size())
      out += words[next++];
  }
  return true;
}

}  // namespace

std::optional<std::string> shell_printed(std::string_view format, const std::vector<std::string>& words) {
  std::string out;
  std::size_t next = 0, before = 0;
  do {
    before = next;
    if (!print_once(format, words, next, out)) return std::nullopt;
  } while (next > before && next < words.size());
  return out;
}

std::optional<ShellCount> shell_count(std::string_view text) {
  text = without_blanks(text);
  for (const std::string_view sign : {"++", "--"}) {
    std::string_view name = text;
    if (name.starts_with(sign))
      name.remove_prefix(2);
    else if (name.ends_with(sign))
      name.remove_suffix(2);
    else
      continue;
    name = without_blanks(name);
    if (is_shell_name(name)) return ShellCount{std::string(name), fmt::format("{} {} 1", name, sign[0])};
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || text.substr(equals).starts_with("==")) return std::nullopt;
  const char sign = text[equals - 1];
  const bool adds = std::string_view("+-*/%").find(sign) != std::string_view::npos;
  const std::string_view name = without_blanks(text.substr(0, equals - (adds ? 1 : 0)));
  const std::string_view value = without_blanks(text.substr(equals + 1));
  if (!is_shell_name(name) || value.empty()) return std::nullopt;
  return ShellCount{std::string(name), adds ? fmt::format("{} {} ({})", name, sign, value) : std::string(value)};
}

}  // namespace stepcast
