// Messages on links: alone on the queue of instants, or with the shared flows from the moment that two meet.
#include <algorithm>
#include <cmath>

#include "sim/collective/executor.hpp"

namespace stepcast {

namespace {

using Kind = InstantQueue::Kind;

}  // namespace

void CollectiveExecutor::begin_message(int number, double now, double latency) {
  LaneState& lane = lanes_[number];
  if (!lane.always_alone) return queue_.push(now + latency, {InstantQueue::id_of(number), lane.generation, Kind::lane});
  ++flows_;
  queue_.push(now + latency + lane.seconds, {InstantQueue::id_of(number), lane.generation, Kind::end});
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
  queue_.push(now + seconds, {InstantQueue::id_of(number), lane.generation, Kind::end});
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

}  // namespace stepcast
