#include "sim/collective/lower_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "fields/diagnostics.hpp"
#include "fields/splitmix64.hpp"
#include "sim/collective/patterns.hpp"

namespace stepcast {

namespace {

/// In (0, 1]: draws that depend on their number alone, not on the order of drawing.
double uniform(std::uint64_t seed, int job, int rank) {
  const std::uint64_t number =
      splitmix64(splitmix64(splitmix64(seed) + static_cast<std::uint64_t>(job)) + static_cast<std::uint64_t>(rank));
  return (static_cast<double>(number >> 11U) + 1) * 0x1p-53;
}

ProgramJob lower_job(const CollectiveJob& job, const CollectiveSetting& setting, MachinePaths& paths,
                     const std::vector<double>& late) {
  const CollectivePlan plan = plan_of(job, setting);
  const GroupLayout group(ranks_of(job, setting), setting.devices_per_node);
  ProgramJob out;
  out.ranks = group.size();
  for (int rank = 0; rank < out.ranks; ++rank) {
    const double speed = paths.speed(group.devices[rank]);
    if (speed < 1) out.speed.resize(out.ranks, 1);
    if (!out.speed.empty()) out.speed[rank] = speed;
    out.begin.push_back(job.start.value() + late[rank] + plan.start.value() / speed);
  }
  for (const CollectivePhase& phase : plan.phases) out.phases.push_back(messages_of(phase, group, paths));
  return out;
}

/// A message that has nothing to do with any job, as a job of two ranks.
ProgramJob lower_background(const CollectiveConditions::Background& message, const CollectiveSetting& setting,
                            MachinePaths& paths) {
  const bool inside = message.from / setting.devices_per_node == message.to / setting.devices_per_node;
  const double bytes = message.bytes.value();
  Lane lane{0, 0, 1, bytes, bytes};
  if (inside) {
    lane.path = paths.native(message.from, message.to);
  } else {
    lane.path = paths.network(message.from, message.to, 0);
    lane.bytes *= paths.network_occupancy();
  }
  ProgramPhase phase;
  phase.kind = ProgramKind::streamed;
  phase.lanes = {lane};
  phase.first_lane = {0, 1, 1};
  return {2, {message.start.value(), message.start.value()}, {}, {phase}};
}

class RunCheck {
 public:
  explicit RunCheck(const CollectiveRun& run) : run_(run), devices_(run.setting.nodes * run.setting.devices_per_node) {}

  void check() {
    for (std::size_t j = 0; j < run_.jobs.size(); ++j) job(run_.jobs[j], fmt::format("/jobs/{}", j));
    const CollectiveConditions& c = run_.conditions;
    for (const auto& slow : c.slow_ranks) {
      device(slow.rank, "/slow_ranks");
      share(slow.speed, "/slow_ranks");
    }
    for (const auto& slow : c.slow_links) share(slow.share, "/slow_links");
    for (const auto& message : c.background) {
      device(message.from, "/background");
      device(message.to, "/background");
      if (message.from == message.to) fault("/background", "a message from a device to itself", "name two devices");
    }
    if (!run_.setting.network && (!c.failures.empty() || !c.slow_links.empty()))
      fault("/conditions", "links of a network that is not described", "describe the fabric");
    if (!(c.jitter >= Seconds(0)) || !is_finite(c.jitter)) fault("/jitter", "found no time of 0 or more", "");
    if (!faults_.empty()) throw InputError(faults_);
  }

 private:
  void fault(std::string pointer, std::string message, std::string suggestion) {
    faults_.push_back({"", std::move(pointer), std::move(message), std::move(suggestion)});
  }
  void device(int number, const std::string& pointer) {
    if (number < 0 || number >= devices_)
      fault(pointer, fmt::format("there is no device {}", number), fmt::format("0 to {}", devices_ - 1));
  }
  void share(double value, const std::string& pointer) {
    if (!(value > 0 && value <= 1))
      fault(pointer, fmt::format("found {}, expected more than 0 and at most 1", value), "");
  }
  void job(const CollectiveJob& job, const std::string& pointer) {
    for (const int rank : job.ranks) device(rank, pointer + "/ranks");
    std::vector<int> sorted = job.ranks;
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      fault(pointer + "/ranks", fmt::format("device {} is named twice", *twice), "keep one of them");
    if (!is_finite(job.start) || job.start < Seconds(0)) fault(pointer + "/start", "found no time of 0 or more", "");
    if (!is_finite(job.payload) || job.payload < Bytes(0))
      fault(pointer + "/payload", "found no size of 0 or more", "");
    const int ranks = shape_of(job, run_.setting).size;
    if (!(job.imbalance >= 1 && job.imbalance <= std::max(1, ranks)))
      fault(pointer + "/imbalance", fmt::format("found {}, expected 1 to {}", job.imbalance, ranks), "");
  }

  const CollectiveRun& run_;
  int devices_;
  std::vector<Fault> faults_;
};

}  // namespace

std::vector<int> ranks_of(const CollectiveJob& job, const CollectiveSetting& setting) {
  if (!job.ranks.empty()) return job.ranks;
  std::vector<int> all(static_cast<std::size_t>(setting.nodes) * setting.devices_per_node);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

GroupShape shape_of(const CollectiveJob& job, const CollectiveSetting& setting) {
  if (job.shape) return *job.shape;
  if (!job.ranks.empty()) return GroupLayout(job.ranks, setting.devices_per_node).shape();
  GroupShape shape;
  shape.size = setting.nodes * setting.devices_per_node;
  shape.per_node = setting.devices_per_node;
  return shape;
}

CollectivePlan plan_of(const CollectiveJob& job, const CollectiveSetting& setting) {
  return collective_plan(job.kind, job.payload, shape_of(job, setting), setting.interconnect, job.algorithm,
                         job.protocol, job.width, job.imbalance);
}

std::vector<double> late_arrivals(const CollectiveConditions& conditions, std::uint64_t seed, int job, int ranks) {
  std::vector<double> late(ranks, 0);
  if (conditions.jitter <= Seconds(0)) return late;
  for (int rank = 0; rank < ranks; ++rank) late[rank] = -conditions.jitter.value() * std::log(uniform(seed, job, rank));
  return late;
}

FlowProgram lower_run(const CollectiveRun& run, std::uint64_t seed) {
  FlowProgram program;
  MachinePaths paths(run, seed, program);
  for (int j = 0; j < static_cast<int>(run.jobs.size()); ++j) {
    const auto ranks = static_cast<int>(ranks_of(run.jobs[j], run.setting).size());
    program.jobs.push_back(lower_job(run.jobs[j], run.setting, paths, late_arrivals(run.conditions, seed, j, ranks)));
  }
  for (const auto& message : run.conditions.background)
    program.jobs.push_back(lower_background(message, run.setting, paths));
  for (const auto& failure : run.conditions.failures) program.failures.push_back({failure.time.value(), failure.link});
  return program;
}

void check_run(const CollectiveRun& run) { RunCheck(run).check(); }

}  // namespace stepcast
