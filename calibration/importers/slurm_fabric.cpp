#include "calibration/importers/slurm_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "calibration/importers/hostlist.hpp"

namespace stepcast {

namespace {

/// Rate of cables when nothing says better: the rate of a catalogue's most frequent NIC (200 Gb/s HDR or Slingshot 11).
constexpr BytesPerSecond kPlainRate = 200_Gbps;
constexpr std::size_t kMostNotedLeaves = 64;

/// The part of the tree that a fabric takes: switches with hosts of it below them.
struct Part {
  std::vector<std::string> hosts;                    ///< node i of the fabric
  std::vector<int> leaves;                           ///< switches with hosts of their own, in the order of the tree
  std::map<int, std::vector<std::string>> hosts_of;  ///< of a leaf
  std::set<int> used;
};

class FabricMaker {
 public:
  FabricMaker(const SlurmTopology& topology, const SlurmFabricHints& hints, const std::string& file)
      : topology_(topology), hints_(hints), diagnostics_(file), notes_(topology.notes) {}

  Imported make() {
    choose_root();
    diagnostics_.throw_if_faulty();
    collect();
    diagnostics_.throw_if_faulty();
    Imported out;
    out.document = fabric();
    note_hosts();
    out.name = "fabric.json";
    out.notes = std::move(notes_);
    out.summary = fmt::format("fabric of {} nodes, {}", part_.hosts.size(), summary_);
    return out;
  }

 private:
  [[nodiscard]] const SlurmSwitch& at(int index) const { return topology_.switches[static_cast<std::size_t>(index)]; }

  void choose_root() {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < topology_.switches.size(); ++i) {
      names.push_back(topology_.switches[i].name);
      if (topology_.switches[i].name == hints_.root) root_ = static_cast<int>(i);
    }
    if (!hints_.root.empty()) {
      if (root_ < 0)
        diagnostics_.error("--root", fmt::format("no switch \"{}\" in the topology", hints_.root),
                           did_you_mean(hints_.root, names));
      return;
    }
    std::size_t most = 0;
    const std::vector<int> roots = topology_.roots();
    for (const int root : roots) {
      const std::size_t hosts = topology_.hosts_below(root).size();
      if (root_ < 0 || hosts > most) root_ = root, most = hosts;
    }
    if (roots.size() > 1) note_roots(roots, most);
  }

  /// Several switches with nothing above them: beside one another over the same hosts, or networks that do not meet.
  void note_roots(const std::vector<int>& roots, std::size_t most) {
    const auto hosts_of = [&](int root) {
      const std::vector<std::string> hosts = topology_.hosts_below(root);
      return std::set<std::string>(hosts.begin(), hosts.end());
    };
    const std::set<std::string> taken = hosts_of(root_);
    const auto beside = std::count_if(roots.begin(), roots.end(), [&](int root) { return hosts_of(root) == taken; });
    if (beside > 1)
      notes_.push_back(
          fmt::format("{} switches at the top are over the same {} hosts: taken as one level, with {}'s "
                      "switches below it",
                      beside, most, at(root_).name));
    const auto others = static_cast<std::ptrdiff_t>(roots.size()) - beside;
    if (others > 0)
      notes_.push_back(
          fmt::format("{} networks do not meet; taken is the one below {}, with {} hosts (--root takes another)",
                      others + 1, at(root_).name, most));
  }

  void collect() {
    const std::vector<std::string> all = topology_.hosts_below(root_);
    part_.hosts = hints_.job_hosts.empty() ? all : hints_.job_hosts;
    const std::set<std::string> below(all.begin(), all.end());
    std::set<std::string> wanted;
    for (const std::string& host : part_.hosts) {
      if (below.count(host) == 0)
        diagnostics_.error("--hosts", fmt::format("host \"{}\" is not below switch \"{}\"", host, at(root_).name),
                           did_you_mean(host, all));
      if (!wanted.insert(host).second) diagnostics_.error("--hosts", fmt::format("host \"{}\" is listed twice", host));
      if (diagnostics_.faults().size() > 10) return;
    }
    if (part_.hosts.empty()) diagnostics_.error("", fmt::format("no host is below switch \"{}\"", at(root_).name));
    std::set<int> visited;
    visit(wanted, visited);
  }

