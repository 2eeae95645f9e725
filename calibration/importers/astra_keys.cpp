#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "calibration/importers/astra_config.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

Json scalar(std::string_view text) {
  text = trimmed(text);
  if (text.size() > 1 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
    return std::string(text.substr(1, text.size() - 2));
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && error == std::errc{} && end == text.data() + text.size()) return number;
  return std::string(text);
}

/// `[ a, b ]`.
Json flow_list(std::string_view text) {
  Json out = Json::array();
  text = trimmed(text.substr(1, text.size() - 2));
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (const std::string_view item = trimmed(text.substr(0, comma)); !item.empty()) out.push_back(scalar(item));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

/// The subset of YAML that these files use: keys at the left margin with a scalar, a flow list (over several lines) or
/// a block list.
class FlatYaml {
 public:
  FlatYaml(std::string_view text, Diagnostics& diagnostics) : lines_(lines_of(text)), diagnostics_(diagnostics) {}

  Json read() {
    for (line_ = 0; line_ < lines_.size() && diagnostics_.ok(); ++line_) {
      const std::string content(content_of(lines_[line_]));
      if (content.empty() || content == "---") continue;
      if (content.substr(0, 2) == "- " || content == "-") {
        read_item(content);
      } else {
        read_key(content);
      }
    }
    return std::move(out_);
  }

 private:
  static std::string_view content_of(std::string_view line) { return trimmed(line.substr(0, line.find('#'))); }

  void read_item(const std::string& content) {
    if (key_.empty() || !(out_[key_].is_array() || out_[key_] == Json("")))
      return fault(fmt::format("{} belongs to no key", shown(content)));
    if (!out_[key_].is_array()) out_[key_] = Json::array();
    out_[key_].push_back(scalar(std::string_view(content).substr(1)));
  }

  void read_key(const std::string& content) {
    const auto colon = content.find(':');
    if (colon == std::string::npos || colon == 0) return fault(fmt::format("{} is no `key: value`", shown(content)));
    key_ = std::string(trimmed(std::string_view(content).substr(0, colon)));
    if (key_.size() > 1 && key_.front() == '"' && key_.back() == '"') key_ = key_.substr(1, key_.size() - 2);
    if (out_.contains(key_)) return fault(fmt::format("key {} is given twice", shown(key_)));
    std::string value(trimmed(std::string_view(content).substr(colon + 1)));
    const std::size_t first = line_;
    while (!value.empty() && value.front() == '[' && value.back() != ']') {
      if (++line_ >= lines_.size()) {
        line_ = first;
        return fault(fmt::format("the list of {} does not end", shown(key_)));
      }
      value += " " + std::string(content_of(lines_[line_]));
    }
    out_[key_] = !value.empty() && value.front() == '[' ? flow_list(value) : scalar(value);
  }

  void fault(const std::string& message) { diagnostics_.error("", fmt::format("line {}: {}", line_ + 1, message)); }

  std::vector<std::string_view> lines_;
  Diagnostics& diagnostics_;
  std::size_t line_ = 0;
  std::string key_;
  Json out_ = Json::object();
};

/// `"1": [0, 1, 2]`: NPUs of a communicator by its number.
bool are_groups(const Json& keys) {
  for (const auto& item : keys.items())
    if (!whole_number(item.key()) || !item.value().is_array()) return false;
  return !keys.empty();
}

}  // namespace

Json read_astra_keys(std::string_view text, Diagnostics& diagnostics) {
  const std::string_view start = trimmed(text);
  if (!start.empty() && start.front() == '{') {
    Json out = parse_json(text, diagnostics);
    return diagnostics.ok() ? out : Json::object();
  }
  return FlatYaml(text, diagnostics).read();
}

AstraFile astra_file_kind(const Json& keys) {
  const auto has = [&](const char* key) { return keys.contains(key); };
  if (has("num-npus") && has("num-packages")) return AstraFile::garnet;
  if (has("topology") || has("npus_count") || has("topologies-per-dim") || has("topology-name"))
    return AstraFile::network;
  if (has("scheduling-policy") || has("all-reduce-implementation") || has("preferred-dataset-splits"))
    return AstraFile::system;
  if (has("memory-type")) return AstraFile::memory;
  if (has("logical-dims")) return AstraFile::logical;
  if (are_groups(keys)) return AstraFile::groups;
  return AstraFile::unknown;
}

}  // namespace stepcast
