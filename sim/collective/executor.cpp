#include "sim/collective/executor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace stepcast {

namespace {

using Kind = InstantQueue::Kind;

/// Ranks that an error names.
constexpr int kMostNamed = 5;

}  // namespace

// Events. What ends comes before what begins at the same instant, so that a message that takes over a link from
// another one is not taken for one that meets it.

void CollectiveExecutor::run_due(double now) {
  const double latest = now + kSameInstant;
  beginning_.clear();
  while (true) {
    while (!queue_.empty() && queue_.next_time() <= latest) {
      queue_.pop(due_);
      for (const InstantQueue::Event event : due_) {
        if (event.kind == Kind::end) {
          if (lanes_[event.id].generation == event.generation) flow_ended(static_cast<int>(event.id), now);
        } else {
          beginning_.push_back(event);
        }
      }
    }
    if (beginning_.empty()) return;
    std::vector<InstantQueue::Event> beginning;
    beginning.swap(beginning_);
    for (const InstantQueue::Event event : beginning) handle(event, now);
    beginning.clear();
    beginning_.swap(beginning);
  }
}

void CollectiveExecutor::handle(InstantQueue::Event event, double now) {
  const auto index = static_cast<int>(event.id);
  switch (event.kind) {
    case Kind::end:
      break;
    case Kind::begin:
      if (ranks_[index].phase < 0) return enter(index, first_phase_[ranks_[index].job], now);
      fill_window(index, 0, now);
      return fill_window(index, 1, now);
    case Kind::lane:
      ++flows_;
      return start_flow(index, now, lanes_[index].bytes);
    case Kind::stream:
      return begin_stream(index, now);
    case Kind::failure:
      return fail(program_.failures[index], now);
  }
}

void CollectiveExecutor::enter(int rank, int phase, double now) {
  RankState& state = ranks_[rank];
  state.phase = phase;
  state.step = 0;
  if (phase == first_phase_[state.job + 1]) {
    state.done = true;
    state.end = now;
    return;
  }
  const ProgramPhase& next = *phases_[phase].phase;
  switch (next.kind) {
    case ProgramKind::stepwise:
      if (next.steps == 0) return enter(rank, phase + 1, now);
      start_step(rank, now);
      return go_on(rank, now);
    case ProgramKind::streamed:
      return arrive(rank, now);
    case ProgramKind::windowed:
      state.open = next.first_lane[state.place + 1] - next.first_lane[state.place];
      state.waiting = true;
      if (state.open == 0 && phases_[phase].missing[state.place] == 0) return enter(rank, phase + 1, now);
      return queue_.push(now + next.latency / speed(state), {InstantQueue::id_of(rank), 0, Kind::begin});
  }
}

void CollectiveExecutor::start_step(int rank, double now) {
  RankState& state = ranks_[rank];
  const PhaseState& phase = phases_[state.phase];
  const ProgramPhase& steps = *phase.phase;
  const int slot = column(steps, state.step) * program_.jobs[state.job].ranks + state.place;
  const double latency = steps.latency / speed(state);
  const int first = phase.first_lane + steps.first_lane[slot];
  const int last = phase.first_lane + steps.first_lane[slot + 1];
  state.open = last - first;
  for (int lane = first; lane < last; ++lane) begin_message(lane, now, latency);
}

void CollectiveExecutor::go_on(int rank, double now) {
  RankState& state = ranks_[rank];
  while (state.open == 0) {
    const PhaseState& phase = phases_[state.phase];
    state.waiting = !received(phase, state.place, state.step);
    if (state.waiting) return;
    if (++state.step == phase.phase->steps) return enter(rank, state.phase + 1, now);
    start_step(rank, now);
  }
}

bool CollectiveExecutor::received(const PhaseState& state, int place, int step) const {
  const ProgramPhase& phase = *state.phase;
  const int wanted = phase.column_of_step.empty() ? step + 1 : state.messages_by[step];
  const int slot = column(phase, step) * program_.jobs[state.job].ranks + place;
  for (int i = state.first_in[slot]; i < state.first_in[slot + 1]; ++i)
    if (lanes_[state.in_lanes[i]].delivered < wanted) return false;
  return true;
}

void CollectiveExecutor::arrive(int rank, double now) {
  const RankState& state = ranks_[rank];
  const PhaseState& phase = phases_[state.phase];
  const auto& instance = phase.phase->instance;
  const int number = phase.first_stream + (instance.empty() ? 0 : instance[state.place]);
  Stream& stream = streams_[number];
  if (++stream.arrived < static_cast<int>(stream.ranks.size())) return;
  queue_.push(now + phase.phase->latency / stream.speed, {InstantQueue::id_of(number), 0, Kind::stream});
}

