#include "calibration/importers/slurm_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

#include "calibration/importers/hostlist.hpp"
#include "calibration/importers/slurm_yaml.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kMostSwitches = 20000;

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

class ConfReader {
 public:
  ConfReader(std::string_view text, Diagnostics& diagnostics) : text_(text), diagnostics_(diagnostics) {}

  SlurmTopology read() {
    for (const LogicalLine& line : logical_lines(text_)) read_line(line);
    if (diagnostics_.ok() && definitions_.empty())
      diagnostics_.error("", "defines neither switches nor blocks", "expected lines as SwitchName=leaf1 Nodes=n[1-16]");
    if (diagnostics_.ok() && has_blocks_) join_blocks();
    if (diagnostics_.ok()) join_switches();
    if (diagnostics_.ok()) check_no_cycle();
    return std::move(topology_);
  }

 private:
  struct Definition {
    int line = 0;
    std::string name;
    std::vector<std::string> hosts, switches;
  };

  using Entries = std::vector<std::pair<std::string, std::string>>;

  void read_line(const LogicalLine& line) {
    Entries entries;
    for (std::string_view rest = trimmed(line.text); !rest.empty(); rest = trimmed(rest))
      if (!take_entry(rest, entries, line.number)) return;
    if (entries.empty()) return;
    const std::string first = lower_case(entries.front().first);
    if (first == "blocksizes") return read_block_sizes(line.number, entries);
    if (first == "aggregatedblock") return read_aggregate(line.number, entries);
    if (first != "switchname" && first != "blockname")
      return fault(
          line.number,
          fmt::format("starts with {}, expected SwitchName, BlockName or BlockSizes", shown(entries.front().first)),
          did_you_mean(entries.front().first, {"SwitchName", "BlockName", "BlockSizes"}));
    read_definition(line.number, entries, first == "blockname");
  }

  /// `Key=value`, `Key = "value"`: as Slurm's own reader takes it (src/common/parse_config.c).
  bool take_entry(std::string_view& rest, Entries& entries, int line) {
    const auto equals = rest.find('=');
    const std::string_view key = trimmed(rest.substr(0, std::min(equals, rest.size())));
    if (equals == std::string_view::npos || key.empty() || words_of(key).size() > 1) {
      fault(line, fmt::format("{} is no Key=value", shown(words_of(rest).front())));
      return false;
    }
    rest = trimmed(rest.substr(equals + 1));
    const bool quoted = rest.starts_with('"') && rest.find('"', 1) != std::string_view::npos;
    const std::size_t end = quoted ? rest.find('"', 1) : std::min(rest.find_first_of(" \t"), rest.size());
    entries.emplace_back(key, rest.substr(quoted ? 1 : 0, end - (quoted ? 1 : 0)));
    rest.remove_prefix(std::min(end + (quoted ? 1 : 0), rest.size()));
    return true;
  }

  void read_definition(int line, const Entries& entries, bool block) {
    Definition out{line, entries.front().second, {}, {}};
    bool shown_by_scontrol = false;
    const std::vector<std::string> keys =
        block ? std::vector<std::string>{"Nodes"} : std::vector<std::string>{"Nodes", "Switches", "LinkSpeed"};
    for (std::size_t i = 1; i < entries.size(); ++i) {
      const std::string key = lower_case(entries[i].first);
      if (key == "nodes") {
        out.hosts = names(line, entries[i].second);
      } else if (key == "switches" && !block) {
        out.switches = names(line, entries[i].second);
      } else if (key == "linkspeed" && !block) {
        link_speeds_ = true;
      } else if (key == "level" && !block) {
        shown_by_scontrol = true;
      } else if (key == "blocksize" && block) {
        take_block_size(line, entries[i].second);
      } else if (key != "blockindex" || !block) {
        fault(line, fmt::format("unknown key {}, {}", shown(entries[i].first), expected_one_of(keys)),
              did_you_mean(entries[i].first, keys));
      }
    }
    // `scontrol show topology` lists with a switch all hosts below it.
    if (shown_by_scontrol && !out.switches.empty()) out.hosts.clear();
    (block ? has_blocks_ : has_switches_) = true;
    if (has_blocks_ && has_switches_)
      return fault(line, "switches and blocks in one file", "a topology is a tree or of blocks");
    if (out.name.empty()) return fault(line, "the name is empty");
    if (out.name.find_first_of("[],") != std::string::npos)
      return fault(line, fmt::format("{} is no name of one {}", shown(out.name), block ? "block" : "switch"));
    if (out.hosts.empty() && out.switches.empty() && diagnostics_.ok())
      return fault(line, fmt::format("{} has nothing below it", shown(out.name)),
                   block ? "Nodes=…" : "Nodes=… or Switches=…");
    if (definitions_.size() >= kMostSwitches) return fault(line, fmt::format("more than {} switches", kMostSwitches));
    const auto [known, fresh] = index_.emplace(out.name, static_cast<int>(definitions_.size()));
    if (!fresh)
      return fault(line, fmt::format("{} is defined a second time, first on line {}", shown(out.name),
                                     definitions_[static_cast<std::size_t>(known->second)].line));
    definitions_.push_back(std::move(out));
  }

