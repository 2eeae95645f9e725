#include "calibration/importers/slurm_topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/importers/hostlist.hpp"
#include "calibration/importers/slurm_conf.hpp"
#include "calibration/importers/slurm_yaml.hpp"
#include "calibration/importers/text_file.hpp"

namespace stepcast {

namespace {

/// Makes a tree of what a file defines.
class TreeMaker {
 public:
  explicit TreeMaker(SlurmDefinitions& definitions) : definitions_(definitions) {}

  SlurmTopology make() {
    check_blocks();
    topology_.is_of_blocks = definitions_.has_blocks() && !definitions_.has_switches();
    if (topology_.is_of_blocks) definitions_.take_blocks_as_switches();
    definitions_.leave_out_empty_switches();
    if (definitions_.list().empty()) nothing_left();
    topology_.notes = definitions_.notes();
    if (definitions_.ok() && topology_.is_of_blocks) join_blocks();
    if (definitions_.ok()) join_switches();
    if (definitions_.ok()) check_no_cycle();
    return std::move(topology_);
  }

 private:
  void check_blocks() {
    std::set<std::string> names, hosts;
    for (const SlurmDefinition& block : definitions_.blocks()) {
      topology_.blocks.push_back({block.name, block.hosts});
      if (!definitions_.has_switches()) continue;  // found as those of switches are
      if (!names.insert(block.name).second)
        definitions_.fault(block.place, fmt::format("block {} is defined a second time", shown(block.name)));
      for (const std::string& host : block.hosts)
        if (!hosts.insert(host).second)
          definitions_.fault(block.place, fmt::format("host {} is in two blocks", shown(host)));
    }
  }

  void nothing_left() {
    if (topology_.is_of_blocks)
      return definitions_.diagnostics().error("", "no block has hosts", "name them behind a block, as Nodes=n[1-16]");
    definitions_.diagnostics().error(
        "", definitions_.has_switches() ? "no switch has hosts below it" : "defines neither switches nor blocks",
        "expected lines as SwitchName=leaf1 Nodes=n[1-16]");
  }

  /// Blocks become leaves below one switch; sizes that join several blocks, as many blocks below one of their own. The
  /// smallest size is that of a base block, whose BlockName may have spare hosts beyond it; the others are multiples of
  /// it (topology.conf(5), BlockSizes).
  void join_blocks() {
    std::vector<std::string> tier;
    for (const SlurmDefinition& block : definitions_.list()) tier.push_back(block.name);
    const std::vector<int>& sizes = definitions_.block_sizes();
    const std::size_t blocks = tier.size();
    int grouped = 0;
    for (const int size : sizes) {
      const int each = size / *std::min_element(sizes.begin(), sizes.end());
      if (each < 2 || static_cast<std::size_t>(each) >= blocks) continue;
      if (grouped > 0) {
        // One tier above blocks is what a fabric of three tiers shows.
        topology_.notes.push_back(
            fmt::format("BlockSizes: only the tier of {} joined blocks is kept, that of {} not", grouped, each));
        break;
      }
      grouped = each;
      tier = group(tier, static_cast<std::size_t>(each));
    }
    if (tier.size() > 1) definitions_.join("blocks", std::move(tier));
    topology_.notes.emplace_back("blocks are taken to be below one network; what joins them is not told");
  }

  std::vector<std::string> group(const std::vector<std::string>& tier, std::size_t each) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < tier.size(); i += each) {
      const auto last = tier.begin() + static_cast<long>(std::min(i + each, tier.size()));
      out.push_back(
          definitions_.join(fmt::format("blocks{}", out.size()), {tier.begin() + static_cast<long>(i), last}));
    }
    return out;
  }

  void join_switches() {
    const std::vector<SlurmDefinition>& list = definitions_.list();
    topology_.switches.resize(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      const SlurmDefinition& definition = list[i];
      SlurmSwitch& one = topology_.switches[i];
      one.name = definition.name;
      one.hosts = listed_once(definition, definition.hosts);
      for (const std::string& name : listed_once(definition, definition.switches)) {
        const int child = definitions_.find(name);
        if (child < 0)
          undefined(definition, name);
        else
          one.children.push_back(child);
      }
    }
    for (std::size_t i = 0; i < topology_.switches.size(); ++i)
      for (const int child : topology_.switches[i].children)
        topology_.switches[static_cast<std::size_t>(child)].parents.push_back(static_cast<int>(i));
    if (definitions_.has_link_speeds())
      topology_.notes.emplace_back("LinkSpeed is of no stated unit (topology.conf(5)), so it is not used");
  }

  /// Each of the names below a switch once. A second one would be a second cable, so that it is a fault.
  std::vector<std::string> listed_once(const SlurmDefinition& definition, const std::vector<std::string>& names) {
    std::vector<std::string> out;
    std::set<std::string> seen, told;
    for (const std::string& name : names)
      if (seen.insert(name).second)
        out.push_back(name);
      else if (told.insert(name).second)
        definitions_.fault(definition.place, fmt::format("{} lists {} twice", shown(definition.name), shown(name)),
                           "name it once");
    return out;
  }

  void undefined(const SlurmDefinition& definition, const std::string& name) {
    std::vector<std::string> known;
    for (const SlurmDefinition& one : definitions_.list()) known.push_back(one.name);
    definitions_.fault(definition.place,
                       fmt::format("{} lists switch {}, which is not defined", shown(definition.name), shown(name)),
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
    const SlurmDefinition& first_below = definitions_.list()[static_cast<std::size_t>(first - above.begin())];
    definitions_.fault(first_below.place, fmt::format("{} is below itself", shown(first_below.name)),
                       "a tree of switches has no cycle");
  }

  SlurmDefinitions& definitions_;
  SlurmTopology topology_;
};

}  // namespace

