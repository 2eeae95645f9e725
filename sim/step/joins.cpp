#include "sim/step/joins.hpp"

#include <algorithm>

namespace stepcast {

Joins::Joins(const Job& job, const std::vector<Column>& columns, FlowDetail flows)
    : job_(job), columns_(columns), flows_(flows), alone_(columns.size() == 1) {}

int Joins::group_of(const Member& member, GroupKind kind) {
  if (flows_ == FlowDetail::full) {
    const auto [entry, fresh] = groups_.try_emplace({member.rank, kind}, 0);
    if (fresh) {
      const std::vector<int> ranks = job_.layout.group(kind, member.rank);
      entry->second = *std::min_element(ranks.begin(), ranks.end());
    }
    return entry->second;
  }
  // Folded, replicas meet in what they synchronise; inside its layers a column meets itself alone.
  if (kind == GroupKind::data || kind == GroupKind::expert_data || kind == GroupKind::replicate) return member.stage;
  // Those of other copies of the parameters go their own way until gradients are summed over copies.
  const auto of = static_cast<std::size_t>(columns_[static_cast<std::size_t>(member.column)].replica_class);
  if (kind == GroupKind::shard)
    return member.stage + job_.layout.degree(Axis::pipeline) * job_.fold.classes[of].sharing;
  // The ends of a pipeline.
  return kind == GroupKind::pipeline ? member.column : -1;
}

void Joins::add(const Member& member, GroupKind kind, int operation) {
  if (alone_ && kind != GroupKind::pipeline) return;
  const int group = group_of(member, kind);
  if (group < 0) return;
  operations_[{kind, group, emitted_[{member.device, kind}]++}].push_back(operation);
}

void Joins::join(StepGraph& graph) const {
  for (const auto& [key, operations] : operations_)
    if (operations.size() > 1) graph.join(operations);
}

}  // namespace stepcast
