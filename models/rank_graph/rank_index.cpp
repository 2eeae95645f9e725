#include "models/rank_graph/rank_index.hpp"

#include <fmt/format.h>

#include "models/rank_graph/check_rank_graph.hpp"

namespace stepcast {

Fault RankGraphPlaces::of_program(int program) const { return of_graph(fmt::format("/programs/{}", program)); }

Fault RankGraphPlaces::of_operation(int program, int operation, std::uint64_t) const {
  return of_graph(fmt::format("/programs/{}/operations/{}", program, operation));
}

RankIndex::RankIndex(const RankGraph& graph, const RankGraphPlaces& places) : graph_(graph) {
  RankGraphCheck(*this, places).run();
}

int RankIndex::group_of(const RankOperation& operation) const {
  return operation.group.empty() ? 0 : group_by_name_.find(operation.group)->second;
}

int RankIndex::list_of(int group, int rank) const {
  if (group == 0) return 0;
  const auto& lists = lists_[group - 1];
  const auto found = lists.find(rank);
  return found == lists.end() ? -1 : found->second;
}

std::span<const int> RankIndex::members(int group, int list) const {
  return group == 0 ? std::span(all_ranks_) : std::span(graph_.groups[group - 1].members[list]);
}

const std::vector<std::int32_t>& RankIndex::meetings(int program, int group) const {
  static const std::vector<std::int32_t> none;
  const auto found = meetings_[program].find(group);
  return found == meetings_[program].end() ? none : found->second;
}

std::vector<int> RankIndex::groups_of_program(int program) const {
  std::vector<int> out;
  for (const auto& [group, meetings] : meetings_[program]) out.push_back(group);
  return out;
}

}  // namespace stepcast
