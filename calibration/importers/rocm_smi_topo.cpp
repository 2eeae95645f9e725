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

}  // namespace

Wiring read_rocm_smi_topo(std::string_view text, Diagnostics& diagnostics) {
  const std::string plain = without_escapes(text);
  const std::vector<std::string_view> lines = lines_of(plain);
  const Table types = table_under(lines, "Link Type between two GPUs", diagnostics);
  const Table weights = table_under(lines, "Weight between two GPUs", diagnostics);
  if (!diagnostics.ok()) return {};
  if (types.empty())
    return diagnostics.error("", "has no table \"Link Type between two GPUs\"",
                             "expected what rocm-smi --showtopo prints"),
           Wiring{};
  const auto weight = [&](std::size_t a, std::size_t b) {
    return weights.size() == types.size() ? whole_number(weights[a][b]).value_or(0) : 0;
  };
  int least = std::numeric_limits<int>::max();
  for (std::size_t a = 0; a < types.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (types[a][b] == "XGMI") least = std::min(least, weight(a, b));
  const std::map<int, int> numa = numa_nodes(lines);
  Wiring wiring;
  wiring.links_told = true;
  for (std::size_t a = 0; a < types.size(); ++a) {
    WiredAccelerator one;
    one.name = fmt::format("GPU{}", a);
    one.pci = "1002:";  // AMD's, which one is not told
    const auto node = numa.find(static_cast<int>(a));
    one.numa = node == numa.end() ? -1 : node->second;
    wiring.accelerators.push_back(std::move(one));
    for (std::size_t b = 0; b < a; ++b) {
      if (types[a][b] != types[b][a])
        diagnostics.error(
            "", fmt::format("GPU{} and GPU{} meet in two ways: the table differs from its mirror image", b, a));
      if (types[a][b] != "XGMI" && types[a][b] != "PCIE")
        diagnostics.error("",
                          fmt::format("{} between GPU{} and GPU{}, expected XGMI or PCIE", shown(types[a][b]), b, a));
      if (types[a][b] == "XGMI" && weight(a, b) == least)
        wiring.links.push_back({static_cast<int>(b), static_cast<int>(a), 1});
    }
  }
  if (!wiring.links.empty()) wiring.notes.emplace_back("how many links a pair has is not told; taken as one");
  return wiring;
}

}  // namespace stepcast
