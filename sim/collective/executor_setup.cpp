// What the executor works out before the first event: ranks, lanes, streams and windows of the program, and which lanes
// can never meet a message.
#include <algorithm>
#include <limits>

#include "sim/collective/executor.hpp"

namespace stepcast {

namespace {

using Kind = InstantQueue::Kind;

/// Marks a link that several lanes use.
constexpr int kSeveral = -2;

/// What a flow reaches that is alone on a path's links; infinite when nothing limits it.
double rate_alone_on(const ProgramPath& path, const FlowProgram& program) {
  double rate = path.rate_limit > 0 ? path.rate_limit : std::numeric_limits<double>::infinity();
  for (const int link : path.links) rate = std::min(rate, program.links[link]);
  return rate;
}

}  // namespace

CollectiveExecutor::CollectiveExecutor(const FlowProgram& program, SharedFlows* shared, bool share_all)
    : program_(program), shared_(shared), share_all_(share_all) {
  for (const double bandwidth : program.links) links_.push_back({bandwidth});
  for (const ProgramPath& path : program.paths) {
    path_now_.push_back(static_cast<int>(path_now_.size()));
    rates_alone_.push_back(rate_alone_on(path, program));
  }
  path_shares_.resize(program.paths.size());
  number_ranks_and_lanes();
  find_lonely_lanes();
  for (std::size_t f = 0; f < program.failures.size(); ++f)
    queue_.push(program.failures[f].time, {InstantQueue::id_of(static_cast<int>(f)), 0, Kind::failure});
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    queue_.push(program.jobs[ranks_[r].job].begin[ranks_[r].place],
                {InstantQueue::id_of(static_cast<int>(r)), 0, Kind::begin});
}

void CollectiveExecutor::number_ranks_and_lanes() {
  for (int j = 0; j < static_cast<int>(program_.jobs.size()); ++j) {
    const ProgramJob& job = program_.jobs[j];
    const auto first_rank = static_cast<int>(ranks_.size());
    for (int place = 0; place < job.ranks; ++place) ranks_.push_back({j, place});
    first_phase_.push_back(static_cast<int>(phases_.size()));
    for (const ProgramPhase& phase : job.phases) {
      const auto number = static_cast<int>(phases_.size());
      phases_.push_back({&phase, j, first_rank, static_cast<int>(lanes_.size())});
      for (const Lane& lane : phase.lanes) {
        const double rate = rates_alone_[lane.path];
        LaneState state{lane.path,    first_rank + lane.sender, first_rank + lane.receiver, number, lane.bytes,
                        lane.payload, lane.bytes / rate};
        lanes_.push_back(state);
      }
      index_receivers(phases_.back());
      if (phase.kind == ProgramKind::streamed) make_streams(phases_.back(), number);
      if (phase.kind == ProgramKind::windowed) make_windows(phases_.back());
    }
  }
  first_phase_.push_back(static_cast<int>(phases_.size()));
  stream_of_rank_.resize(ranks_.size());
}

void CollectiveExecutor::index_receivers(PhaseState& state) {
  const ProgramPhase& phase = *state.phase;
  const int ranks = program_.jobs[state.job].ranks;
  std::vector<int>& first = state.first_in;
  first.assign(static_cast<std::size_t>(phase.columns) * ranks + 1, 0);
  const auto slot = [&](int column, int lane) { return column * ranks + phase.lanes[lane].receiver; };
  const auto each_lane = [&](auto visit) {
    for (int column = 0; column < phase.columns; ++column)
      for (int lane = phase.first_lane[column * ranks]; lane < phase.first_lane[(column + 1) * ranks]; ++lane)
        visit(column, lane);
  };
  each_lane([&](int column, int lane) { ++first[slot(column, lane) + 1]; });
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  state.in_lanes.resize(phase.lanes.size());
  std::vector<int> next(first.begin(), first.end() - 1);
  each_lane([&](int column, int lane) { state.in_lanes[next[slot(column, lane)]++] = state.first_lane + lane; });
  std::vector<int> used(phase.columns, 0);
  for (const int column : phase.column_of_step) state.messages_by.push_back(++used[column]);
}

void CollectiveExecutor::make_streams(PhaseState& state, int phase) {
  const ProgramJob& job = program_.jobs[state.job];
  state.first_stream = static_cast<int>(streams_.size());
  const auto& instance = state.phase->instance;
  const int count = instance.empty() ? 1 : *std::max_element(instance.begin(), instance.end()) + 1;
  const auto stream_of = [&](int place) -> Stream& {
    return streams_[state.first_stream + (instance.empty() ? 0 : instance[place])];
  };
  streams_.resize(streams_.size() + count, Stream{phase, {}, {}});
  for (int place = 0; place < job.ranks; ++place) {
    Stream& stream = stream_of(place);
    stream.ranks.push_back(state.first_rank + place);
    stream.speed = std::min(stream.speed, speed(ranks_[state.first_rank + place]));
  }
  for (std::size_t l = 0; l < state.phase->lanes.size(); ++l)
    stream_of(state.phase->lanes[l].sender).lanes.push_back(state.first_lane + static_cast<int>(l));
}

void CollectiveExecutor::make_windows(PhaseState& state) {
  const int ranks = program_.jobs[state.job].ranks;
  state.missing.assign(ranks, 0);
  for (const Lane& lane : state.phase->lanes) ++state.missing[lane.receiver];
  for (auto& next : state.next) next.assign(state.phase->first_lane.begin(), state.phase->first_lane.begin() + ranks);
  for (auto& in_flight : state.in_flight) in_flight.assign(ranks, 0);
}

/// A lane whose links no other lane uses can never meet a message, so its latency and its bytes are one event.
void CollectiveExecutor::find_lonely_lanes() {
  std::vector<int> user(links_.size(), -1);
  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane)
    for (int path = lanes_[lane].path; path >= 0; path = program_.paths[path].detour)
      for (const int link : program_.paths[path].links)
        user[link] = user[link] == -1 || user[link] == lane ? lane : kSeveral;
  const bool all_may_meet = share_all_ || !program_.failures.empty();
  for (LaneState& lane : lanes_) {
    const auto& links = program_.paths[lane.path].links;
    lane.always_alone =
        !all_may_meet && std::none_of(links.begin(), links.end(), [&](int link) { return user[link] == kSeveral; });
    if (lane.always_alone) continue;
    for (int path = lane.path; path >= 0; path = program_.paths[path].detour) path_shares_[path] = 1;
  }
}

}  // namespace stepcast
