#include "models/estimate/stage_units.hpp"

#include <algorithm>

namespace stepcast {

void StageUnits::next(std::size_t stage, std::vector<UnitTimes>& units) {
  const bool single = stages_.job().fold.classes.size() == 1;
  if (stage == 0 || !single || !stages_.alike(stage - 1, stage)) units = units_of(stage);
}

std::vector<UnitTimes> StageUnits::units_of(std::size_t stage) {
  std::vector<UnitTimes> units = units_alone(stage);
  const auto slow_down = [&](double crowd, Seconds UnitTimes::*whole, Seconds UnitTimes::*flow) {
    if (crowd <= 1) return;
    for (UnitTimes& unit : units) {
      unit.*whole += (crowd - 1) * (unit.*flow);
      unit.*flow *= crowd;
    }
  };
  const double crowd = crowd_of(stage, stages_.job().groups.shard);
  slow_down(crowd, &UnitTimes::gather_alone, &UnitTimes::gather_flow);
  if (stages_.plan().sharded_parameters) slow_down(crowd, &UnitTimes::reduce_alone, &UnitTimes::reduce_flow);
  return units;
}

std::vector<UnitTimes> StageUnits::units_alone(std::size_t stage) {
  const auto s = static_cast<int>(stage);
  const Job& job = stages_.job();
  SyncTrafficCache own;
  std::vector<UnitTimes> units = unit_times(stages_.at(stage), s, stages_.state(stage) == 0 ? known_ : own);
  for (const ReplicaClass& others : job.fold.classes) {
    if (others.state[stage] == stages_.state(stage)) continue;
    SyncTrafficCache of_others;
    const std::vector<UnitTimes> theirs = unit_times(job.in_state(others.state[stage]), s, of_others);
    for (std::size_t u = 0; u < units.size(); ++u)
      for (const auto part : {&UnitTimes::reduce_alone, &UnitTimes::gather_alone, &UnitTimes::reduce_flow,
                              &UnitTimes::gather_flow, &UnitTimes::contended})
        units[u].*part = std::max(units[u].*part, theirs[u].*part);
  }
  return units;
}

double StageUnits::shared_by_stage(std::size_t stage, const GroupShape& group) const {
  const Job& job = stages_.job();
  const int stages_of_node = job.layout.in_node(Axis::pipeline);
  if (stages_of_node <= 1 || group.nodes() <= 1) return 0;
  const Interconnect& net = stages_.at(stage).interconnect;
  const BytesPerSecond taken = net.network_rate(group) * static_cast<double>(job.placement.ranks_per_node);
  double share = taken / net.node_network;
  for (std::size_t level = 0; level < job.nodes.levels(); ++level)
    if (job.nodes.limits(level)) share = std::max(share, group.above[level].ring * (taken / net.uplinks[level].up));
  return std::min(1.0, share);
}

double StageUnits::crowd_of(std::size_t stage, const GroupShape& group) const {
  const Job& job = stages_.job();
  const double share = shared_by_stage(stage, group);
  const double own = job.stage_parameters[stage];
  if (share <= 0 || own <= 0) return 1;
  double all = 0;
  for (std::size_t other = 0; other < stages_.count(); ++other)
    if (job.placement.node[other] == job.placement.node[stage]) all += std::min(1.0, job.stage_parameters[other] / own);
  return std::max(1.0, all * share);
}

}  // namespace stepcast
