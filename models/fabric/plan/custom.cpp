#include "models/fabric/plan/custom.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

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
  std::vector<std::pair<int, Seconds>> next;  ///< switches one cable away, and what it takes to get there
};

/// Goes through the cables of a spec once.
struct CableReading {
  CableReading(const FabricSpec& spec, int nodes, const SwitchFigures& figures)
      : switches(spec.switches.size()),
        leaf(static_cast<std::size_t>(nodes), -1),
        access_(static_cast<std::size_t>(nodes)) {
    const CableReader reader(spec.switches);
    for (const FabricCableSpec& cable : spec.cables) {
      const auto from = reader.read(cable.from), to = reader.read(cable.to);
      if (!from || !to) continue;
      const Seconds takes = cable.latency.value_or(kCableLatency);
      const bool between = from->network_switch >= 0 && to->network_switch >= 0;
      for (const auto& [end, other] : {std::pair(*from, *to), std::pair(*to, *from)}) {
        if (between)
          add_trunk(end.network_switch, other.network_switch, cable, takes + figures.latency);
        else if (end.network_switch >= 0 && other.node >= 0 && other.node < nodes)
          leaf[static_cast<std::size_t>(other.node)] = end.network_switch;
        if (end.node >= 0 && end.node < nodes) {
          Seconds& slowest = access_[static_cast<std::size_t>(end.node)];
          slowest = std::max(slowest, takes);
        }
      }
    }
    for (const int l : leaf)
      if (l >= 0) ++switches[static_cast<std::size_t>(l)].nodes;
  }

  /// What the farthest two switches with nodes are apart, by as few switches as can be: the slowest of such ways.
  [[nodiscard]] Seconds farthest() const {
    Seconds most;
    for (std::size_t from = 0; from < switches.size(); ++from)
      if (switches[from].nodes > 0) most = std::max(most, farthest_from(from));
    return most;
  }

  /// What the cables of the two nodes with the slowest ones take together: a message passes one of each.
  [[nodiscard]] Seconds slowest_access() const {
    std::vector<Seconds> slowest(2);
    std::partial_sort_copy(access_.begin(), access_.end(), slowest.begin(), slowest.end(), std::greater<>());
    return slowest[0] + slowest[1];
  }

  std::vector<SwitchLoad> switches;
  std::vector<int> leaf;  ///< the switch of each node; −1: none

 private:
  std::vector<Seconds> access_;  ///< the slowest cable of each node

  void add_trunk(int from, int to, const FabricCableSpec& cable, Seconds takes) {
    SwitchLoad& load = switches[static_cast<std::size_t>(from)];
    load.up += cable.bandwidth * cable.count;
    load.links += cable.count;
    load.next.emplace_back(to, takes);
  }

  [[nodiscard]] Seconds farthest_from(std::size_t from) const {
    std::vector<int> hops(switches.size(), -1);
    std::vector<Seconds> time(switches.size());
    std::deque<std::size_t> queue{from};
    hops[from] = 0;
    Seconds most;
    while (!queue.empty()) {
      const std::size_t at = queue.front();
      queue.pop_front();
      if (switches[at].nodes > 0) most = std::max(most, time[at]);
      for (const auto& [next, takes] : switches[at].next) {
        const auto to = static_cast<std::size_t>(next);
        if (hops[to] < 0) queue.push_back(to);
        if (hops[to] >= 0 && hops[to] <= hops[at]) continue;
        hops[to] = hops[at] + 1;
        time[to] = std::max(time[to], time[at] + takes);
      }
    }
    return most;
  }
};

/// What the cables of each NIC carry together, node after node; a node's cables count for all of its NICs.
std::vector<BytesPerSecond> carried_by_nic(const FabricSpec& spec, int nodes, int nics) {
  const CableReader reader(spec.switches);
  std::vector<BytesPerSecond> out(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nics));
  for (const FabricCableSpec& cable : spec.cables) {
    const auto from = reader.read(cable.from), to = reader.read(cable.to);
    if (!from || !to) continue;
    for (const CableEnd& end : {*from, *to}) {
      if (end.node < 0 || end.node >= nodes) continue;
      for (int nic = end.nic.value_or(0); nic < std::min(nics, end.nic ? *end.nic + 1 : nics); ++nic)
        out[static_cast<std::size_t>(end.node) * static_cast<std::size_t>(nics) + static_cast<std::size_t>(nic)] +=
            cable.bandwidth * cable.count;
    }
  }
  return out;
}

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

BytesPerSecond cabled_nic_rate(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate) {
  BytesPerSecond out = rate;
  if (spec.preset != FabricPreset::custom || nodes <= 1 || nics <= 0) return out;
  for (const BytesPerSecond carried : carried_by_nic(spec, nodes, nics))
    if (carried > BytesPerSecond(0)) out = std::min(out, carried);
  return out;
}

FabricLevels custom_levels(const FabricSpec& spec, int nodes, int nics, BytesPerSecond rate,
                           const SwitchFigures& figures) {
  CableReading read(spec, nodes, figures);
  FabricLevels out;
  // A network's figures hold usual cables.
  if (const Seconds more = read.slowest_access() - 2 * kCableLatency; more > Seconds(0))
    out.levels.push_back({1, rate * nics, nics, more});
  const Seconds hop = read.farthest();
  std::erase_if(read.switches, [](const SwitchLoad& load) { return load.nodes == 0; });
  if (read.switches.size() < 2) return out;
  const SwitchLoad& scarcest =
      *std::min_element(read.switches.begin(), read.switches.end(),
                        [](const auto& a, const auto& b) { return a.up * b.nodes < b.up * a.nodes; });
  out.levels.push_back({scarcest.nodes, scarcest.up, std::max(1, scarcest.links), hop});
  return out;
}

}  // namespace stepcast
