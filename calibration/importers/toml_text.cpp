#include "calibration/importers/toml_text.hpp"

#include <fmt/format.h>

#include <cctype>
#include <string>
#include <vector>

#include "calibration/importers/plain_number.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestToml = 64;

class TomlReader {
 public:
  TomlReader(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  Json read() {
    Json root = Json::object();
    Json* table = &root;
    for (skip_lines(); diagnostics_.ok() && at_ < text_.size(); skip_lines()) {
      if (text_[at_] == '[')
        table = header(root);
      else
        pair(*table, 0);
      if (table == nullptr) break;
      end_of_line();
    }
    return diagnostics_.ok() ? root : Json();
  }

 private:
  void fail(const std::string& message) {
    if (diagnostics_.ok()) diagnostics_.error(line_and_column(text_, std::min(at_, text_.size())), message);
  }

  [[nodiscard]] char now() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void blanks() {
    while (now() == ' ' || now() == '\t') ++at_;
  }
  /// Blanks, comments and ends of lines.
  void skip_lines() {
    for (;; ++at_) {
      blanks();
      if (now() == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      if (at_ >= text_.size() || (now() != '\n' && now() != '\r')) return;
    }
  }
  void end_of_line() {
    blanks();
    if (at_ < text_.size() && now() != '#' && now() != '\n' && now() != '\r')
      fail(fmt::format("found {} behind a value", shown(text_.substr(at_, text_.find('\n', at_) - at_))));
  }

  std::string name() {
    blanks();
    if (now() == '"' || now() == '\'') return quoted();
    const std::size_t start = at_;
    while (std::isalnum(static_cast<unsigned char>(now())) != 0 || now() == '_' || now() == '-') ++at_;
    if (at_ == start) fail("expected a key");
    return std::string(text_.substr(start, at_ - start));
  }

  std::vector<std::string> dotted() {
    std::vector<std::string> out{name()};
    for (blanks(); diagnostics_.ok() && now() == '.'; blanks()) {
      ++at_;
      out.push_back(name());
    }
    if (out.size() > kDeepestToml) fail(fmt::format("is nested more than {} levels deep", kDeepestToml));
    return out;
  }

  /// The table below another; of an array of tables its last.
  Json* below(Json& table, const std::string& key) {
    Json& inner = table.contains(key) ? table[key] : table[key] = Json::object();
    Json* out = inner.is_array() && !inner.empty() ? &inner.back() : &inner;
    if (out->is_object()) return out;
    fail(fmt::format("{} has a value already, expected a table", shown(key)));
    return nullptr;
  }

  Json* header(Json& root) {
    const bool array = text_.substr(at_).starts_with("[[");
    at_ += array ? 2 : 1;
    const std::vector<std::string> path = dotted();
    if (!text_.substr(at_).starts_with(array ? "]]" : "]"))
      return fail("expected ] behind the name of a table"), nullptr;
    at_ += array ? 2 : 1;
    Json* table = &root;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (array && i + 1 == path.size()) {
        Json& list = table->contains(path[i]) ? (*table)[path[i]] : (*table)[path[i]] = Json::array();
        if (!list.is_array()) return fail(fmt::format("{} is no array of tables", shown(path[i]))), nullptr;
        list.push_back(Json::object());
        return &list.back();
      }
      table = below(*table, path[i]);
      if (table == nullptr) return nullptr;
    }
    return table;
  }

  void pair(Json& table, int depth) {
    const std::vector<std::string> path = dotted();
    blanks();
    if (diagnostics_.ok() && now() != '=') return fail("expected = behind a key");
    ++at_;
    Json* to = &table;
    for (std::size_t i = 0; i + 1 < path.size() && to != nullptr; ++i) to = below(*to, path[i]);
    if (to == nullptr || !diagnostics_.ok()) return;
    if (to->contains(path.back())) return fail(fmt::format("key {} is given twice", shown(path.back())));
    Json found = value(depth);
    (*to)[path.back()] = std::move(found);
  }

  Json value(int depth) {
    blanks();
    if (depth > kDeepestToml) return fail(fmt::format("is nested more than {} levels deep", kDeepestToml)), Json();
    if (now() == '"' || now() == '\'') return quoted();
    if (now() == '[') return list(depth);
    if (now() == '{') return inline_table(depth);
    const std::size_t start = at_;
    while (at_ < text_.size() && std::string_view(",]}#\r\n").find(now()) == std::string_view::npos) ++at_;
    return scalar(std::string(trimmed(text_.substr(start, at_ - start))));
  }

  Json list(int depth) {
    Json out = Json::array();
    ++at_;
    for (skip_lines(); diagnostics_.ok() && now() != ']'; skip_lines()) {
      if (at_ >= text_.size()) return fail("an array has no ] at its end"), Json();
      out.push_back(value(depth + 1));
      skip_lines();
      if (now() == ',')
        ++at_;
      else if (now() != ']')
        return fail("expected , or ] in an array"), Json();
    }
    ++at_;
    return out;
  }

  Json inline_table(int depth) {
    Json out = Json::object();
    ++at_;
    for (blanks(); diagnostics_.ok() && now() != '}'; blanks()) {
      pair(out, depth + 1);
      blanks();
      if (now() == ',')
        ++at_;
      else if (now() != '}')
        return fail("expected , or } in a table"), Json();
    }
    ++at_;
    return out;
  }

  /// Strings between one or three quotes; of escapes those of ends of lines and quotes.
  std::string quoted() {
    const char quote = now();
    const std::string three(3, quote);
    const bool lines = text_.substr(at_).starts_with(three);
    at_ += lines ? 3 : 1;
    std::string out;
    for (; at_ < text_.size(); ++at_) {
      if (lines ? text_.substr(at_).starts_with(three) : now() == quote) {
        at_ += lines ? 3 : 1;
        return out;
      }
      if (!lines && now() == '\n') break;
      if (now() == '\\' && quote == '"' && at_ + 1 < text_.size()) {
        ++at_;
        out += now() == 'n' ? '\n' : now() == 't' ? '\t' : now();
        continue;
      }
      out += now();
    }
    fail("a string has no quote at its end");
    return out;
  }

  Json scalar(const std::string& word) {
    if (word == "true") return true;
    if (word == "false") return false;
    if (const auto number = plain_number(word)) return *number;
    const bool date = word.size() >= 8 && std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    if (!date) fail(fmt::format("found {}, expected a value (texts stand in quotes)", shown(word)));
    return word;
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
};

}  // namespace

Json parse_toml(std::string_view text, Diagnostics& diagnostics) { return TomlReader(text, diagnostics).read(); }

}  // namespace stepcast
