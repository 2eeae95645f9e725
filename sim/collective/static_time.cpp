#include "sim/collective/static_time.hpp"

#include <algorithm>
#include <map>

namespace stepcast {

namespace {

/// Loads of the links by one column of a phase, and what its slowest message takes.
class ColumnTime {
 public:
  ColumnTime(const ProgramJob& job, const FlowProgram& program)
      : job_(job), program_(program), seconds_(program.links.size(), 0) {}

  /// From the beginning of a step to the end of its slowest message.
  double slowest(const ProgramPhase& phase, int column) {
    const auto first = phase.first_lane[static_cast<std::size_t>(column) * job_.ranks];
    const auto last = phase.first_lane[static_cast<std::size_t>(column + 1) * job_.ranks];
    for (int l = first; l < last; ++l)
      for (const int link : links_of(phase.lanes[l])) seconds_[link] += phase.lanes[l].bytes / program_.links[link];
    double most = 0;
    for (int rank = 0; rank < job_.ranks; ++rank) most = std::max(most, phase.latency / speed(rank));
    for (int l = first; l < last; ++l) {
      const Lane& lane = phase.lanes[l];
      const ProgramPath& path = program_.paths[lane.path];
      double time = path.rate_limit > 0 ? lane.bytes / path.rate_limit : 0;
      for (const int link : path.links) time = std::max(time, seconds_[link]);
      most = std::max(most, phase.latency / speed(lane.sender) + time);
    }
    for (int l = first; l < last; ++l)
      for (const int link : links_of(phase.lanes[l])) seconds_[link] = 0;
    return most;
  }

 private:
  const std::vector<int>& links_of(const Lane& lane) const { return program_.paths[lane.path].links; }
  double speed(int rank) const { return job_.speed.empty() ? 1 : job_.speed[rank]; }

  const ProgramJob& job_;
  const FlowProgram& program_;
  std::vector<double> seconds_;  ///< by link
};

double time_of(const ProgramPhase& phase, ColumnTime& times) {
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

}  // namespace

double static_time(const ProgramJob& job, const FlowProgram& program) {
  ColumnTime times(job, program);
  double sum = 0;
  for (const ProgramPhase& phase : job.phases) sum += time_of(phase, times);
  return sum;
}

Seconds phase_time(const CollectivePhase& phase, const Interconnect& net, const GroupShape& group) {
  Seconds native, network;
  if (phase.native_bytes > Bytes(0)) native = phase.native_bytes / (net.native * phase.native_cap);
  if (phase.network_bytes > Bytes(0))
    network =
        phase.network_bytes / (net.network_rate(group, phase.pattern == MessagePattern::direct) * phase.network_cap);
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