namespace {

/// Hosts of a rack that Slurm's blocks may leave out: with `BlockSizes=16` two of 18 are spare (NVIDIA's Mission
/// Control and topograph write such files).
constexpr int kSpareHosts = 2;

std::map<std::string, const SlurmBlock*> blocks_by_host(const SlurmTopology& topology) {
  std::map<std::string, const SlurmBlock*> out;
  for (const SlurmBlock& block : topology.blocks)
    for (const std::string& host : block.hosts) out.emplace(host, &block);
  return out;
}

void check_sizes_of_racks(SlurmTopology& topology, const SlurmRack& rack, Diagnostics& diagnostics) {
  bool spare = false;
  for (const SlurmBlock& block : topology.blocks) {
    const int hosts = static_cast<int>(block.hosts.size());
    spare = spare || hosts < rack.hosts;
    if (hosts <= rack.hosts && hosts + kSpareHosts >= rack.hosts) continue;
    return diagnostics.error(
        "--node", fmt::format("block {} has {} hosts, and {} is {}", shown(block.name), hosts, rack.node, rack.hosts),
        fmt::format("a node of the catalogue that is {} hosts, or one of one host", hosts));
  }
  if (spare)
    topology.notes.push_back(fmt::format(
        "blocks have fewer hosts than the {} of a {}, whose accelerators all count: the others are taken as spare ones",
        rack.hosts, rack.node));
}

/// Racks are below what the switch of their block was below; those that are left keep their order.
void lift_racks(SlurmTopology& topology) {
  std::vector<SlurmSwitch> kept;
  std::vector<int> place(topology.switches.size(), -1);
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    const SlurmSwitch& one = topology.switches[i];
    if (!one.hosts.empty() && !one.parents.empty()) continue;
    place[i] = static_cast<int>(kept.size());
    kept.push_back({one.name, one.hosts, {}, {}});
  }
  for (std::size_t i = 0; i < topology.switches.size(); ++i) {
    if (place[i] < 0) continue;
    SlurmSwitch& out = kept[static_cast<std::size_t>(place[i])];
    for (const int child : topology.switches[i].children) {
      const SlurmSwitch& below = topology.switches[static_cast<std::size_t>(child)];
      if (const int at = place[static_cast<std::size_t>(child)]; at >= 0) {
        out.children.push_back(at);
        kept[static_cast<std::size_t>(at)].parents.push_back(place[i]);
      } else {
        out.hosts.insert(out.hosts.end(), below.hosts.begin(), below.hosts.end());
      }
    }
  }
  topology.switches = std::move(kept);
}

}  // namespace

SlurmTopology racks_as_hosts(SlurmTopology topology, const SlurmRack& rack, Diagnostics& diagnostics) {
  if (topology.blocks.empty())
    diagnostics.error("--node",
                      fmt::format("{} is a rack of {} hosts, and the file has no blocks to tell which are one",
                                  rack.node, rack.hosts),
                      "a topology with BlockName=…, or a node of one host");
  check_sizes_of_racks(topology, rack, diagnostics);
  if (!diagnostics.ok()) return {};
  const std::map<std::string, const SlurmBlock*> block_of = blocks_by_host(topology);
  std::set<std::string> left_out;
  for (SlurmSwitch& one : topology.switches) {
    std::vector<std::string> racks;
    for (const std::string& host : one.hosts) {
      const auto block = block_of.find(host);
      if (block == block_of.end())
        left_out.insert(host);
      else if (std::find(racks.begin(), racks.end(), block->second->name) == racks.end())
        racks.push_back(block->second->name);
    }
    one.hosts = std::move(racks);
  }
  if (topology.is_of_blocks) lift_racks(topology);
  if (!left_out.empty())
    topology.notes.push_back(
        fmt::format("hosts of no block were left out: {}", compress_hostlist({left_out.begin(), left_out.end()})));
  topology.notes.push_back(fmt::format("a node is a {}, called by its block: {} hosts whose accelerators share NVLink",
                                       rack.node, rack.hosts));
  return topology;
}

std::vector<std::string> racks_of_job(const SlurmTopology& topology, const std::vector<std::string>& hosts,
                                      const SlurmRack& rack, Diagnostics& diagnostics) {
  const std::map<std::string, const SlurmBlock*> block_of = blocks_by_host(topology);
  std::vector<std::string> out;
  std::map<std::string, int> taken;
  for (const std::string& host : hosts) {
    const auto block = block_of.find(host);
    if (block == block_of.end()) {
      diagnostics.error("--hosts", fmt::format("host {} is in no block", shown(host)));
      continue;
    }
    if (++taken[block->second->name] == 1) out.push_back(block->second->name);
  }
  for (const auto& [name, count] : taken)
    if (count + kSpareHosts < rack.hosts)
      diagnostics.error("--hosts", fmt::format("takes {} hosts of block {}, and a node is all {} of a {}", count,
                                               shown(name), rack.hosts, rack.node));
  return out;
}

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
  SlurmDefinitions definitions(diagnostics);
  is_slurm_yaml(text) ? read_slurm_yaml(text, definitions) : read_slurm_conf(text, definitions);
  if (!diagnostics.ok()) return {};
  return TreeMaker(definitions).make();
}

}  // namespace stepcast
