#include "models/rank_graph/merge_programs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace stepcast {

namespace {

/// Groups of a program by the place at which it first names them.
std::vector<std::string> groups_by_place(const RankProgram& program) {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const RankOperation& operation : program.operations)
    if (!operation.group.empty() && seen.insert(operation.group).second) out.push_back(operation.group);
  return out;
}

std::size_t rough_hash(const RankProgram& program) {
  std::size_t out = program.operations.size();
  const auto mix = [&](std::size_t value) { out = out * 1099511628211U + value; };
  for (const RankOperation& operation : program.operations) {
    mix(operation.id);
    mix(static_cast<std::size_t>(operation.kind));
    mix(std::hash<double>()(operation.duration.value_or(Seconds(0)).value()));
    mix(std::hash<double>()(operation.size.value_or(Bytes(0)).value()));
  }
  return out;
}

std::optional<int> distance(const RankOperation& operation, int rank) {
  const std::optional<int> peer = peer_of(operation, rank);
  return peer ? std::optional(*peer - rank) : std::nullopt;
}

bool equal(const RankProgram& a, const RankProgram& b) {
  std::map<std::string, std::string> names;
  std::set<std::string> taken;
  const auto same_group = [&](const std::string& x, const std::string& y) {
    if (x.empty() || y.empty()) return x.empty() && y.empty();
    const auto [known, fresh] = names.try_emplace(x, y);
    return known->second == y && (!fresh || taken.insert(y).second);
  };
  const auto same = [&](const RankOperation& x, const RankOperation& y) {
    return x.id == y.id && x.kind == y.kind && x.after == y.after && x.duration == y.duration && x.work == y.work &&
           x.memory == y.memory && x.collective == y.collective && x.size == y.size && x.share == y.share &&
           x.tag.value_or(0) == y.tag.value_or(0) && x.stream == y.stream && x.host == y.host && x.name == y.name &&
           distance(x, a.ranks.front()) == distance(y, b.ranks.front()) && same_group(x.group, y.group);
  };
  return std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(), same);
}

/// Groups that take one another's place.
class Families {
 public:
  explicit Families(const std::vector<RankGroup>& groups) : groups_(groups), parent_(groups.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (int g = 0; g < static_cast<int>(groups.size()); ++g) number_[groups[g].name] = g;
  }
  void join(const std::string& a, const std::string& b) {
    const int x = find(number_.at(a)), y = find(number_.at(b));
    parent_[std::max(x, y)] = std::min(x, y);
  }
  const std::string& name(const std::string& group) { return groups_[find(number_.at(group))].name; }
  /// The groups with their lists together; empty when a rank is in two lists of one.
  std::vector<RankGroup> merged() {
    std::map<int, RankGroup> families;
    std::map<int, std::set<int>> ranks;
    for (int g = 0; g < static_cast<int>(groups_.size()); ++g) {
      const int leader = find(g);
      RankGroup& family = families[leader];
      family.name = groups_[leader].name;
      for (const auto& members : groups_[g].members) {
        if (std::find(family.members.begin(), family.members.end(), members) != family.members.end()) continue;
        for (const int rank : members)
          if (!ranks[leader].insert(rank).second) return {};
        family.members.push_back(members);
      }
    }
    std::vector<RankGroup> out;
    out.reserve(families.size());
    for (auto& [leader, family] : families) out.push_back(std::move(family));
    return out;
  }

 private:
  int find(int group) {
    while (parent_[group] != group) group = parent_[group] = parent_[parent_[group]];
    return group;
  }
  const std::vector<RankGroup>& groups_;
  std::vector<int> parent_;
  std::map<std::string, int> number_;
};

}  // namespace

std::vector<int> merge_programs(RankGraph& graph) {
  std::vector<int> kept(graph.programs.size());
  std::iota(kept.begin(), kept.end(), 0);
  std::unordered_multimap<std::size_t, int> by_hash;
  std::vector<int> merged_into(graph.programs.size());
  Families families(graph.groups);
  for (int p = 0; p < static_cast<int>(graph.programs.size()); ++p) {
    merged_into[p] = p;
    const std::size_t hash = rough_hash(graph.programs[p]);
    const auto [first, last] = by_hash.equal_range(hash);
    const auto twin = std::find_if(
        first, last, [&](const auto& entry) { return equal(graph.programs[entry.second], graph.programs[p]); });
    if (twin == last) {
      by_hash.emplace(hash, p);
      continue;
    }
    merged_into[p] = twin->second;
    const auto one = groups_by_place(graph.programs[twin->second]), other = groups_by_place(graph.programs[p]);
    for (std::size_t place = 0; place < one.size(); ++place) families.join(one[place], other[place]);
  }
  std::vector<RankGroup> groups = families.merged();
  if (by_hash.size() == graph.programs.size() || groups.size() > graph.groups.size() ||
      (groups.empty() && !graph.groups.empty()))
    return kept;
  kept.clear();
  for (int p = 0; p < static_cast<int>(graph.programs.size()); ++p) {
    RankProgram& program = graph.programs[p];
    if (merged_into[p] != p) {
      std::vector<int>& ranks = graph.programs[merged_into[p]].ranks;
      ranks.insert(ranks.end(), program.ranks.begin(), program.ranks.end());
      program.operations = {};
      continue;
    }
    kept.push_back(p);
    for (RankOperation& operation : program.operations) {
      if (!operation.group.empty()) operation.group = families.name(operation.group);
      if (operation.peer) operation.peer_offset = *std::exchange(operation.peer, std::nullopt) - program.ranks.front();
    }
  }
  std::vector<RankProgram> programs;
  programs.reserve(kept.size());
  for (const int p : kept) programs.push_back(std::move(graph.programs[p]));
  graph.programs = std::move(programs);
  graph.groups = std::move(groups);
  return kept;
}

}  // namespace stepcast
