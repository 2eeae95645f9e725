#include "sim/step/columns.hpp"

#include <fmt/format.h>

namespace stepcast {

namespace {

std::vector<Column> folded_columns(const Job& job) {
  std::vector<Column> columns;
  const RankLayout& layout = job.layout;
  const double per_replica = static_cast<double>(layout.degree(Axis::tensor)) * layout.degree(Axis::context);
  for (std::size_t c = 0; c < job.fold.classes.size(); ++c) {
    const ReplicaClass& replicas = job.fold.classes[c];
    Column column;
    if (c > 0 || job.fold.classes.size() > 1)
      column.name = replicas.replicas > 1 ? fmt::format("{} replicas like {}", replicas.replicas, replicas.first)
                                          : fmt::format("replica {}", replicas.first);
    column.state = replicas.state;
    column.replica_class = static_cast<int>(c);
    column.base_rank = replicas.first * layout.stride(Axis::data);
    column.multiplicity = per_replica * replicas.replicas;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::vector<Column> full_columns(const Job& job) {
  const RankLayout& layout = job.layout;
  std::vector<Column> columns;
  for (int rank = 0; rank < layout.devices(); ++rank) {
    if (layout.coordinate(rank, Axis::pipeline) != 0) continue;
    const int replica = layout.coordinate(rank, Axis::data);
    Column column;
    column.name = fmt::format("rank {}", rank);
    column.replica_class = job.fold.class_of(replica);
    column.state = job.fold.classes[static_cast<std::size_t>(column.replica_class)].state;
    column.base_rank = rank;
    columns.push_back(std::move(column));
  }
  return columns;
}

}  // namespace

std::vector<Column> columns_of(const Job& job, FlowDetail flows) {
  if (flows == FlowDetail::folded) return folded_columns(job);
  if (job.layout.devices() > kMostFullRanks)
    throw InputError({{"", "/run/flows",
                       fmt::format("found full, which simulates up to {} ranks one by one, and the job has {}",
                                   kMostFullRanks, job.layout.devices()),
                       "\"folded\", or fewer ranks"}});
  if (job.scenario->spec.cluster.fabric.routing == FabricRouting::ecmp && job.nodes.any_limits())
    throw InputError({{"", "/run/flows",
                       "found full, in which the links of a leaf are one, and routing ecmp hashes flows over each of "
                       "them",
                       "\"folded\", which counts the collisions, or cluster.fabric.routing \"adaptive\""}});
  return full_columns(job);
}

}  // namespace stepcast
