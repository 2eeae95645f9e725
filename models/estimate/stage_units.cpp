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
  take_turns(units);
  if (stages_.plan().kept_after_backward) return units;
  const double crowd = gather_crowd(stage);
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

void StageUnits::take_turns(std::vector<UnitTimes>& units) const {
  if (stages_.scenario().degrees.vpp <= 1) return;
  // A micro-batch comes back to a stage when it has passed the others; how long its messages take where they meet
  // collectives is for those who know what flows meanwhile.
  const auto others = static_cast<double>(stages_.count() - 1);
  // Units are in the order of their gradients: all of a later chunk before those of an earlier one.
  for (std::size_t first = 0, next = 0; first < units.size(); first = next) {
    Seconds forward, backward;
    for (; next < units.size() && units[next].chunk == units[first].chunk; ++next) {
      forward += units[next].forward;
      backward += units[next].backward;
    }
    if (first == 0) continue;
    units[first].before_backward = others * backward;
    units[first - 1].before_forward = others * forward;
    units[first].messages = units[first - 1].messages = around_;
  }
}

double StageUnits::crowd_of(std::size_t stage, const GroupShape& group) const {
  const std::vector<double>& parameters = stages_.job().stage_parameters;
  const double own = parameters[stage];
  double crowd = 1;
  if (own <= 0) return crowd;
  for (const LinkOwner& link : links_.of(stage)) {
    double all = 0;
    for (std::size_t other = 0; other < stages_.count(); ++other)
      if (links_.uses(other, link)) all += std::min(1.0, parameters[other] / own);
    crowd = std::max(crowd, all * links_.share(stage, group, link));
  }
  return crowd;
}

}  // namespace stepcast
