#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "calibration/importers/nvidia_smi_topo.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

using Table = std::vector<std::vector<std::string>>;

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

/// The model that `rocm-smi --showproductname` tells beside the tables: `GPU[0] : Card Series: AMD Instinct MI300X`.
std::string model_of(const std::vector<std::string_view>& lines) {
  for (const std::string_view line : lines)
    for (const std::string_view title : {"Card Series:", "Card series:"})
      if (const auto at = line.find(title); at != std::string_view::npos && line.starts_with("GPU[")) {
        const std::string_view model = trimmed(line.substr(at + title.size()));
        if (!model.empty() && model != "N/A") return std::string(model);
      }
  return {};
}

/// What both programs show of the devices.
struct Tables {
  std::vector<std::string> names;
  Table types, weights;
  std::map<int, int> numa;
  std::string model;
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
    if (words.empty()) break;
    if (names.empty()) {
      names.assign(words.begin(), words.end());
      continue;
    }
    if (words.size() != names.size() + 1 || out.size() >= names.size() || words.front() != names[out.size()]) {
      diagnostics.error("", fmt::format("found {} under {}, expected {} and {} cells", shown(*line), shown(title),
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
    out.types = table_of_addresses(lines, kTypes, out.names, diagnostics);
    return out;
  }
  out.types = table_under(lines, "Link Type between two GPUs", diagnostics);
  out.weights = table_under(lines, "Weight between two GPUs", diagnostics);
  out.numa = numa_nodes(lines);
  out.model = model_of(lines);
  for (std::size_t i = 0; i < out.types.size(); ++i) out.names.push_back(fmt::format("GPU{}", i));
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
    one.pci = "1002:";  // AMD's, which one is not told
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
      if (types[a][b] == "XGMI" && weight(a, b) == least)
        wiring.links.push_back({static_cast<int>(b), static_cast<int>(a), 1});
    }
  }
  if (!wiring.links.empty()) wiring.notes.emplace_back("how many links a pair has is not told; taken as one");
  return wiring;
}

}  // namespace stepcast
