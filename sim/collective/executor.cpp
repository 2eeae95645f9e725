#include "sim/collective/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast {

namespace {

using Kind = InstantQueue::Kind;

/// Ranks that an error names.
constexpr int kMostNamed = 5;
/// Marks a link that several lanes use.
constexpr int kSeveral = -2;

constexpr std::uint32_t id(int index) { return static_cast<std::uint32_t>(index); }

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
    queue_.push(program.failures[f].time, {id(static_cast<int>(f)), 0, Kind::failure});
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    queue_.push(program.jobs[ranks_[r].job].begin[ranks_[r].place], {id(static_cast<int>(r)), 0, Kind::begin});
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
      return queue_.push(now + next.latency / speed(state), {id(rank), 0, Kind::begin});
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
  queue_.push(now + phase.phase->latency / stream.speed, {id(number), 0, Kind::stream});
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
    const int which = phase.phase->crosses[lane - phase.first_lane];
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

// Messages on links.

void CollectiveExecutor::begin_message(int number, double now, double latency) {
  LaneState& lane = lanes_[number];
  if (!lane.always_alone) return queue_.push(now + latency, {id(number), lane.generation, Kind::lane});
  ++flows_;
  queue_.push(now + latency + lane.seconds, {id(number), lane.generation, Kind::end});
}

void CollectiveExecutor::start_flow(int number, double now, double bytes) {
  LaneState& lane = lanes_[number];
  lane.path = path_now_[lane.path];
  if (lane.path < 0) throw std::runtime_error("a failed link leaves no way for a message");
  lane.live = true;
  const ProgramPath& path = program_.paths[lane.path];
  const bool takes_time = bytes > 0 && std::isfinite(rates_alone_[lane.path]);
  const bool shares = takes_time && (share_all_ || std::any_of(path.links.begin(), path.links.end(),
                                                               [&](int link) { return links_[link].flows > 0; }));
  for (const int index : path.links) {
    LinkState& link = links_[index];
    if (shares && link.lone >= 0) {
      const int other = link.lone;
      share(other, take_off_queue(other, now));
    }
    if (link.flows++ == 0) link.since = now;
  }
  if (shares) {
    share(number, bytes);
  } else {
    put_on_queue(number, now, bytes);
  }
}

void CollectiveExecutor::put_on_queue(int number, double now, double bytes) {
  LaneState& lane = lanes_[number];
  const double rate = rates_alone_[lane.path];
  lane.began = now;
  lane.left = bytes;
  lane.shared = false;
  for (const int link : program_.paths[lane.path].links) {
    links_[link].lone = number;
    note_rate(link, rate);
  }
  const double seconds = std::isfinite(rate) ? bytes / rate : 0;
  queue_.push(now + seconds, {id(number), lane.generation, Kind::end});
}

void CollectiveExecutor::share(int number, double bytes) {
  if (!shared_) throw MessagesMeet();
  LaneState& lane = lanes_[number];
  lane.shared = true;
  ++shared_flows_;
  shared_->start(number, lane.path, bytes);
}

double CollectiveExecutor::take_off_queue(int number, double now) {
  LaneState& lane = lanes_[number];
  ++lane.generation;
  for (const int link : program_.paths[lane.path].links) links_[link].lone = -1;
  return std::max(0.0, lane.left - (now - lane.began) * rates_alone_[lane.path]);
}

void CollectiveExecutor::leave_links(int number, double now) {
  const LaneState& lane = lanes_[number];
  for (const int index : program_.paths[lane.path].links) {
    LinkState& link = links_[index];
    if (link.lone == number) link.lone = -1;
    if (--link.flows == 0) link.use.busy += now - link.since;
  }
}

void CollectiveExecutor::shared_ended(int lane, double now) { flow_ended(lane, now); }

void CollectiveExecutor::flow_ended(int number, double now) {
  LaneState& lane = lanes_[number];
  if (!lane.always_alone) {
    leave_links(number, now);
    lane.live = lane.shared = false;
  }
  message_came(number, now);
  message_left(number, now);
}

void CollectiveExecutor::note_rate(int link, double rate) {
  double& peak = links_[link].use.peak;
  peak = std::max(peak, rate);
}

void CollectiveExecutor::account(int number, double messages) {
  const LaneState& lane = lanes_[number];
  for (const int index : program_.paths[lane.path].links) {
    ProgramLinkUse& use = links_[index].use;
    use.bytes += messages * lane.bytes;
    use.payload += messages * lane.payload;
  }
}

void CollectiveExecutor::fail(const ProgramFailure& failure, double now) {
  const auto crosses = [&](int path) {
    const auto& links = program_.paths[path].links;
    return std::find(links.begin(), links.end(), failure.link) != links.end();
  };
  for (int& path : path_now_)
    while (path >= 0 && crosses(path)) path = program_.paths[path].detour;
  for (int number = 0; number < static_cast<int>(lanes_.size()); ++number) {
    LaneState& lane = lanes_[number];
    if (!crosses(lane.path)) continue;
    account(number, static_cast<double>(lane.delivered - lane.accounted));
    lane.accounted = lane.delivered;
    if (!lane.live) continue;
    const double left = lane.shared ? shared_->cancel(number) : take_off_queue(number, now);
    const double sent = lane.bytes > 0 ? 1 - left / lane.bytes : 0;
    leave_links(number, now);
    account(number, sent);
    start_flow(number, now, left);
    account(number, -sent);
  }
}

// What came of it.

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
