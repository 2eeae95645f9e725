#include "report/text_layout.hpp"

#include <fmt/format.h>

#include "report/humane.hpp"

namespace stepcast {

std::string rule() {
  std::string out;
  for (int i = 0; i < kColumns; ++i) out += "─";
  return out + "\n";
}

std::string opening(const std::string& title, const std::string& right) {
  const int room = kColumns - columns_of(right);
  return (columns_of(title) + 2 <= room ? pad_right(title, room) : title + "\n") + right + "\n";
}

std::string heading(std::string_view title, const std::string& right) {
  const std::string left = fmt::format("\n{}", title);
  if (right.empty()) return left + "\n";
  if (columns_of(left) + 1 + columns_of(right) > kColumns) return left + "\n" + wrapped(right, "  ", "  ");
  return pad_right(left, kColumns + 1 - columns_of(right)) + right + "\n";
}

std::string pair_line(const std::string& left_name, const std::string& left, const std::string& right_name,
                      const std::string& right) {
  std::string out =
      fmt::format("  {}{}{}{}", pad_right(left_name, 14), pad_right(left, 34), pad_right(right_name, 14), right);
  return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
}

std::string part_line(std::string_view name, Seconds time, Seconds whole) {
  const double share = time / whole;
  std::string out = fmt::format("  {}{}{}  {}", pad_right(std::string(name), kLabel), pad_left(humane(time), 10),
                                pad_left(percent(share), 10), bar(share, kBar));
  return out.substr(0, out.find_last_not_of(' ') + 1) + "\n";
}

std::string wrapped(const std::string& text, const std::string& first, const std::string& next) {
  std::string out, line = first;
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && columns_of(line) + 1 + columns_of(word) > kColumns) {
      out += line + "\n";
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  return out + line + "\n";
}

}  // namespace stepcast
