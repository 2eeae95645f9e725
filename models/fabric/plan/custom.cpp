#include "models/fabric/plan/custom.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace stepcast {

namespace {

/// The number after a word, the whole of it: 3 of `node3`.
std::optional<int> number_after(std::string_view word, std::string_view text) {
  if (!text.starts_with(word)) return std::nullopt;
  const std::string_view digits = text.substr(word.size());
  int value = 0;
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || fault != std::errc{} || end != digits.data() + digits.size() || value < 0) return std::nullopt;
  return value;
}

/// What hangs on a switch and what leads away from it.
struct SwitchLoad {
  int nodes = 0, links = 0;
  BytesPerSecond up;
};

}  // namespace

CableReader::CableReader(const std::vector<FabricSwitchSpec>& switches) {
  for (std::size_t i = 0; i < switches.size(); ++i) names_.emplace(switches[i].name, static_cast<int>(i));
}

std::optional<CableEnd> CableReader::read(const std::string& text) const {
  if (const auto found = names_.find(text); found != names_.end()) return CableEnd{found->second, -1, std::nullopt};
  const std::size_t colon = text.find(':');
  const auto node = number_after("node", std::string_view(text).substr(0, colon));
  if (!node) return std::nullopt;
  if (colon == std::string::npos) return CableEnd{-1, *node, std::nullopt};
  const auto nic = number_after("nic", std::string_view(text).substr(colon + 1));
  if (!nic) return std::nullopt;
  return CableEnd{-1, *node, nic};
}

FabricLevels custom_levels(const FabricSpec& spec, int nodes, const SwitchFigures& figures) {
  const CableReader reader(spec.switches);
  std::vector<SwitchLoad> loads(spec.switches.size());
  std::vector<int> leaf(static_cast<std::size_t>(nodes), -1);
  for (const FabricCableSpec& cable : spec.cables) {
    const auto from = reader.read(cable.from), to = reader.read(cable.to);
    if (!from || !to) continue;
    const bool between = from->network_switch >= 0 && to->network_switch >= 0;
    for (const auto& [end, other] : {std::pair(*from, *to), std::pair(*to, *from)}) {
      if (between) {
        SwitchLoad& load = loads[static_cast<std::size_t>(end.network_switch)];
        load.up += cable.bandwidth * cable.count;
        load.links += cable.count;
      } else if (end.network_switch >= 0 && other.node >= 0 && other.node < nodes) {
        leaf[static_cast<std::size_t>(other.node)] = end.network_switch;
      }
    }
  }
  for (const int l : leaf)
    if (l >= 0) ++loads[static_cast<std::size_t>(l)].nodes;
  std::erase_if(loads, [](const SwitchLoad& load) { return load.nodes == 0; });
  if (loads.size() < 2) return {};
  const SwitchLoad& scarcest = *std::min_element(
      loads.begin(), loads.end(), [](const auto& a, const auto& b) { return a.up * b.nodes < b.up * a.nodes; });
  FabricLevels out;
  out.levels.push_back(
      {scarcest.nodes, scarcest.up, std::max(1, scarcest.links), 2 * (figures.latency + kCableLatency)});
  return out;
}

}  // namespace stepcast
