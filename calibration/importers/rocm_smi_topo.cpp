#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "calibration/importers/nvidia_smi_topo.hpp"
#include "calibration/importers/text_file.hpp"
#include "fields/plain_text.hpp"

namespace stepcast {

namespace {

using Table = std::vector<std::vector<std::string>>;

/// Of a die of an MI250X to the other of its package there are four; beyond this a damaged table is read.
constexpr int kMostLinksOfPair = 1024;

/// The table under a banner: rows `GPU0 0 15 …` of as many cells as there are rows.
Table table_under(const std::vector<std::string_view>& lines, std::string_view banner, Diagnostics& diagnostics) {
  Table out;
  std::size_t line = 0;
  while (line < lines.size() && lines[line].find(banner) == std::string_view::npos) ++line;
  for (++line; line < lines.size() && lines[line].find("====") == std::string_view::npos; ++line) {
    const std::vector<std::string_view> words = words_of(lines[line]);
    const bool row = words.size() > 1 && words[0].substr(0, 3) == "GPU" && words[1].substr(0, 3) != "GPU";
    if (row) out.emplace_back(words.begin() + 1, words.end());
  }
  for (const std::vector<std::string>& row : out)
    if (row.size() != out.size()) {
      diagnostics.error("",
                        fmt::format("a row under {} has {} cells, expected {}", shown(banner), row.size(), out.size()));
      return {};
    }
  return out;
}

/// `GPU[3] : (Topology) Numa Node: 1`.
std::map<int, int> numa_nodes(const std::vector<std::string_view>& lines) {
  std::map<int, int> out;
  constexpr std::string_view kNode = "(Topology) Numa Node: ";
  for (const std::string_view line : lines) {
    const auto at = line.find(kNode);
    if (at == std::string_view::npos || line.substr(0, 4) != "GPU[") continue;
    const auto gpu = whole_number(line.substr(4, line.find(']') - 4));
    const auto node = whole_number(trimmed(line.substr(at + kNode.size())));
    if (gpu && node) out[*gpu] = *node;
  }
  return out;
}

/// What `rocm-smi --showproductname` tells beside the tables under a title: `GPU[0] : Card Series: AMD Instinct
/// MI300X`.
std::string product_line(const std::vector<std::string_view>& lines, const std::string& title) {
  for (const std::string_view line : lines) {
    if (!line.starts_with("GPU[")) continue;
    const auto at = lower_case(line).find(title);
    if (at == std::string::npos) continue;
    const std::string_view value = trimmed(line.substr(at + title.size()));
    if (!value.empty() && value != "N/A") return std::string(value);
  }
  return {};
}

/// `1002:74a1` of `Card Model: 0x74a1`; AMD's alone where it is a name or missing.
std::string pci_of(const std::vector<std::string_view>& lines) {
  const std::string card = lower_case(product_line(lines, "card model:"));
  return card.size() == 6 && card.starts_with("0x") ? "1002:" + card.substr(2) : "1002:";
}

/// What both programs show of the devices.
struct Tables {
  std::vector<std::string> names;
  Table types, weights, bandwidths;
  std::map<int, int> numa;
  std::string model, pci = "1002:", gcn;
};

/// A table of `amd-smi topology`: below its title a header of PCI addresses, then a row for each, `0000:05:00.0 SELF
/// XGMI`.
Table table_of_addresses(const std::vector<std::string_view>& lines, std::string_view title,
                         std::vector<std::string>& names, Diagnostics& diagnostics) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](std::string_view line) { return trimmed(line).starts_with(title); });
  Table out;
  names.clear();
  if (found == lines.end()) return out;
  for (auto line = found + 1; line != lines.end(); ++line) {
    const std::vector<std::string_view> words = words_of(*line);
    if (words.empty() || trimmed(*line).ends_with("TABLE:")) break;
    if (names.empty()) {
      names.assign(words.begin(), words.end());
      continue;
    }
    if (words.size() != names.size() + 1 || out.size() >= names.size() || words.front() != names[out.size()]) {
      diagnostics.error(fmt::format("line {}", line - lines.begin() + 1),
                        fmt::format("found {} under {}, expected {} and {} cells", shown(*line), shown(title),
                                    out.size() < names.size() ? names[out.size()] : "nothing", names.size()));
      return {};
    }
    out.emplace_back(words.begin() + 1, words.end());
  }
  if (out.size() != names.size())
    diagnostics.error("", fmt::format("{} has {} rows, expected {}", shown(title), out.size(), names.size()),
                      "is the output cut off?");
  return out;
}