  std::vector<std::string> names(int line, const std::string& expression) {
    try {
      std::vector<std::string> out = expand_hostlist(expression, kMostHosts - std::min(kMostHosts - 1, names_));
      names_ += out.size();
      return out;
    } catch (const std::invalid_argument& error) {
      fault(line, fmt::format("host list {}: {}", shown(expression), error.what()));
      return {};
    }
  }

  void read_block_sizes(int line, const Entries& entries) {
    if (entries.size() > 1) return fault(line, "BlockSizes stands alone on its line");
    std::string_view rest = entries.front().second;
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      if (!take_block_size(line, rest.substr(0, comma)) || comma == rest.size()) return;
      rest.remove_prefix(comma + 1);
    }
  }

  bool take_block_size(int line, std::string_view text) {
    const std::optional<int> size = whole_number(text);
    if (size && *size > 0) return block_sizes_.push_back(*size), true;
    fault(line, fmt::format("block size {} is no number above zero", shown(text)));
    return false;
  }

  /// `AggregatedBlock=b[1-2] BlockIndex=2 Nodes=n[1-36] BlockSize=36`, of `scontrol show topology`: blocks that a
  /// larger size joins.
  void read_aggregate(int line, const Entries& entries) {
    for (const auto& [key, value] : entries)
      if (lower_case(key) == "blocksize") take_block_size(line, value);
  }

  /// Blocks become leaves below one switch; sizes that join several blocks, as many blocks below one of their own. The
  /// smallest size is that of a base block, whose BlockName may have spare hosts beyond it; the others are multiples of
  /// it (topology.conf(5), BlockSizes).
  void join_blocks() {
    std::vector<std::string> tier;
    for (const Definition& block : definitions_) tier.push_back(block.name);
    for (const int size : block_sizes_) {
      const int each = size / *std::min_element(block_sizes_.begin(), block_sizes_.end());
      if (each < 2 || static_cast<std::size_t>(each) >= definitions_.size()) continue;
      tier = group(tier, static_cast<std::size_t>(each));
      break;  // one tier above blocks is what a fabric of three tiers shows; larger sizes join all of it
    }
    if (tier.size() > 1) define("blocks", std::move(tier));
    topology_.notes.emplace_back("blocks are taken as leaves below one network; what joins them is not told");
  }

  std::vector<std::string> group(const std::vector<std::string>& tier, std::size_t each) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < tier.size(); i += each) {
      out.push_back(fmt::format("blocks{}", out.size()));
      define(out.back(),
             {tier.begin() + static_cast<long>(i), tier.begin() + static_cast<long>(std::min(i + each, tier.size()))});
    }
    return out;
  }

  void define(const std::string& name, std::vector<std::string> children) {
    std::string own = name;
    while (!index_.emplace(own, static_cast<int>(definitions_.size())).second) own += "+";
    definitions_.push_back({0, own, {}, std::move(children)});
  }

  void join_switches() {
    topology_.switches.resize(definitions_.size());
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
      const Definition& definition = definitions_[i];
      SlurmSwitch& one = topology_.switches[i];
      one.name = definition.name;
      one.hosts = definition.hosts;
      std::set<std::string> seen;
      for (const std::string& name : definition.switches) {
        const auto child = index_.find(name);
        if (child == index_.end()) {
          undefined(definition, name);
        } else if (!seen.insert(name).second) {
          fault(definition.line, fmt::format("{} lists {} twice", shown(definition.name), shown(name)));
        } else {
          one.children.push_back(child->second);
        }
      }
    }
    for (std::size_t i = 0; i < topology_.switches.size(); ++i)
      for (const int child : topology_.switches[i].children)
        topology_.switches[static_cast<std::size_t>(child)].parents.push_back(static_cast<int>(i));
    if (link_speeds_)
      topology_.notes.emplace_back("LinkSpeed is of no stated unit (topology.conf(5)), so it is not used");
  }

  void undefined(const Definition& definition, const std::string& name) {
    std::vector<std::string> known;
    for (const Definition& one : definitions_) known.push_back(one.name);
    fault(definition.line,
          fmt::format("{} lists switch {}, which no line defines", shown(definition.name), shown(name)),
          did_you_mean(name, known));
  }

  /// Takes off switches that nothing is above (Kahn 1962); what is left lies in or below a cycle.
  void check_no_cycle() {
    std::vector<std::size_t> above(topology_.switches.size());
    std::vector<int> free;
    for (std::size_t i = 0; i < above.size(); ++i)
      if ((above[i] = topology_.switches[i].parents.size()) == 0) free.push_back(static_cast<int>(i));
    std::size_t taken = 0;
    for (; taken < free.size(); ++taken)
      for (const int child : topology_.switches[static_cast<std::size_t>(free[taken])].children)
        if (--above[static_cast<std::size_t>(child)] == 0) free.push_back(child);
    if (taken == above.size()) return;
    const auto first = std::find_if(above.begin(), above.end(), [](std::size_t left) { return left > 0; });
    const auto index = static_cast<std::size_t>(first - above.begin());
    fault(definitions_[index].line, fmt::format("{} is below itself", shown(definitions_[index].name)),
          "a tree of switches has no cycle");
  }

  void fault(int line, const std::string& message, std::string suggestion = {}) {
    diagnostics_.error("", fmt::format("line {}: {}", line, message), std::move(suggestion));
  }

  std::string_view text_;
  Diagnostics& diagnostics_;
  SlurmTopology topology_;
  std::vector<Definition> definitions_;
  std::map<std::string, int> index_;
  std::vector<int> block_sizes_;
  std::size_t names_ = 0;
  bool has_blocks_ = false, has_switches_ = false, link_speeds_ = false;
};

}  // namespace