  // Children before parents, without recursion: chains of switches may be as long as a file.
  void visit(const std::set<std::string>& wanted, std::set<int>& visited) {
    std::vector<std::pair<int, bool>> open{{root_, false}};
    std::set<std::string> placed;
    while (!open.empty()) {
      const auto [index, done] = open.back();
      open.pop_back();
      const SlurmSwitch& one = at(index);
      if (done) {
        children_first_.push_back(index);
        for (const int child : one.children)
          if (part_.used.count(child) > 0) part_.used.insert(index);
        continue;
      }
      if (!visited.insert(index).second) continue;
      open.emplace_back(index, true);
      for (auto child = one.children.rbegin(); child != one.children.rend(); ++child) open.emplace_back(*child, false);
      for (const std::string& host : one.hosts) {
        if (wanted.count(host) == 0) continue;
        part_.hosts_of[index].push_back(host);
        if (!placed.insert(host).second) shared_hosts_ = true;
      }
      if (part_.hosts_of.count(index) == 0) continue;
      part_.leaves.push_back(index);
      part_.used.insert(index);
    }
  }

  Json fabric() {
    prune_chain();
    const int tiers = regular_tiers();
    if (tiers > 0) return preset(tiers);
    return custom();
  }

  /// A root that joins one switch only adds nothing.
  void prune_chain() {
    while (part_.hosts_of.count(root_) == 0) {
      std::vector<int> inside;
      for (const int child : at(root_).children)
        if (part_.used.count(child) > 0) inside.push_back(child);
      if (inside.size() != 1) return;
      part_.used.erase(root_);
      root_ = inside.front();
    }
  }

  [[nodiscard]] std::vector<int> used_children(int index) const {
    std::vector<int> out;
    for (const int child : at(index).children)
      if (part_.used.count(child) > 0) out.push_back(child);
    return out;
  }

  /// 1: one switch; 2: equal leaves below a root; 3: equal leaves below equal pods below a root; 0: anything else.
  int regular_tiers() {
    if (shared_hosts_) return 0;
    if (part_.hosts_of.count(root_) > 0) return used_children(root_).empty() ? 1 : 0;
    if (!has_equal_leaves()) return 0;
    const std::vector<int> tier = used_children(root_);
    if (std::all_of(tier.begin(), tier.end(), [&](int one) { return is_leaf(one); })) return 2;
    std::set<std::size_t> sizes;
    for (const int pod : tier) {
      if (part_.hosts_of.count(pod) > 0) return 0;
      const std::vector<int> leaves = used_children(pod);
      if (!std::all_of(leaves.begin(), leaves.end(), [&](int one) { return is_leaf(one); })) return 0;
      sizes.insert(leaves.size());
    }
    pods_ = tier.size();
    return sizes.size() == 1 ? 3 : 0;
  }

  [[nodiscard]] bool is_leaf(int index) const {
    return part_.hosts_of.count(index) > 0 && used_children(index).empty() && parents_of(index) == 1;
  }
  [[nodiscard]] std::size_t parents_of(int index) const {
    std::size_t out = 0;
    for (const int parent : at(index).parents) out += part_.used.count(parent);
    return out;
  }
  [[nodiscard]] bool has_equal_leaves() const {
    std::set<std::size_t> sizes;
    for (const int leaf : part_.leaves) sizes.insert(part_.hosts_of.at(leaf).size());
    return sizes.size() == 1;
  }

  Json preset(int tiers) {
    Json out{{"preset", tiers == 1 ? "single-switch" : tiers == 2 ? "fat-tree" : "fat-tree-3"}};
    summary_ = fmt::format("preset {}", out["preset"].get<std::string>());
    if (tiers > 1) {
      const std::size_t each = part_.hosts_of.at(part_.leaves.front()).size();
      out["nodes_per_leaf"] = each;
      summary_ += fmt::format(", {} leaves of {}", part_.leaves.size(), each);
      if (tiers == 3) out["nodes_per_pod"] = part_.hosts.size() / pods_;
      if (tiers == 3) summary_ += fmt::format(", {} pods", pods_);
      out["oversubscription"] = hints_.oversubscription;
      if (tiers == 3 && hints_.oversubscription > 1) out["core_oversubscription"] = hints_.oversubscription;
      notes_.push_back(
          fmt::format("how many up-links leaves have is not told; taken {:g}:1 oversubscribed (--oversubscription)",
                      hints_.oversubscription));
    }
    if (hints_.nic_bandwidth.value() > 0) {
      out["nics_per_node"] = hints_.nics_per_node;
      out["nic_bandwidth_Gbps"] = hints_.nic_bandwidth.in(1_Gbps);
    }
    const std::vector<int> order = node_order();
    if (!std::is_sorted(order.begin(), order.end())) out["node_order"] = order;
    return out;
  }

