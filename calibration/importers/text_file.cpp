#include "calibration/importers/text_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "fields/utf8.hpp"

namespace stepcast {

namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";  // of UTF-8, as Windows writes it
constexpr std::string_view kBlanks = " \t\r\n\v\f";

}  // namespace

std::string read_description(const std::filesystem::path& file, Diagnostics& diagnostics, std::size_t most) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    diagnostics.error("", "is a directory, expected a file");
    return {};
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    diagnostics.error("", fmt::format("cannot be read: {}", std::strerror(errno)));
    return {};
  }
  const auto too_large = [&] {
    diagnostics.error("", fmt::format("larger than {} MiB", most >> 20));
    return std::string();
  };
  // Before memory is spent on it; of what is no regular file the size is not known.
  if (const auto size = std::filesystem::file_size(file, error); !error && size > most) return too_large();
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (text.size() <= most && in) {
    in.read(buffer.data(), buffer.size());
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  if (text.size() > most) return too_large();
  // What Windows writes before UTF-8 is no part of the text.
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    diagnostics.error("", "is UTF-16, expected UTF-8", "save it as UTF-8");
    return {};
  }
  if (const auto zero = text.find('\0'); zero != std::string::npos) {
    diagnostics.error("", fmt::format("byte {} is zero: this is no text", zero));
    return {};
  }
  return text;
}

std::string read_utf8_description(const std::filesystem::path& file, Diagnostics& diagnostics, std::size_t most) {
  std::string text = read_description(file, diagnostics, most);
  if (is_utf8(text)) return text;
  diagnostics.error("", "has bytes that are no UTF-8", "save it as UTF-8");
  return {};
}

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? before.size() + 1 : before.size() - start;
  return fmt::format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'), column);
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    out.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return out;
}

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    out.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string without_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    // ESC [ parameters, up to a letter.
    if (i + 1 < text.size() && text[i + 1] == '[') ++i;
    while (i + 1 < text.size() && (std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0 || text[i + 1] == ';'))
      ++i;
    if (i + 1 < text.size()) ++i;
  }
  return out;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongestShown = 60;
  std::string out = "\"";
  for (const char c : text.substr(0, kLongestShown)) out += c >= ' ' && c != '\x7f' ? c : '?';
  return out + (text.size() > kLongestShown ? "…\"" : "\"");
}

}  // namespace stepcast
