#include "calibration/importers/yaml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/importers/plain_number.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

constexpr int kDeepestYaml = 64;
constexpr std::size_t kMostValues = 1000000;

struct YamlTextLine {
  std::size_t indent = 0;
  std::string text;      ///< without its comment and the blanks around it
  std::string_view raw;  ///< as it stands, for block scalars
  std::size_t number = 0;
};

/// Position of what is searched outside of quotes and brackets; npos where it is not there.
template <typename Is>
std::size_t find_outside(std::string_view text, const Is& is) {
  char quote = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (depth == 0 && is(i)) return i;
    const bool starts = i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t' || text[i - 1] == '[' ||
                        text[i - 1] == '{' || text[i - 1] == ',' || text[i - 1] == ':';
    if ((c == '"' || c == '\'') && starts) quote = c;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return std::string_view::npos;
}

std::size_t size_of(const Json& value) {
  std::size_t out = 1;
  if (value.is_structured())
    for (const Json& inner : value) out += size_of(inner);
  return out;
}

std::string without_quotes(std::string_view text) {
  std::string out;
  const char quote = text.front();
  for (std::size_t i = 1; i + 1 < text.size(); ++i) {
    if (quote == '\'' && text[i] == '\'' && text[i + 1] == '\'') ++i;
    if (quote == '"' && text[i] == '\\' && i + 2 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
      continue;
    }
    out += text[i];
  }
  return out;
}

/// Types of plain scalars as PyYAML resolves them, and 1e-5 as the number that is meant.
Json scalar_of(std::string_view text) {
  const std::string word(trimmed(text));
  if (word.empty() || word == "~" || word == "null" || word == "Null" || word == "NULL") return nullptr;
  if (word.size() >= 2 && (word.front() == '"' || word.front() == '\'') && word.back() == word.front())
    return without_quotes(word);
  for (const char* yes : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"})
    if (word == yes) return true;
  for (const char* no : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"})
    if (word == no) return false;
  // An underscore before the digits makes a word of them.
  if (word.front() != '_')
    if (const auto number = plain_number(word)) return *number;
  return word;
}

class YamlText {
 public:
  YamlText(std::string_view text, Diagnostics& diagnostics) : diagnostics_(diagnostics) { split(text); }

  Json read() {
    Json out = node(0, 0);
    if (diagnostics_.ok() && at_ < lines_.size()) fail("expected a key of what stands before it, or less indentation");
    return diagnostics_.ok() ? out : Json();
  }

 private:
  void split(std::string_view text) {
    std::size_t number = 0;
    for (const std::string_view raw : lines_of(text)) {
      ++number;
      if (raw.starts_with("%")) continue;
      if (raw.starts_with("---")) {
        const auto says = [](const YamlTextLine& line) { return !line.text.empty(); };
        if (std::any_of(lines_.begin(), lines_.end(), says)) return;
        continue;
      }
      if (trimmed(raw) == "...") return;
      const std::size_t indent = std::min(raw.find_first_not_of(' '), raw.size());
      const auto comment = [&](std::size_t i) {
        return raw[i] == '#' && (i == 0 || raw[i - 1] == ' ' || raw[i - 1] == '\t');
      };
      const std::string_view text_of = trimmed(raw.substr(0, find_outside(raw, comment)));
      if (!text_of.empty() && raw[indent] == '\t' && diagnostics_.ok())
        diagnostics_.error(fmt::format("line {}", number), "is indented by tabs, expected blanks");
      lines_.push_back({indent, std::string(text_of), raw, number});
    }
  }

  void fail(const std::string& message) {
    const std::size_t line = lines_.empty() ? 0 : lines_[std::min(at_, lines_.size() - 1)].number;
    if (diagnostics_.ok()) diagnostics_.error(fmt::format("line {}", line), message);
  }

  void skip_empty() {
    while (at_ < lines_.size() && lines_[at_].text.empty()) ++at_;
  }

  static bool is_item(const std::string& text) { return text == "-" || text.starts_with("- "); }

  /// Where a mapping's key ends: a colon with a blank or nothing behind it.
  static std::size_t key_end(std::string_view text) {
    return find_outside(text, [&](std::size_t i) {
      return text[i] == ':' && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\t');
    });
  }

  /// What stands from the next line on, indented by at least so much.
  Json node(std::size_t least, int depth) {
    skip_empty();
    if (!diagnostics_.ok() || at_ >= lines_.size() || lines_[at_].indent < least) return nullptr;
    if (depth > kDeepestYaml) return fail(fmt::format("is nested more than {} levels deep", kDeepestYaml)), Json();
    const YamlTextLine& line = lines_[at_];
    if (is_item(line.text)) return list(line.indent, depth);
    const bool flow = line.text.starts_with('{') || line.text.starts_with('[');
    if (!flow && key_end(line.text) != std::string::npos) return mapping(line.indent, depth);
    const std::string text = line.text;
    const std::size_t indent = line.indent;
    ++at_;
    return value(text, indent, depth);
  }

  Json list(std::size_t indent, int depth) {
    Json out = Json::array();
    for (skip_empty(); diagnostics_.ok() && at_ < lines_.size(); skip_empty()) {
      YamlTextLine& line = lines_[at_];
      if (line.indent != indent || !is_item(line.text)) break;
      const std::size_t rest = line.text.find_first_not_of(" \t", 1);
      if (rest == std::string::npos) {
        ++at_;
        out.push_back(node(indent + 1, depth + 1));
        continue;
      }
      line.indent += rest;
      line.text.erase(0, rest);
      out.push_back(node(line.indent, depth + 1));
    }
    return out;
  }

  Json mapping(std::size_t indent, int depth) {
    Json out = Json::object(), merged = Json::object();
    for (skip_empty(); diagnostics_.ok() && at_ < lines_.size(); skip_empty()) {
      const YamlTextLine& line = lines_[at_];
      if (line.indent != indent || is_item(line.text)) break;
      const std::size_t end = key_end(line.text);
      if (end == std::string::npos) return fail(fmt::format("found {}, expected key: value", shown(line.text))), Json();
      const Json key = scalar_of(std::string_view(line.text).substr(0, end));
      const std::string name = key.is_string() ? key.get<std::string>() : key.dump();
      const std::string rest(trimmed(std::string_view(line.text).substr(end + 1)));
      if (out.contains(name)) return fail(fmt::format("key {} is given twice", shown(name))), Json();
      ++at_;
      Json found = value(rest, indent, depth);
      if (name == "<<")
        merged = std::move(found);
      else
        out[name] = std::move(found);
    }
    if (merged.is_object())
      for (const auto& [key, inner] : merged.items())
        if (!out.contains(key)) out[key] = inner;
    return out;
  }

  /// What stands behind a key or a dash; the lines that follow belong to it where they are indented further.
  Json value(std::string text, std::size_t indent, int depth) {
    if (text.starts_with('!')) text = std::string(trimmed(text.substr(std::min(text.find(' '), text.size()))));
    if (text.starts_with('&')) {
      const std::size_t end = std::min(text.find(' '), text.size());
      const std::string name = text.substr(1, end - 1);
      Json out = value(std::string(trimmed(text.substr(end))), indent, depth);
      anchors_[name] = out;
      return out;
    }
    if (text.starts_with('*')) return alias(text.substr(1));
    if (text.starts_with('|') || text.starts_with('>')) return block_scalar(indent);
    if (text.starts_with('[') || text.starts_with('{')) return flow(text, depth);
    if (!text.empty()) return plain(text, indent);
    skip_empty();
    // A list may stand at the indentation of its key.
    if (at_ < lines_.size() && lines_[at_].indent == indent && is_item(lines_[at_].text))
      return list(indent, depth + 1);
    return node(indent + 1, depth + 1);
  }

  Json alias(const std::string& name) {
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return fail(fmt::format("nothing is called &{}", name)), Json();
    copied_ += size_of(found->second);
    if (copied_ > kMostValues) return fail(fmt::format("aliases come to more than {} values", kMostValues)), Json();
    return found->second;
  }

  Json block_scalar(std::size_t indent) {
    std::string out;
    while (at_ < lines_.size() && (lines_[at_].indent > indent || trimmed(lines_[at_].raw).empty()))
      out += std::string(trimmed(lines_[at_++].raw)) + "\n";
    return out;
  }

  /// Lines that follow with more indentation go on with a scalar.
  Json plain(std::string text, std::size_t indent) {
    for (; at_ < lines_.size() && !lines_[at_].text.empty() && lines_[at_].indent > indent; ++at_) {
      if (key_end(lines_[at_].text) != std::string::npos)
        return fail("found a key below one that has a value already"), Json();
      text += " " + lines_[at_].text;
    }
    return scalar_of(text);
  }

  Json flow(std::string text, int depth) {
    const auto open = [&] {
      const std::string probe = text + "\n";
      return find_outside(probe, [&](std::size_t i) { return probe[i] == '\n'; }) == std::string::npos;
    };
    while (open() && at_ < lines_.size()) text += " " + lines_[at_++].text;
    std::string_view rest = text;
    Json out = flow_value(rest, depth);
    if (!trimmed(rest).empty()) fail(fmt::format("found {} behind a list or mapping", shown(rest)));
    return out;
  }

  Json flow_value(std::string_view& rest, int depth) {
    rest = trimmed(rest);
    if (depth > kDeepestYaml) return fail(fmt::format("is nested more than {} levels deep", kDeepestYaml)), Json();
    const bool list = rest.starts_with('['), object = rest.starts_with('{');
    if (!list && !object) {
      const std::size_t end =
          find_outside(rest, [&](std::size_t i) { return rest[i] == ',' || rest[i] == ']' || rest[i] == '}'; });
      const std::string_view word = rest.substr(0, end);
      rest = rest.substr(word.size());
      return word.starts_with('*') ? alias(std::string(trimmed(word.substr(1)))) : scalar_of(word);
    }
    const char closing = list ? ']' : '}';
    Json out = list ? Json::array() : Json::object();
    rest = trimmed(rest.substr(1));
    while (diagnostics_.ok() && !rest.empty() && rest.front() != closing) {
      std::string name;
      if (object) {
        const std::size_t end = find_outside(rest, [&](std::size_t i) { return rest[i] == ':' || rest[i] == '}'; });
        if (end == std::string_view::npos || rest[end] != ':')
          return fail(fmt::format("found {}, expected key: value", shown(rest))), Json();
        const Json key = scalar_of(rest.substr(0, end));
        name = key.is_string() ? key.get<std::string>() : key.dump();
        rest = rest.substr(end + 1);
      }
      Json inner = flow_value(rest, depth + 1);
      if (object)
        out[name] = std::move(inner);
      else
        out.push_back(std::move(inner));
      rest = trimmed(rest);
      if (rest.starts_with(','))
        rest = trimmed(rest.substr(1));
      else if (!rest.starts_with(closing))
        break;
    }
    if (!rest.starts_with(closing)) return fail(fmt::format("has no {} at its end", closing)), Json();
    rest = rest.substr(1);
    return out;
  }

  Diagnostics& diagnostics_;
  std::vector<YamlTextLine> lines_;
  std::size_t at_ = 0;
  std::map<std::string, Json> anchors_;
  std::size_t copied_ = 0;
};

}  // namespace

Json parse_yaml(std::string_view text, Diagnostics& diagnostics) { return YamlText(text, diagnostics).read(); }

}  // namespace stepcast
