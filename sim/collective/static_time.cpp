#include "sim/collective/static_time.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace stepcast {

namespace {

/// Lane steps that a walk through every step of every rank may take; beyond it, all ranks are in step.
constexpr double kMostWalked = 4e6;

/// What the messages of one column of a phase take by the loads that all of them together put on the links.
class ColumnTime {
 public:
  ColumnTime(const ProgramJob& job, const FlowProgram& program)
      : job_(job), program_(program), seconds_(program.links.size(), 0) {}

  /// From the beginning of a step to the end of each of its messages, latency included.
  const std::vector<double>& of_lanes(const ProgramPhase& phase, int column) {
    const int first = first_lane(phase, column), last = first_lane(phase, column + 1);
    for (int l = first; l < last; ++l)
      for (const int link : links_of(phase.lanes[l])) seconds_[link] += phase.lanes[l].bytes / program_.links[link];
    lanes_.clear();
    for (int l = first; l < last; ++l) {
      const Lane& lane = phase.lanes[l];
      const ProgramPath& path = program_.paths[lane.path];
      double time = path.rate_limit > 0 ? lane.bytes / path.rate_limit : 0;
      for (const int link : path.links) time = std::max(time, seconds_[link]);
      lanes_.push_back(phase.latency / speed(lane.sender) + time);
    }
    for (int l = first; l < last; ++l)
      for (const int link : links_of(phase.lanes[l])) seconds_[link] = 0;
    return lanes_;
  }
  /// From the beginning of a step to the end of its slowest message.
  double slowest(const ProgramPhase& phase, int column) {
    double most = 0;
    for (int rank = 0; rank < job_.ranks; ++rank) most = std::max(most, phase.latency / speed(rank));
    for (const double time : of_lanes(phase, column)) most = std::max(most, time);
    return most;
  }
  [[nodiscard]] int first_lane(const ProgramPhase& phase, int column) const {
    return phase.first_lane[static_cast<std::size_t>(column) * job_.ranks];
  }

 private:
  const std::vector<int>& links_of(const Lane& lane) const { return program_.paths[lane.path].links; }
  double speed(int rank) const { return job_.speed.empty() ? 1 : job_.speed[rank]; }

  const ProgramJob& job_;
  const FlowProgram& program_;
  std::vector<double> seconds_;  ///< by link
  std::vector<double> lanes_;    ///< by lane of the column
};

int column_of(const ProgramPhase& phase, int step) {
  return phase.column_of_step.empty() ? 0 : phase.column_of_step[step];
}

double time_in_step(const ProgramPhase& phase, ColumnTime& times) {
  if (phase.kind != ProgramKind::stepwise) return times.slowest(phase, 0);
  if (phase.column_of_step.empty()) return phase.steps * times.slowest(phase, 0);
  std::map<int, double> known;
  double sum = 0;
  for (const int column : phase.column_of_step) {
    const auto [entry, fresh] = known.try_emplace(column, 0);
    if (fresh) entry->second = times.slowest(phase, column);
    sum += entry->second;
  }
  return sum;
}

/// Takes ranks that are ready at different times through the steps of a phase: a late rank holds up the next one, and
/// that one the next, while the others go on.
void walk(const ProgramPhase& phase, ColumnTime& times, std::vector<double>& ready) {
  std::map<int, std::vector<double>> known;
  std::vector<double> next;
  for (int step = 0; step < phase.steps; ++step) {
    const int column = column_of(phase, step), first = times.first_lane(phase, column);
    const auto [entry, fresh] = known.try_emplace(column);
    if (fresh) entry->second = times.of_lanes(phase, column);
    next = ready;
    for (std::size_t l = 0; l < entry->second.size(); ++l) {
      const Lane& lane = phase.lanes[first + l];
      const double end = ready[lane.sender] + entry->second[l];
      next[lane.sender] = std::max(next[lane.sender], end);
      next[lane.receiver] = std::max(next[lane.receiver], end);
    }
    ready.swap(next);
  }
}

bool all_equal(const std::vector<double>& ready) {
  return std::adjacent_find(ready.begin(), ready.end(), std::not_equal_to<>()) == ready.end();
}

bool few_steps(const ProgramPhase& phase) {
  return static_cast<double>(phase.lanes.size()) / phase.columns * phase.steps <= kMostWalked;
}

}  // namespace

double static_end(const ProgramJob& job, const FlowProgram& program) {
  ColumnTime times(job, program);
  std::vector<double> ready = job.begin;
  for (const ProgramPhase& phase : job.phases) {
    if (phase.kind == ProgramKind::stepwise && !all_equal(ready) && few_steps(phase)) {
      walk(phase, times, ready);
    } else {
      ready.assign(ready.size(), *std::max_element(ready.begin(), ready.end()) + time_in_step(phase, times));
    }
  }
  return *std::max_element(ready.begin(), ready.end());
}

Seconds phase_time(const CollectivePhase& phase, const Interconnect& net, const GroupShape& group) {
  Seconds native, network;
  if (phase.native_bytes > Bytes(0)) native = phase.native_bytes / (net.native * phase.native_cap);
  if (phase.network_bytes > Bytes(0))
    network = phase.network_bytes / (net.network_rate(group, phase.pattern) * phase.network_cap);
  return phase.latency + std::max(native, network);
}

void merge_steps(FlowProgram& program, int most) {
  for (ProgramJob& job : program.jobs)
    for (ProgramPhase& phase : job.phases) {
      if (phase.kind != ProgramKind::stepwise || !phase.column_of_step.empty() || phase.steps <= most) continue;
      const double times = static_cast<double>(phase.steps) / most;
      phase.steps = most;
      phase.latency *= times;
      for (Lane& lane : phase.lanes) {
        lane.bytes *= times;
        lane.payload *= times;
      }
    }
}

}  // namespace stepcast