void CollectiveExecutor::begin_stream(int number, double now) {
  Stream& stream = streams_[number];
  stream.open = static_cast<int>(stream.lanes.size());
  for (const int lane : stream.lanes) begin_message(lane, now, 0);
  if (stream.open == 0)
    for (const int rank : stream.ranks) enter(rank, stream.phase + 1, now);
}

void CollectiveExecutor::fill_window(int rank, int which, double now) {
  const RankState& state = ranks_[rank];
  PhaseState& phase = phases_[state.phase];
  const ProgramPhase& direct = *phase.phase;
  int& next = phase.next[which][state.place];
  int& in_flight = phase.in_flight[which][state.place];
  for (; next < direct.first_lane[state.place + 1] && in_flight < direct.window; ++next) {
    if (direct.crosses[next] != which) continue;
    ++in_flight;
    begin_message(phase.first_lane + next, now, 0);
  }
}

void CollectiveExecutor::message_left(int lane, double now) {
  const LaneState& message = lanes_[lane];
  const PhaseState& phase = phases_[message.phase];
  if (phase.phase->kind == ProgramKind::streamed) {
    const auto& instance = phase.phase->instance;
    const int place = ranks_[message.sender].place;
    Stream& stream = streams_[phase.first_stream + (instance.empty() ? 0 : instance[place])];
    if (--stream.open > 0) return;
    for (const int rank : stream.ranks) enter(rank, message.phase + 1, now);
    return;
  }
  RankState& sender = ranks_[message.sender];
  --sender.open;
  if (phase.phase->kind == ProgramKind::stepwise) {
    go_on(message.sender, now);
  } else {
    const int which = phase.phase->crosses[lane - phase.first_lane] != 0 ? 1 : 0;
    --phases_[message.phase].in_flight[which][sender.place];
    fill_window(message.sender, which, now);
    if (sender.open == 0 && phase.missing[sender.place] == 0) enter(message.sender, message.phase + 1, now);
  }
}

void CollectiveExecutor::message_came(int lane, double now) {
  LaneState& message = lanes_[lane];
  ++message.delivered;
  const RankState& receiver = ranks_[message.receiver];
  PhaseState& phase = phases_[message.phase];
  switch (phase.phase->kind) {
    case ProgramKind::stepwise:
      if (receiver.waiting && receiver.phase == message.phase) go_on(message.receiver, now);
      break;
    case ProgramKind::streamed:
      break;
    case ProgramKind::windowed:
      if (--phase.missing[receiver.place] == 0 && receiver.open == 0 && receiver.phase == message.phase)
        enter(message.receiver, message.phase + 1, now);
      break;
  }
}

std::string CollectiveExecutor::unfinished() const {
  const auto left = std::count_if(ranks_.begin(), ranks_.end(), [](const RankState& rank) { return !rank.done; });
  if (left == 0) return {};
  std::string text = fmt::format("collectives: {} of {} ranks never ended:", left, ranks_.size());
  int listed = 0;
  for (const RankState& rank : ranks_) {
    if (rank.done || ++listed > kMostNamed) continue;
    text += fmt::format("\n  rank {} of job {}, in phase {} step {}", rank.place, rank.job,
                        rank.phase - first_phase_[rank.job], rank.step);
  }
  return text;
}

ProgramResult CollectiveExecutor::result() const {
  if (const std::string text = unfinished(); !text.empty()) throw std::runtime_error(text);
  ProgramResult out;
  out.flows = flows_;
  out.shared_flows = shared_flows_;
  out.rank_ends.resize(program_.jobs.size());
  for (const RankState& rank : ranks_) {
    out.rank_ends[rank.job].push_back(rank.end);
    out.end = std::max(out.end, rank.end);
  }
  out.links.reserve(links_.size());
  for (const LinkState& link : links_) out.links.push_back(link.use);
  for (const LaneState& lane : lanes_) {
    const auto messages = static_cast<double>(lane.delivered - lane.accounted);
    for (const int link : program_.paths[lane.path].links) {
      ProgramLinkUse& use = out.links[link];
      use.bytes += messages * lane.bytes;
      use.payload += messages * lane.payload;
      if (!lane.always_alone || lane.delivered == 0) continue;
      use.busy += static_cast<double>(lane.delivered) * lane.seconds;
      use.peak = std::max(use.peak, rates_alone_[lane.path]);
    }
  }
  return out;
}

ProgramResult execute_alone(const FlowProgram& program) {
  CollectiveExecutor executor(program);
  while (!executor.idle()) executor.run_due(executor.next_time());
  return executor.result();
}

}  // namespace stepcast