  /// Node of the preset's fabric, which counts along the tree, of each of the job's hosts.
  std::vector<int> node_order() {
    std::map<std::string, int> place;
    for (const int leaf : part_.leaves)
      for (const std::string& host : part_.hosts_of.at(leaf)) place.emplace(host, static_cast<int>(place.size()));
    std::vector<int> out;
    for (const std::string& host : part_.hosts) out.push_back(place.at(host));
    return out;
  }

  Json custom() {
    const bool known = hints_.nic_bandwidth.value() > 0;
    const BytesPerSecond rate = known ? hints_.nic_bandwidth : kPlainRate;
    Json switches = Json::array(), cables = Json::array();
    for (const int index : part_.used) switches.push_back(Json{{"name", fabric_name(index)}});
    std::map<std::string, int> node;
    for (std::size_t i = 0; i < part_.hosts.size(); ++i) node[part_.hosts[i]] = static_cast<int>(i);
    for (const auto& [leaf, hosts] : part_.hosts_of)
      for (const std::string& host : hosts)
        cables.push_back(cable(fmt::format("node{}", node.at(host)), fabric_name(leaf), rate, 1));
    const std::map<int, std::size_t> hosts_below = count_hosts();
    for (const int index : part_.used)
      for (const int child : used_children(index)) {
        const double wanted = static_cast<double>(hosts_below.at(child)) * hints_.nics_per_node /
                              hints_.oversubscription / static_cast<double>(parents_of(child));
        cables.push_back(cable(fabric_name(child), fabric_name(index), rate,
                               std::max(1, static_cast<int>(std::ceil(wanted - 1e-9)))));
      }
    summary_ = fmt::format("custom, {} switches and {} kinds of cables", switches.size(), cables.size());
    notes_.push_back(fmt::format(
        "the tree is not regular, so every switch and cable is listed, for exactly {} nodes; rates are not told: {} "
        "NICs of {:g} Gb/s a node and {:g}:1 oversubscription were {} (--node, --nic-Gbps, --oversubscription)",
        part_.hosts.size(), hints_.nics_per_node, rate.in(1_Gbps), hints_.oversubscription,
        known ? "given" : "assumed"));
    return {{"preset", "custom"}, {"switches", std::move(switches)}, {"cables", std::move(cables)}};
  }

  static Json cable(std::string from, std::string to, BytesPerSecond rate, int count) {
    Json out{{"from", std::move(from)}, {"to", std::move(to)}, {"bandwidth_Gbps", rate.in(1_Gbps)}};
    if (count > 1) out["count"] = count;
    return out;
  }

  /// A switch called as nodes are would be taken for one.
  [[nodiscard]] std::string fabric_name(int index) const {
    const std::string& name = at(index).name;
    return name.compare(0, 4, "node") == 0 ? "switch-" + name : name;
  }

  /// Hosts below each used switch; a host behind two of its children counts for both.
  std::map<int, std::size_t> count_hosts() {
    std::map<int, std::size_t> out;
    for (const int index : children_first_) {
      std::size_t& count = out[index];
      if (const auto own = part_.hosts_of.find(index); own != part_.hosts_of.end()) count = own->second.size();
      for (const int child : used_children(index)) count += out.at(child);
    }
    return out;
  }

  void note_hosts() {
    std::map<std::string, std::size_t> node;
    for (std::size_t i = 0; i < part_.hosts.size(); ++i) node[part_.hosts[i]] = i;
    if (!hints_.job_hosts.empty())
      return notes_.push_back(fmt::format("nodes 0–{} are {}, in the order of the job", part_.hosts.size() - 1,
                                          compress_hostlist(part_.hosts)));
    std::size_t shown = 0;
    for (const int leaf : part_.leaves) {
      if (++shown > kMostNotedLeaves) {
        notes_.emplace_back("and so on, in the order of the file");
        return;
      }
      const std::vector<std::string>& hosts = part_.hosts_of.at(leaf);
      notes_.push_back(fmt::format("nodes {}–{} are {} on {}", node.at(hosts.front()), node.at(hosts.back()),
                                   compress_hostlist(hosts), at(leaf).name));
    }
  }

  const SlurmTopology& topology_;
  const SlurmFabricHints& hints_;
  Diagnostics diagnostics_;
  std::vector<std::string> notes_;
  std::string summary_;
  int root_ = -1;
  Part part_;
  std::vector<int> children_first_;  ///< every switch below the root, after those below it
  std::size_t pods_ = 1;
  bool shared_hosts_ = false;
};

}  // namespace

Imported slurm_fabric(const SlurmTopology& topology, const SlurmFabricHints& hints, const std::string& file) {
  return FabricMaker(topology, hints, file).make();
}

}  // namespace stepcast
