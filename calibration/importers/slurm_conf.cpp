#include "calibration/importers/slurm_conf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

/// A line with what continues it, without its comment.
struct LogicalLine {
  int number;
  std::string text;
};

std::vector<LogicalLine> logical_lines(std::string_view text) {
  std::vector<LogicalLine> out;
  bool continued = false;
  int number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    std::string_view content = line.substr(0, line.find('#'));
    while (!content.empty() && trimmed(content.substr(content.size() - 1)).empty()) content.remove_suffix(1);
    const bool goes_on = !content.empty() && content.back() == '\\';
    if (goes_on) content.remove_suffix(1);
    if (!continued) out.push_back({number, ""});
    out.back().text += content;  // a word may go on, too: blanks are those of the file
    continued = goes_on;
  }
  return out;
}

using Entries = std::vector<std::pair<std::string, std::string>>;

class ConfReader {
 public:
  explicit ConfReader(SlurmDefinitions& out) : out_(out) {}

  void read_line(const LogicalLine& line) {
    at_ = SlurmPlace{line.number};
    Entries entries;
    for (std::string_view rest = trimmed(line.text); !rest.empty(); rest = trimmed(rest))
      if (!take_entry(rest, entries)) return;
    if (entries.empty()) return;
    const std::string first = lower_case(entries.front().first);
    if (first == "blocksizes") return read_block_sizes(entries);
    if (first == "aggregatedblock") return read_aggregate(entries);
    if (first == "ringname") return refuse_rings();
    if (first != "switchname" && first != "blockname")
      return out_.fault(
          at_,
          fmt::format("starts with {}, expected SwitchName, BlockName or BlockSizes", shown(entries.front().first)),
          did_you_mean(entries.front().first, {"SwitchName", "BlockName", "BlockSizes"}));
    read_definition(entries, first == "blockname");
  }

 private:
  /// `Key=value`, `Key = "value"`: as Slurm's own reader takes it (src/common/parse_config.c).
  bool take_entry(std::string_view& rest, Entries& entries) {
    const auto equals = rest.find('=');
    const std::string_view key = trimmed(rest.substr(0, std::min(equals, rest.size())));
    if (equals == std::string_view::npos || key.empty() || words_of(key).size() > 1) {
      out_.fault(at_, fmt::format("{} is no Key=value", shown(words_of(rest).front())));
      return false;
    }
    rest = trimmed(rest.substr(equals + 1));
    const bool quoted = rest.starts_with('"') && rest.find('"', 1) != std::string_view::npos;
    const std::size_t end = quoted ? rest.find('"', 1) : std::min(rest.find_first_of(" \t"), rest.size());
    entries.emplace_back(key, rest.substr(quoted ? 1 : 0, end - (quoted ? 1 : 0)));
    rest.remove_prefix(std::min(end + (quoted ? 1 : 0), rest.size()));
    return true;
  }

  void read_definition(const Entries& entries, bool block) {
    std::optional<std::string> nodes, switches;
    bool shown_by_scontrol = false;
    const std::vector<std::string> keys =
        block ? std::vector<std::string>{"Nodes"} : std::vector<std::string>{"Nodes", "Switches", "LinkSpeed"};
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const std::string key = lower_case(entries[i].first);
      if (key == "nodes") {
        nodes = entries[i].second;
      } else if (key == "switches" && !block) {
        switches = entries[i].second;
      } else if (key == "linkspeed" && !block) {
        out_.note_link_speed();
      } else if (key == "level" && !block) {
        shown_by_scontrol = true;
      } else if (key == "blocksize" && block) {
        out_.add_block_size(at_, entries[i].second);
      } else if (key != "blockindex" || !block) {
        out_.fault(at_, fmt::format("unknown key {}, {}", shown(entries[i].first), expected_one_of(keys)),
                   did_you_mean(entries[i].first, keys));
      }
    }
    // `scontrol show topology` lists with a switch all hosts below it.
    if (shown_by_scontrol && switches) nodes.reset();
    const std::string& name = entries.front().second;
    block ? out_.add_block(at_, name, nodes) : out_.add_switch(at_, name, nodes, switches);
  }

  void read_block_sizes(const Entries& entries) {
    if (entries.size() > 1) return out_.fault(at_, "BlockSizes stands alone on its line");
    std::string_view rest = entries.front().second;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (!out_.add_block_size(at_, rest.substr(0, comma)) || comma == rest.size()) return;
      rest.remove_prefix(comma + 1);
    }
  }

  /// `AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-36] BlockSize=36`, of `scontrol show topology`: blocks that a
  /// larger size joins.
  void read_aggregate(const Entries& entries) {
    for (const auto& [key, value] : entries)
      if (lower_case(key) == "blocksize") out_.add_block_size(at_, value);
  }

  void refuse_rings() {
    if (!refused_) out_.refuse_plugin(at_, "rings", "ring");
    refused_ = true;
  }

  SlurmDefinitions& out_;
  SlurmPlace at_;
  bool refused_ = false;
};

}  // namespace

void read_slurm_conf(std::string_view text, SlurmDefinitions& definitions) {
  ConfReader reader(definitions);
  for (const LogicalLine& line : logical_lines(text)) reader.read_line(line);
}

}  // namespace stepcast
