#include "models/estimate/stage_links.hpp"

#include <algorithm>

namespace stepcast {

StageLinks::StageLinks(const ReplicaStages& stages) : stages_(stages), of_(stages.count()) {
  if (stages.count() <= 1) return;
  const Job& job = stages.job();
  if (job.layout.in_node(Axis::pipeline) > 1)
    for (std::size_t stage = 0; stage < stages.count(); ++stage)
      of_[stage].push_back({.owner = job.placement.node[stage]});
  for (std::size_t level = 0; level < job.nodes.levels(); ++level)
    if (job.nodes.limits(level)) add_uplinks(level);
}

void StageLinks::add_uplinks(std::size_t level) {
  const Job& job = stages_.job();
  // Those that the pipeline's own nodes use stand for all, as in the simulation.
  std::vector<int> watched;
  for (std::size_t stage = 0; stage < stages_.count(); ++stage)
    watched.push_back(job.nodes.member(level, job.layout.node_of(job.layout.first_rank(static_cast<int>(stage)))));
  std::sort(watched.begin(), watched.end());
  watched.erase(std::unique(watched.begin(), watched.end()), watched.end());
  for (std::size_t stage = 0; stage < stages_.count(); ++stage) {
    std::vector<LinkOwner>& links = of_[stage];
    const int rails = job.nodes.rails_of(level, job.layout.first_rank(static_cast<int>(stage)));
    const auto before = static_cast<std::ptrdiff_t>(links.size());
    job.layout.each_node_of_stage(static_cast<int>(stage), [&](int node, int) {
      const LinkOwner link{static_cast<int>(level), job.nodes.member(level, node), rails};
      if (!std::binary_search(watched.begin(), watched.end(), link.owner)) return;
      if (std::find(links.begin() + before, links.end(), link) == links.end()) links.push_back(link);
    });
    std::sort(links.begin() + before, links.end());
  }
}

bool StageLinks::uses(std::size_t stage, const LinkOwner& link) const {
  return std::binary_search(of_[stage].begin(), of_[stage].end(), link);
}

double StageLinks::share(std::size_t stage, const GroupShape& group, const LinkOwner& link) const {
  if (group.nodes() <= 1) return 0;
  const Job& job = stages_.job();
  const Interconnect& net = stages_.at(stage).interconnect;
  const BytesPerSecond taken = net.network_rate(group) * static_cast<double>(job.placement.ranks_per_node);
  if (link.level == LinkOwner::kNics) return std::min(1.0, taken / net.node_network);
  const auto level = static_cast<std::size_t>(link.level);
  return std::min(1.0, group.above[level].ring * (taken / net.uplinks[level].up));
}

}  // namespace stepcast