Tables tables_in(std::string_view text, Diagnostics& diagnostics) {
  const std::vector<std::string_view> lines = lines_of(text);
  Tables out;
  constexpr std::string_view kTypes = "LINK TYPE TABLE";
  if (text.find(kTypes) != std::string_view::npos) {
    out.weights = table_of_addresses(lines, "WEIGHT TABLE", out.names, diagnostics);
    out.bandwidths = table_of_addresses(lines, "NUMA BW TABLE", out.names, diagnostics);
    out.types = table_of_addresses(lines, kTypes, out.names, diagnostics);
    return out;
  }
  out.types = table_under(lines, "Link Type between two GPUs", diagnostics);
  out.weights = table_under(lines, "Weight between two GPUs", diagnostics);
  out.numa = numa_nodes(lines);
  out.model = product_line(lines, "card series:");
  out.pci = pci_of(lines);
  out.gcn = product_line(lines, "gfx version:");
  for (std::size_t i = 0; i < out.types.size(); ++i) out.names.push_back(fmt::format("GPU{}", i));
  return out;
}

/// How many links a pair has, by the rates that amd-smi shows (`50000-200000`, in MB/s): so many times the lowest of
/// any pair. 0 where a pair has none of its own. Empty where no rates are shown.
std::vector<std::vector<int>> links_by_bandwidth(const Table& bandwidths) {
  std::vector<std::vector<int>> out;
  int lowest = std::numeric_limits<int>::max();
  for (const std::vector<std::string>& row : bandwidths) {
    out.emplace_back();
    for (const std::string& cell : row) {
      const int highest = whole_number(cell.substr(cell.find('-') + 1)).value_or(0);
      if (highest > 0) lowest = std::min(lowest, highest);
      out.back().push_back(highest);
    }
  }
  if (lowest == std::numeric_limits<int>::max()) return {};
  for (std::vector<int>& row : out)
    for (int& one : row) one = static_cast<int>(std::lround(static_cast<double>(one) / lowest));
  return out;
}

}  // namespace

Wiring read_rocm_smi_topo(std::string_view text, Diagnostics& diagnostics) {
  const std::string plain = without_log_prefixes(text);
  const Tables tables = tables_in(plain, diagnostics);
  const Table& types = tables.types;
  const Table& weights = tables.weights;
  if (!diagnostics.ok()) return {};
  if (types.empty())
    return diagnostics.error("", "has no table \"Link Type between two GPUs\"",
                             "expected what rocm-smi --showtopo or amd-smi topology prints"),
           Wiring{};
  const auto weight = [&](std::size_t a, std::size_t b) {
    return weights.size() == types.size() ? whole_number(weights[a][b]).value_or(0) : 0;
  };
  const std::vector<std::vector<int>> counts = links_by_bandwidth(tables.bandwidths);
  const bool counted = counts.size() == types.size();
  int least = std::numeric_limits<int>::max();
  for (std::size_t a = 0; a < types.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (types[a][b] == "XGMI") least = std::min(least, weight(a, b));
  Wiring wiring;
  wiring.links_told = true;
  for (std::size_t a = 0; a < types.size(); ++a) {
    WiredAccelerator one;
    one.name = tables.names[a];
    one.model = tables.model;
    one.pci = tables.pci;
    one.gcn = tables.gcn;
    const auto node = tables.numa.find(static_cast<int>(a));
    one.numa = node == tables.numa.end() ? -1 : node->second;
    wiring.accelerators.push_back(std::move(one));
    for (std::size_t b = 0; b < a; ++b) {
      if (types[a][b] != types[b][a])
        diagnostics.error("", fmt::format("{} and {} meet in two ways: the table differs from its mirror image",
                                          tables.names[b], tables.names[a]));
      if (types[a][b] != "XGMI" && types[a][b] != "PCIE")
        diagnostics.error("", fmt::format("{} between {} and {}, expected XGMI or PCIE", shown(types[a][b]),
                                          tables.names[b], tables.names[a]));
      const int links = types[a][b] != "XGMI" ? 0 : counted ? counts[a][b] : weight(a, b) == least ? 1 : 0;
      if (links > kMostLinksOfPair)
        diagnostics.error("", fmt::format("{} and {} meet at {} times the lowest rate of any pair, expected at most {}",
                                          tables.names[b], tables.names[a], links, kMostLinksOfPair));
      if (links > 0) wiring.links.push_back({static_cast<int>(b), static_cast<int>(a), links});
    }
  }
  if (wiring.links.empty()) return wiring;
  wiring.notes.emplace_back(counted ? "how many links a pair has is told by its rate over the lowest of any pair"
                                    : "how many links a pair has is not told; taken as one");
  return wiring;
}

}  // namespace stepcast
