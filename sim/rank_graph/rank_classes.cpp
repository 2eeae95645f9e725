#include "sim/rank_graph/rank_classes.hpp"

#include <algorithm>
#include <map>

namespace stepcast {

namespace {

/// Numbers signatures in the order in which they come.
class Numbering {
 public:
  int number(std::vector<std::int64_t> signature) {
    return numbers_.try_emplace(std::move(signature), static_cast<int>(numbers_.size())).first->second;
  }
  [[nodiscard]] int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<std::vector<std::int64_t>, int> numbers_;
};

}  // namespace

RankClasses::RankClasses(const RankIndex& index, int devices_per_node) {
  ends_.resize(index.ranks());
  for (const RankMessage& message : index.messages()) {
    ends_[message.from].push_back({message.to, message.send, message.receive});
    ends_[message.to].push_back({message.from, message.receive, message.send});
  }
  for (auto& ends : ends_)
    std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.own < b.own; });
  for (int rank = 0; rank < index.ranks(); ++rank) class_of_.push_back(index.program_of(rank));
  list_kinds_.resize(index.groups());
  do find_list_kinds(index);
  while (refine(index, devices_per_node));

  const int classes = 1 + *std::max_element(class_of_.begin(), class_of_.end());
  representatives_.assign(classes, -1);
  sizes_.assign(classes, 0);
  per_node_.assign(classes, 0);
  for (int rank = 0; rank < index.ranks(); ++rank) {
    const int of = class_of_[rank];
    if (representatives_[of] < 0) representatives_[of] = rank;
    ++sizes_[of];
    if (rank / devices_per_node == representatives_[of] / devices_per_node) ++per_node_[of];
  }
}

void RankClasses::find_list_kinds(const RankIndex& index) {
  for (int group = 0; group < index.groups(); ++group) {
    Numbering kinds;
    list_kinds_[group].clear();
    const int lists = group == 0 ? 1 : static_cast<int>(index.graph().groups[group - 1].members.size());
    for (int list = 0; list < lists; ++list) {
      std::vector<std::int64_t> classes;
      for (const int rank : index.members(group, list)) classes.push_back(class_of_[rank]);
      std::sort(classes.begin(), classes.end());
      list_kinds_[group].push_back(kinds.number(std::move(classes)));
    }
  }
}

/// Splits classes whose ranks differ in what is around them; false when none did.
bool RankClasses::refine(const RankIndex& index, int devices_per_node) {
  Numbering nodes, ranks;
  std::vector<int> node_kinds;
  for (int first = 0; first < index.ranks(); first += devices_per_node) {
    const int end = std::min(first + devices_per_node, index.ranks());
    std::vector<std::int64_t> classes(class_of_.begin() + first, class_of_.begin() + end);
    std::sort(classes.begin(), classes.end());
    node_kinds.push_back(nodes.number(std::move(classes)));
  }
  std::vector<int> refined;
  for (int rank = 0; rank < index.ranks(); ++rank) {
    std::vector<std::int64_t> signature{class_of_[rank], node_kinds[rank / devices_per_node]};
    for (const int group : index.groups_of_program(index.program_of(rank)))
      signature.push_back(list_kinds_[group][index.list_of(group, rank)]);
    for (const End& end : ends_[rank]) {
      const bool beside = end.peer / devices_per_node == rank / devices_per_node;
      signature.insert(signature.end(), {class_of_[end.peer], end.own, end.other, beside});
    }
    refined.push_back(ranks.number(std::move(signature)));
  }
  const bool split = ranks.count() > 1 + *std::max_element(class_of_.begin(), class_of_.end());
  class_of_ = std::move(refined);
  return split;
}

}  // namespace stepcast
