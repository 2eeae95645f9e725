#include "sim/collective/flow_program.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

namespace stepcast {

namespace {

/// As the engine has it: beyond it a double no longer counts single bytes.
constexpr double kMostBytes = 9007199254740992.0;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw std::invalid_argument("flow program: " + fmt::format(text, std::forward<Args>(args)...));
}

void check_time(double seconds, std::string_view what) {
  if (!std::isfinite(seconds) || seconds < 0) refuse("{} of {} s", what, seconds);
}

void check_paths(const FlowProgram& program) {
  const auto links = static_cast<int>(program.links.size());
  const auto paths = static_cast<int>(program.paths.size());
  for (int p = 0; p < paths; ++p) {
    const ProgramPath& path = program.paths[p];
    for (const int link : path.links)
      if (link < 0 || link >= links) refuse("path {}: there is no link {}", p, link);
    if (!std::isfinite(path.weight) || path.weight <= 0) refuse("path {}: weight {}", p, path.weight);
    if (!std::isfinite(path.rate_limit) || path.rate_limit < 0) refuse("path {}: limit {} B/s", p, path.rate_limit);
    // Detours come after what they replace, so that following them ends.
    if (path.detour != -1 && (path.detour <= p || path.detour >= paths)) refuse("path {}: detour {}", p, path.detour);
  }
}

void check_lanes(const ProgramPhase& phase, int ranks, int paths) {
  if (phase.first_lane.size() != static_cast<std::size_t>(phase.columns) * ranks + 1)
    refuse("{} starts of lanes for {} columns of {} ranks", phase.first_lane.size(), phase.columns, ranks);
  int before = 0;
  for (const int first : phase.first_lane) {
    if (first < before || first > static_cast<int>(phase.lanes.size())) refuse("lanes that start at {}", first);
    before = first;
  }
  if (phase.first_lane.front() != 0 || before != static_cast<int>(phase.lanes.size())) refuse("lanes of no rank");
  for (const Lane& lane : phase.lanes) {
    if (lane.path < 0 || lane.path >= paths) refuse("there is no path {}", lane.path);
    if (lane.sender < 0 || lane.sender >= ranks || lane.receiver < 0 || lane.receiver >= ranks)
      refuse("a message from rank {} to rank {} of {}", lane.sender, lane.receiver, ranks);
    for (const double bytes : {lane.bytes, lane.payload})
      if (!(bytes >= 0 && bytes <= kMostBytes)) refuse("a message of {} bytes, expected 0 to 2^53", bytes);
  }
}

void check_phase(const ProgramPhase& phase, int ranks, int paths) {
  check_time(phase.latency, "latency");
  if (phase.steps < 0 || phase.columns < 1) refuse("{} steps, {} columns", phase.steps, phase.columns);
  if (phase.kind != ProgramKind::stepwise && phase.columns != 1) refuse("columns without steps");
  check_lanes(phase, ranks, paths);
  if (!phase.column_of_step.empty() && phase.column_of_step.size() != static_cast<std::size_t>(phase.steps))
    refuse("columns of {} steps, expected {}", phase.column_of_step.size(), phase.steps);
  for (const int column : phase.column_of_step)
    if (column < 0 || column >= phase.columns) refuse("there is no column {}", column);
  if (!phase.instance.empty() && phase.instance.size() != static_cast<std::size_t>(ranks))
    refuse("instances of {} ranks, expected {}", phase.instance.size(), ranks);
  for (const int instance : phase.instance)
    if (instance < 0 || instance >= ranks) refuse("there is no instance {}", instance);
  if (phase.kind == ProgramKind::windowed && (phase.window < 1 || phase.crosses.size() != phase.lanes.size()))
    refuse("a window of {} for {} lanes, {} marked", phase.window, phase.lanes.size(), phase.crosses.size());
}

void check_job(const ProgramJob& job, int paths) {
  const auto ranks = static_cast<std::size_t>(job.ranks);
  if (job.ranks < 1) refuse("a job of {} ranks", job.ranks);
  if (job.begin.size() != ranks) refuse("{} beginnings of {} ranks", job.begin.size(), job.ranks);
  for (const double begin : job.begin) check_time(begin, "beginning");
  if (!job.speed.empty() && job.speed.size() != ranks) refuse("{} speeds of {} ranks", job.speed.size(), job.ranks);
  for (const double speed : job.speed)
    if (!std::isfinite(speed) || speed <= 0) refuse("speed {}", speed);
  for (const ProgramPhase& phase : job.phases) check_phase(phase, job.ranks, paths);
}

}  // namespace

void check_program(const FlowProgram& program) {
  for (std::size_t l = 0; l < program.links.size(); ++l)
    if (!std::isfinite(program.links[l]) || program.links[l] <= 0)
      refuse("link {}: bandwidth {} B/s, expected a positive number", l, program.links[l]);
  check_paths(program);
  for (const ProgramJob& job : program.jobs) check_job(job, static_cast<int>(program.paths.size()));
  for (const ProgramFailure& failure : program.failures) {
    check_time(failure.time, "failure");
    if (failure.link < 0 || failure.link >= static_cast<int>(program.links.size()))
      refuse("there is no link {}", failure.link);
  }
}

}  // namespace stepcast