std::vector<int> SlurmTopology::roots() const {
  std::vector<int> out;
  for (std::size_t i = 0; i < switches.size(); ++i)
    if (switches[i].parents.empty()) out.push_back(static_cast<int>(i));
  return out;
}

std::vector<std::string> SlurmTopology::hosts_below(int index) const {
  std::vector<std::string> out;
  std::set<std::string> seen;
  std::set<int> visited;
  std::vector<int> open{index};
  while (!open.empty()) {
    const SlurmSwitch& one = switches[static_cast<std::size_t>(open.back())];
    const bool fresh = visited.insert(open.back()).second;
    open.pop_back();
    if (!fresh) continue;
    for (const std::string& host : one.hosts)
      if (seen.insert(host).second) out.push_back(host);
    open.insert(open.end(), one.children.rbegin(), one.children.rend());
  }
  return out;
}

SlurmTopology read_slurm_topology(std::string_view text, Diagnostics& diagnostics) {
  if (!is_slurm_yaml(text)) return ConfReader(text, diagnostics).read();
  std::vector<std::string> notes;
  const std::string conf = conf_of_slurm_yaml(text, notes, diagnostics);
  if (!diagnostics.ok()) return {};
  SlurmTopology out = ConfReader(conf, diagnostics).read();
  out.notes.insert(out.notes.begin(), notes.begin(), notes.end());
  return out;
}

}  // namespace stepcast
