#include <fmt/format.h>

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <numeric>
#include <unordered_map>

#include "models/fabric/check.hpp"
#include "models/fabric/plan/custom.hpp"

namespace stepcast {

namespace {

/// Faults of one kind beyond this many say nothing new.
constexpr int kMostAlike = 10;

class CustomCheck {
 public:
  CustomCheck(const FabricSpec& spec, int nodes, int nics, const std::string& pointer, Diagnostics& diagnostics)
      : spec_(spec), nodes_(nodes), nics_(nics), pointer_(pointer), diagnostics_(diagnostics), reader_(spec.switches) {}

  void run() {
    const bool named = check_names();
    if (spec_.cables.empty()) return fault("/cables", "missing: a custom fabric is made of them", "list the cables");
    bool sound = named;
    for (std::size_t i = 0; i < spec_.cables.size(); ++i) sound = check_cable(i) && sound;
    if (sound) check_nics();
    if (sound) check_switches();
    if (sound) check_joined();
  }

 private:
  void fault(const std::string& at, std::string message, std::string suggestion = {}) {
    diagnostics_.error(pointer_ + at, std::move(message), std::move(suggestion));
  }

  bool check_names() {
    std::unordered_map<std::string, std::size_t> seen;
    bool sound = true;
    for (std::size_t i = 0; i < spec_.switches.size(); ++i) {
      const std::string& name = spec_.switches[i].name;
      const auto [entry, fresh] = seen.emplace(name, i);
      if (fresh && !name.empty()) continue;
      sound = false;
      fault(fmt::format("/switches/{}/name", i),
            name.empty() ? "found \"\", expected a name"
                         : fmt::format("\"{}\" is already the name of switch {}", name, entry->second));
    }
    return sound;
  }

  bool check_cable(std::size_t i) {
    const FabricCableSpec& cable = spec_.cables[i];
    const std::string at = fmt::format("/cables/{}", i);
    const auto from = check_end(cable.from, at + "/from"), to = check_end(cable.to, at + "/to");
    if (!from || !to) return false;
    const bool same_node = from->node >= 0 && from->node == to->node;
    if (!same_node && (from->network_switch < 0 || from->network_switch != to->network_switch)) return true;
    fault(at, fmt::format("it leads from \"{}\" to itself", cable.from));
    return false;
  }

  std::optional<CableEnd> check_end(const std::string& text, const std::string& at) {
    const auto end = reader_.read(text);
    if (!end) {
      std::vector<std::string> names;
      for (const FabricSwitchSpec& each : spec_.switches) names.push_back(each.name);
      std::string hint = did_you_mean(text, names);
      if (hint.empty()) hint = "a switch's name, node3 or node3:nic1";
      fault(at, fmt::format("no switch \"{}\" is listed, and it is not a node", text), std::move(hint));
      return std::nullopt;
    }
    if (end->node >= nodes_)
      fault(at, fmt::format("found \"{}\", but there are {} nodes, counted from 0", text, nodes_));
    else if (end->nic && *end->nic >= nics_)
      fault(at, fmt::format("found \"{}\", but a node has {} NICs, counted from 0", text, nics_));
    else
      return end;
    return std::nullopt;
  }

  /// Every device sends by the NIC next to it, so a NIC without a cable cuts its devices off.
  void check_nics() {
    const auto nics = static_cast<std::size_t>(nics_);
    std::vector<char> cabled(static_cast<std::size_t>(nodes_) * nics, 0);
    const auto at = [&](int node, int nic) {
      return static_cast<std::size_t>(node) * nics + static_cast<std::size_t>(nic);
    };
    for (const FabricCableSpec& cable : spec_.cables)
      for (const CableEnd& end : {*reader_.read(cable.from), *reader_.read(cable.to)})
        for (int nic = 0; end.node >= 0 && nic < nics_; ++nic)
          if (!end.nic || *end.nic == nic) cabled[at(end.node, nic)] = 1;
    int faults = 0;
    for (int node = 0; node < nodes_ && faults < kMostAlike; ++node) {
      const auto first = cabled.begin() + static_cast<std::ptrdiff_t>(at(node, 0));
      const auto count = static_cast<int>(std::count(first, first + nics_, 1));
      if (count == nics_ || count == 0) continue;  // a node without any is not joined
      const auto bare = static_cast<int>(std::find(first, first + nics_, 0) - first);
      ++faults;
      fault("/cables",
            fmt::format("node{}:nic{} has none: {} of the node's {} NICs are cabled", node, bare, count, nics_),
            fmt::format("cables for all of them, or nics_per_node {}", count));
    }
  }

  void check_switches() {
    std::vector<char> cabled(spec_.switches.size(), 0);
    for (const FabricCableSpec& cable : spec_.cables)
      for (const CableEnd& end : {*reader_.read(cable.from), *reader_.read(cable.to)})
        if (end.network_switch >= 0) cabled[static_cast<std::size_t>(end.network_switch)] = 1;
    int faults = 0;
    for (std::size_t i = 0; i < cabled.size() && faults < kMostAlike; ++i) {
      if (cabled[i] != 0) continue;
      ++faults;
      fault(fmt::format("/switches/{}", i), fmt::format("no cable leads to \"{}\"", spec_.switches[i].name),
            "cables for it, or leave it out");
    }
  }

  /// Every node must reach every other. Nodes do not pass traffic on, so cables between nodes do not count for others;
  /// a fabric of such cables alone must join every two.
  void check_joined() {
    const auto switches = spec_.switches.size();
    const std::size_t all = switches + static_cast<std::size_t>(nodes_);
    std::vector<std::size_t> rank(all), parent(all);
    boost::disjoint_sets sets(rank.data(), parent.data());
    for (std::size_t v = 0; v < all; ++v) sets.make_set(v);
    bool direct = false;
    for (const FabricCableSpec& cable : spec_.cables) {
      const CableEnd from = *reader_.read(cable.from), to = *reader_.read(cable.to);
      direct = direct || (from.node >= 0 && to.node >= 0);
      sets.union_set(vertex(from), vertex(to));
    }
    if (direct) return;  // the router says which two nodes do not meet
    int faults = 0;
    for (int n = 1; n < nodes_ && faults < kMostAlike; ++n) {
      if (sets.find_set(switches + static_cast<std::size_t>(n)) == sets.find_set(switches)) continue;
      ++faults;
      fault("/cables", fmt::format("no way leads from node0 to node{}", n), "cables that join them");
    }
  }

  [[nodiscard]] std::size_t vertex(const CableEnd& end) const {
    if (end.network_switch >= 0) return static_cast<std::size_t>(end.network_switch);
    return spec_.switches.size() + static_cast<std::size_t>(end.node);
  }

  const FabricSpec& spec_;
  int nodes_, nics_;
  const std::string& pointer_;
  Diagnostics& diagnostics_;
  CableReader reader_;
};

}  // namespace

void check_custom_fabric(const FabricSpec& spec, int nodes, int nics, const std::string& pointer,
                         Diagnostics& diagnostics) {
  CustomCheck(spec, nodes, nics, pointer, diagnostics).run();
}

}  // namespace stepcast
