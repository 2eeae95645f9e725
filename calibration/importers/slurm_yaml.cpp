#include "calibration/importers/slurm_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

/// `- key: value` of a line; the key is empty for an item of a list.
struct YamlLine {
  std::string_view key, value;
};

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

YamlLine parsed(std::string_view line) {
  line = trimmed(line.substr(0, line.find(" #")));
  if (line.starts_with("#") || line.starts_with("---") || line == "...") return {};
  if (line.starts_with("- ")) line = trimmed(line.substr(2));
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return {"", line};
  return {trimmed(line.substr(0, colon)), unquoted(trimmed(line.substr(colon + 1)))};
}

/// One of the file's topologies, as lines of a topology.conf where its own are.
struct YamlTopology {
  std::string name;
  bool chosen = false, flat = false;
  std::vector<std::string> lines;
};

class YamlReader {
 public:
  YamlReader(std::string_view text, Diagnostics& diagnostics) : lines_(lines_of(text)), diagnostics_(diagnostics) {}

  std::string read(std::vector<std::string>& notes) {
    for (at_ = 0; at_ < lines_.size() && diagnostics_.ok(); ++at_) take(parsed(lines_[at_]));
    if (!diagnostics_.ok()) return {};
    if (all_.empty()) return at_ = 0, fault("found no topology"), std::string();
    const auto found = std::find_if(all_.begin(), all_.end(), [](const YamlTopology& one) { return one.chosen; });
    const YamlTopology& taken = found == all_.end() ? all_.front() : *found;
    if (taken.flat) {
      diagnostics_.error("", fmt::format("topology {} is flat: it shows no switches", shown(taken.name)),
                         "expected a topology with tree or block");
      return {};
    }
    if (all_.size() > 1)
      notes.push_back(fmt::format("of {} topologies {} was taken, the cluster's default", all_.size(), taken.name));
    return fmt::format("{}", fmt::join(taken.lines, "\n"));
  }

 private:
  void take(const YamlLine& line) {
    if (line.key.empty() && line.value.empty()) return;
    if (line.key == "topology") {
      all_.push_back({std::string(line.value), false, false, std::vector<std::string>(lines_.size())});
      return;
    }
    if (all_.empty()) return fault("found no \"- topology: NAME\" before it");
    YamlTopology& topology = all_.back();
    if (line.key.empty()) return add_size(line.value);
    if (line.key == "cluster_default") topology.chosen = line.value == "true" || line.value == "yes";
    if (line.key == "flat") topology.flat = line.value != "false";
    if (line.key == "switch") return define("SwitchName", line.value);
    if (line.key == "block") {
      if (!line.value.empty()) define("BlockName", line.value);
      return;
    }
    if (line.key == "nodes") return extend("Nodes", line.value);
    if (line.key == "children") return extend("Switches", line.value);
    if (line.key == "block_sizes") return begin_sizes(line.value);
    constexpr std::string_view kSections[]{"cluster_default", "flat", "tree", "switches", "blocks"};
    if (std::find(std::begin(kSections), std::end(kSections), line.key) == std::end(kSections))
      fault(fmt::format("unknown key {}", shown(line.key)));
  }

  std::string& line_of(std::size_t at) { return all_.back().lines[at]; }

  void define(std::string_view key, std::string_view name) {
    open_ = at_;
    sizes_ = false;
    line_of(at_) = fmt::format("{}={}", key, name);
  }

  void extend(std::string_view key, std::string_view hosts) {
    if (line_of(open_).empty()) return fault("belongs to no switch or block");
    std::string list(hosts);
    std::erase(list, ' ');
    line_of(open_) += fmt::format(" {}={}", key, list);
  }

  /// `[4, 16]`, or one on each of the lines that follow.
  void begin_sizes(std::string_view value) {
    open_ = at_;
    sizes_ = true;
    std::string list(value);
    std::erase_if(list, [](char c) { return c == ' ' || c == '[' || c == ']'; });
    if (!list.empty()) line_of(at_) = "BlockSizes=" + list;
  }

  void add_size(std::string_view value) {
    if (value.starts_with("- ")) value = trimmed(value.substr(2));
    if (!sizes_) return fault(fmt::format("found {}, expected \"key: value\"", shown(value)));
    std::string& line = line_of(open_);
    line += (line.empty() ? "BlockSizes=" : ",") + std::string(value);
  }

  void fault(const std::string& message) {
    diagnostics_.error("", fmt::format("line {}: {}", at_ + 1, message), "a topology.yaml of Slurm 25.05");
  }

  std::vector<std::string_view> lines_;
  Diagnostics& diagnostics_;
  std::vector<YamlTopology> all_;
  std::size_t at_ = 0, open_ = 0;  ///< the line being read, and that of the switch, block or sizes it belongs to
  bool sizes_ = false;
};

}  // namespace

bool is_slurm_yaml(std::string_view text) {
  for (const std::string_view raw : lines_of(text)) {
    const std::string_view line = trimmed(raw);
    if (line.empty() || line.starts_with("#")) continue;
    return line.starts_with("---") || (line.starts_with("- ") && line.find(':') != std::string_view::npos);
  }
  return false;
}

std::string conf_of_slurm_yaml(std::string_view text, std::vector<std::string>& notes, Diagnostics& diagnostics) {
  if (text.find("topology:") == std::string_view::npos) {
    diagnostics.error("", "found no \"- topology: NAME\"", "a topology.yaml of Slurm 25.05, or a topology.conf");
    return {};
  }
  return YamlReader(text, diagnostics).read(notes);
}

}  // namespace stepcast
