#include "fields/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include "fields/json_builder.hpp"
#include "fields/streamed_file.hpp"
#include "fields/utf8.hpp"

namespace stepcast {

namespace {

using RepeatedKeys = std::function<bool(std::string_view pointer)>;

/// Says where a text stops being JSON by line and column.
class TextBuilder : public JsonBuilder {
 public:
  TextBuilder(Json& root, Diagnostics& faults, std::string_view text, const RepeatedKeys& repeated)
      : JsonBuilder(root, faults), text_(text), repeated_(repeated) {}

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
    if (told_overflow(e)) return false;
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? before.size() : before.size() - start - 1;
    std::string reason = e.what();
    // It quotes what was read, which may be the half of a character.
    if (!is_utf8(reason))
      std::replace_if(
          reason.begin(), reason.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    if (const auto cut = reason.find("syntax error"); cut != std::string::npos) reason = reason.substr(cut);
    diagnostics().error("", fmt::format("line {}, column {}: not valid JSON: {}", line, column, reason));
    return false;
  }

 protected:
  [[nodiscard]] bool may_repeat(std::string_view pointer) const override { return repeated_ && repeated_(pointer); }

 private:
  std::string_view text_;
  const RepeatedKeys& repeated_;
};

/// Reads at most one byte more than a document may have: devices have no size and no end.
std::string read_bounded(std::istream& in) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (text.size() <= kMostJsonBytes && in) {
    in.read(buffer.data(), buffer.size());
    text.append(buffer.data(), static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

}  // namespace

Json parse_json(std::string_view text, Diagnostics& diagnostics) { return parse_json(text, diagnostics, nullptr); }

Json parse_json(std::string_view text, Diagnostics& diagnostics, const RepeatedKeys& may_repeat) {
  if (text.size() > kMostJsonBytes) {
    diagnostics.error("", fmt::format("larger than {} MiB", kMostJsonBytes >> 20));
    return nullptr;
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    diagnostics.error("", "is UTF-16, expected UTF-8", "save it as UTF-8");
    return nullptr;
  }
  Json root;
  TextBuilder builder(root, diagnostics, text, may_repeat);
  const std::size_t faults = diagnostics.faults().size();
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true, true);
  return diagnostics.faults().size() == faults ? root : Json(nullptr);
}

std::ifstream open_json(const std::filesystem::path& file, Diagnostics& diagnostics) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    diagnostics.error("", "is a directory, expected a JSON file");
    return std::ifstream{};
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) diagnostics.error("", fmt::format("cannot be read: {}", std::strerror(errno)));
  return in;
}

Json read_json(const std::filesystem::path& file, Diagnostics& diagnostics) {
  std::error_code error;
  const auto size = std::filesystem::is_regular_file(file, error) ? std::filesystem::file_size(file, error) : 0;
  if (!error && size > kMostJsonBytes) {
    diagnostics.error("", fmt::format("larger than {} MiB", kMostJsonBytes >> 20));
    return nullptr;
  }
  std::ifstream in = open_json(file, diagnostics);
  if (!in.is_open()) return nullptr;
  return parse_json(read_bounded(in), diagnostics);
}

void write_file(const std::filesystem::path& file, std::string_view text) {
  StreamedFile out(file);
  out.write(text);
  out.commit();
}

std::string child_pointer(std::string_view pointer, std::string_view key) {
  std::string out(pointer);
  out += '/';
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

std::string describe(const Json& value) {
  constexpr std::size_t kLongestShown = 60;
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return fmt::format("an array of {}", value.size());
    case Json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      if (text.size() <= kLongestShown) return fmt::format("\"{}\"", text);
      return fmt::format("\"{}…\"", text.substr(0, kLongestShown));
    }
    default:
      return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
}

void apply_override(Json& document, std::string_view assignment, Diagnostics& diagnostics) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    diagnostics.error("", fmt::format("--set {}: expected path=value", assignment));
    return;
  }
  const std::string_view path = assignment.substr(0, equals);
  const std::string_view text = assignment.substr(equals + 1);
  Json value = Json::parse(text, nullptr, false);
  if (value.is_discarded()) value = std::string(text);

  Json* at = &document;
  std::string pointer;
  bool made = true;  // by this path, or the document that is not there yet; a null that was written has no parts
  for (std::size_t start = 0; start <= path.size();) {
    const auto dot = std::min(path.find('.', start), path.size());
    const std::string key(path.substr(start, dot - start));
    start = dot + 1;
    if (at->is_null() && made) *at = Json::object();
    if (at->is_array()) {
      std::size_t index = 0;
      const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (error != std::errc{} || end != key.data() + key.size() || index >= at->size()) {
        diagnostics.error(child_pointer(pointer, key),
                          fmt::format("--set {}: no element \"{}\" in an array of {}", assignment, key, at->size()));
        return;
      }
      at = &(*at)[index];
    } else if (at->is_object()) {
      made = !at->contains(key);
      at = &(*at)[key];
    } else {
      diagnostics.error(pointer, fmt::format("--set {}: {} has no parts", assignment, describe(*at)));
      return;
    }
    pointer = child_pointer(pointer, key);
  }
  *at = std::move(value);
}

}  // namespace stepcast
