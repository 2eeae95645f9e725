#include "fields/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>

#include "fields/streamed_file.hpp"

namespace stepcast {

namespace {

/// Builds the document and notes keys given twice, which the plain parser would swallow.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(Json& root, Diagnostics& diagnostics, std::string_view text)
      : root_(root), diagnostics_(diagnostics), text_(text) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t& raw) override {
    if (!std::isfinite(v)) {
      diagnostics_.error(pointer(), fmt::format("the number {} is too large", raw));
      return put(0.0);
    }
    return put(v);
  }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    if (!level.keys.insert(name).second)
      diagnostics_.error(child_pointer(pointer_of_levels(), name), "this key is given twice", "keep one of them");
    level.key = name;
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) override {
    const std::string_view before = text_.substr(0, std::min(position, text_.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto start = before.rfind('\n');
    const auto column = start == std::string_view::npos ? before.size() : before.size() - start - 1;
    std::string reason = e.what();
    if (const auto cut = reason.find("syntax error"); cut != std::string::npos) reason = reason.substr(cut);
    diagnostics_.error("", fmt::format("line {}, column {}: not valid JSON: {}", line, column, reason));
    return false;
  }

 private:
  struct Level {
    Json* value;
    std::set<std::string> keys;
    std::string key;
  };

  std::string pointer_of_levels() const {
    std::string out;
    for (std::size_t i = 0; i + 1 < levels_.size(); ++i)
      out = levels_[i].value->is_array() ? fmt::format("{}/{}", out, levels_[i].value->size() - 1)
                                         : child_pointer(out, levels_[i].key);
    return out;
  }
  std::string pointer() const {
    if (levels_.empty()) return {};
    const Level& top = levels_.back();
    return top.value->is_array() ? fmt::format("{}/{}", pointer_of_levels(), top.value->size())
                                 : child_pointer(pointer_of_levels(), top.key);
  }
  Json* place(Json value) {
    if (levels_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Level& top = levels_.back();
    if (top.value->is_array()) {
      top.value->push_back(std::move(value));
      return &top.value->back();
    }
    Json& slot = (*top.value)[top.key];
    slot = std::move(value);
    return &slot;
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (levels_.size() >= kDeepestJson) {
      diagnostics_.error(pointer(), fmt::format("nested more than {} deep", kDeepestJson));
      return false;
    }
    levels_.push_back({place(std::move(value)), {}, {}});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return true;
  }

  Json& root_;
  Diagnostics& diagnostics_;
  std::string_view text_;
  std::vector<Level> levels_;
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

Json parse_json(std::string_view text, Diagnostics& diagnostics) {
  if (text.size() > kMostJsonBytes) {
    diagnostics.error("", fmt::format("larger than {} MiB", kMostJsonBytes >> 20));
    return nullptr;
  }
  Json root;
  StrictBuilder builder(root, diagnostics, text);
  const std::size_t faults = diagnostics.faults().size();
  Json::sax_parse(text.begin(), text.end(), &builder, Json::input_format_t::json, true, true);
  return diagnostics.faults().size() == faults ? root : Json(nullptr);
}

Json read_json(const std::filesystem::path& file, Diagnostics& diagnostics) {
  std::error_code error;
  const auto size = std::filesystem::is_regular_file(file, error) ? std::filesystem::file_size(file, error) : 0;
  if (!error && size > kMostJsonBytes) {
    diagnostics.error("", fmt::format("larger than {} MiB", kMostJsonBytes >> 20));
    return nullptr;
  }
  if (std::filesystem::is_directory(file, error)) {
    diagnostics.error("", "is a directory, expected a JSON file");
    return nullptr;
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    diagnostics.error("", fmt::format("cannot be read: {}", std::strerror(errno)));
    return nullptr;
  }
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
  for (std::size_t start = 0; start <= path.size();) {
    const auto dot = std::min(path.find('.', start), path.size());
    const std::string key(path.substr(start, dot - start));
    start = dot + 1;
    if (at->is_null()) *at = Json::object();
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
