#include "models/updates/server_run.hpp"

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "models/updates/flows_at_one_rate.hpp"
#include "models/updates/random_draw.hpp"
#include "models/updates/staleness_count.hpp"
#include "models/updates/update_history.hpp"

namespace stepcast {

namespace {

/// Steps of every worker before anything is measured: what they began with has worn off.
constexpr long kWarmSteps = 10;
/// Of what is measured: enough for a mean within a per cent, few enough for milliseconds.
constexpr double kMeasuredBuckets = 3e5;
constexpr long kLeastMeasured = 8, kMostMeasured = 60;

enum class Event { begin, ready, push, applied, pull, served };

class ServerSimulation {
 public:
  explicit ServerSimulation(const ServerJob& job)
      : job_(job),
        draw_(job.seed),
        buckets_(static_cast<int>(job.step.buckets.size())),
        workers_(static_cast<std::size_t>(job.workers)),
        arrived_(job.step.buckets.size(), 0) {}

  ServerRun run() {
    const double per_step = static_cast<double>(job_.workers) * buckets_;
    const auto measured = std::clamp(static_cast<long>(kMeasuredBuckets / per_step), kLeastMeasured, kMostMeasured);
    // Rounds of several steps count as one gradient.
    warm_ = kWarmSteps * job_.workers;
    enough_ = warm_ + measured * job_.workers;
    for (int w = 0; w < job_.workers; ++w) {
      workers_[at(w)].speed = draw_.factor(job_.worker_spread, at(w), 0);
      begin(w, waits() ? launch(w) : draw_.uniform(at(w), 1) * crowded_round());
    }
    while (useful_ < enough_) turn();
    return result(static_cast<double>(measured));
  }

 private:
  struct Worker {
    double speed = 1;
    long steps = 0;        ///< begun
    long clock = 0;        ///< gradients applied or dropped
    long global_step = 0;  ///< of which it computes a gradient (backup workers)
    long read = 0;         ///< updates in the parameters that it computes with
    int ready = 0, pushed = 0, granted = 0, pulled = 0;
    bool pushing = false, pulling = false, waiting = false;
    int left = 1;  ///< buckets to be pulled when the last one was granted, at `freed`
    Seconds freed, applied, exchange_began;
  };
  struct Timer {
    Seconds time;
    long order = 0;
    Event event = Event::begin;
    int worker = 0, bucket = 0;
    bool operator<(const Timer& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Service {
    int worker = 0, bucket = 0;
    bool push = true;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  /// Whether a driver starts every step anew, for all workers together.
  bool waits() const { return job_.mode == UpdateMode::synchronous || job_.mode == UpdateMode::backup_workers; }
  /// Of a worker while all the others exchange, too. Workers that wait for nobody are anywhere in it: flows that share
  /// ports evenly keep the distances with which they began, and would go in step for ever had they begun together.
  Seconds crowded_round() const {
    const ServerRates rates = server_rates(job_.ports, job_.workers, job_.workers);
    return job_.step.busy() * static_cast<double>(job_.local_steps) +
           job_.step.push() * job_.network_share / rates.push + job_.step.pull() * job_.network_share / rates.pull;
  }
  Seconds launch(int worker) const { return job_.launch_per_worker * (worker + 1.0); }
  const WorkerStep::Bucket& bucket(int b) const { return job_.step.buckets[at(b)]; }

  void after(Seconds delay, Event event, int worker, int b) {
    timers_.push({now_ + delay, order_++, event, worker, b});
  }

  void begin(int w, Seconds start) {
    Worker& worker = workers_[at(w)];
    worker.ready = worker.pushed = worker.granted = worker.pulled = 0;
    const auto occasion = static_cast<std::uint64_t>(++worker.steps) + 1;
    const double factor = worker.speed * draw_.factor(job_.step_spread, at(w), occasion);
    const Seconds before = (job_.step.busy() + job_.step.update) * (factor * (job_.local_steps - 1));
    for (int b = 0; b < buckets_; ++b) after(start + before + bucket(b).ready * factor - now_, Event::ready, w, b);
    if (measuring()) {
      ++begun_;
      most_ahead_ = std::max(most_ahead_, static_cast<double>(worker.clock - slowest()));
    }
  }

  bool measuring() const { return useful_ >= warm_; }

  long slowest() const {
    long clock = workers_.front().clock;
    for (const Worker& worker : workers_) clock = std::min(clock, worker.clock);
    return clock;
  }

  /// To the next instant at which anything happens.
  void turn() {
    const Seconds timer = timers_.empty() ? FlowsAtOneRate::kNever : timers_.top().time - now_;
    const Seconds push = pushes_.next(), pull = pulls_.next();
    const Seconds step = std::max(Seconds(0), std::min({timer, push, pull}));
    if (step >= FlowsAtOneRate::kNever) throw std::logic_error("parameter servers: nothing happens any more");
    if (measuring() && job_.locked_server && !queue_.empty()) server_busy_ += step;
    if (measuring()) server_busy_ += server_use(job_.ports, rates_, pushes_.count(), pulls_.count()) * step;
    now_ += step;
    pushes_.advance(step);
    pulls_.advance(step);
    if (timer <= push && timer <= pull) {
      const Timer next = timers_.top();
      timers_.pop();
      fire(next);
    } else if (push <= pull) {
      const FlowsAtOneRate::Ended flow = pushes_.take();
      pushed(flow.owner, flow.item);
    } else {
      const FlowsAtOneRate::Ended flow = pulls_.take();
      pulled(flow.owner);
    }
    if (pushes_.count() == flowing_pushes_ && pulls_.count() == flowing_pulls_) return;
    flowing_pushes_ = pushes_.count();
    flowing_pulls_ = pulls_.count();
    rates_ = server_rates(job_.ports, flowing_pushes_, flowing_pulls_);
    pushes_.set_rate(rates_.push);
    pulls_.set_rate(rates_.pull);
  }

  void fire(const Timer& timer) {
    switch (timer.event) {
      case Event::begin:
        return begin(timer.worker, now_);
      case Event::ready:
        ++workers_[at(timer.worker)].ready;
        return push_next(timer.worker);
      case Event::push:
        if (job_.locked_server) return serve({timer.worker, timer.bucket, true});
        return pushes_.start(timer.worker, timer.bucket, bucket(timer.bucket).push * job_.network_share);
      case Event::applied:
        return applied(timer.worker, timer.bucket);
      case Event::pull:
        if (job_.locked_server) return serve({timer.worker, timer.bucket, false});
        return pulls_.start(timer.worker, timer.bucket, bucket(timer.bucket).pull * job_.network_share);
      case Event::served:
        return served();
    }
  }

  void serve(const Service& service) {
    queue_.push_back(service);
    if (queue_.size() == 1) begin_service();
  }

  void begin_service() {
    const Service& first = queue_.front();
    const WorkerStep::Bucket& data = bucket(first.bucket);
    // Under the lock nobody writes: what is read now is what it was when its turn came, not when it was asked for.
    if (!first.push && first.bucket + 1 == buckets_) read(first.worker);
    const ServerRates rates = server_rates(job_.ports, first.push ? 1 : 0, first.push ? 0 : 1);
    const Bytes size = first.push ? data.push : data.pull;
    after(size / (first.push ? rates.push : rates.pull), Event::served, first.worker, first.bucket);
  }

  void served() {
    const Service done = queue_.front();
    queue_.pop_front();
    if (!queue_.empty()) begin_service();
    if (done.push) {
      pushed(done.worker, done.bucket);
    } else {
      pulled(done.worker);
    }
  }

  void push_next(int w) {
    Worker& worker = workers_[at(w)];
    if (worker.pushing || worker.pushed >= worker.ready) return;
    worker.pushing = true;
    if (worker.pushed == 0) worker.exchange_began = now_;
    after(job_.message, Event::push, w, worker.pushed);
  }

  void pushed(int w, int b) {
    Worker& worker = workers_[at(w)];
    worker.pushing = false;
    ++worker.pushed;
    server_free_ = std::max(server_free_, now_) + bucket(b).push * job_.update_share / job_.server_update;
    after(server_free_ - now_, Event::applied, w, b);
    push_next(w);
  }

  void applied(int w, int b) {
    Worker& worker = workers_[at(w)];
    const bool last = b + 1 == buckets_;
    if (last) {
      worker.applied = now_;
      ++worker.clock;
    }
    switch (job_.mode) {
      case UpdateMode::asynchronous:
        if (last) count(worker);
        if (!last && job_.pull_after_push) return;
        return grant(w, b + 1);
      case UpdateMode::stale_synchronous:
        if (!last) return;
        count(worker);
        worker.waiting = true;
        return open_gates();
      case UpdateMode::backup_workers:
        if (last) arrive_in_time(w);
        return;
      default:
        return meet(b);
    }
  }

  /// A gradient became part of the parameters, with its last bucket.
  void count(const Worker& worker) {
    const long missed = history_.apply(worker.read);
    if (measuring()) staleness_.add(missed);
    useful();
  }

  void read(int w) { workers_[at(w)].read = history_.updates(); }

  void useful() {
    if (++useful_ == warm_) began_ = now_;
  }

  /// All workers' gradients of a bucket are needed before anybody gets it back.
  void meet(int b) {
    if (++arrived_[at(b)] < job_.workers) return;
    arrived_[at(b)] = 0;
    const bool last = b + 1 == buckets_;
    for (int w = 0; w < job_.workers; ++w) {
      if (last) {
        waited(workers_[at(w)]);
        useful();
      }
      if (last || !job_.pull_after_push) grant(w, b + 1);
    }
  }

  void open_gates() {
    const long behind = slowest();
    for (int w = 0; w < job_.workers; ++w) {
      Worker& worker = workers_[at(w)];
      if (!worker.waiting || worker.clock - behind > job_.staleness_bound) continue;
      worker.waiting = false;
      waited(worker);
      grant(w, buckets_);
    }
  }

  void arrive_in_time(int w) {
    Worker& worker = workers_[at(w)];
    if (worker.global_step < global_step_) {
      if (measuring()) ++dropped_;
      worker.global_step = global_step_;
      return grant(w, buckets_);
    }
    worker.waiting = true;
    if (++in_time_ < job_.workers - job_.backup_workers) return;
    in_time_ = 0;
    ++global_step_;
    for (int v = 0; v < job_.workers; ++v) {
      Worker& other = workers_[at(v)];
      if (!other.waiting) continue;
      other.waiting = false;
      other.global_step = global_step_;
      waited(other);
      useful();
      grant(v, buckets_);
    }
  }

  void waited(const Worker& worker) {
    if (measuring()) barrier_wait_ += now_ - worker.applied;
  }

  void grant(int w, int buckets) {
    Worker& worker = workers_[at(w)];
    worker.granted = buckets;
    if (buckets == buckets_) {
      worker.freed = now_;
      worker.left = buckets_ - worker.pulled;
      // A server answers with the parameters of the moment, however long the answer then waits for its port.
      read(w);
    }
    pull_next(w);
  }

  void pull_next(int w) {
    Worker& worker = workers_[at(w)];
    if (worker.pulling || worker.pulled >= worker.granted) return;
    worker.pulling = true;
    after(job_.message, Event::pull, w, worker.pulled);
  }

  void pulled(int w) {
    Worker& worker = workers_[at(w)];
    worker.pulling = false;
    if (++worker.pulled < buckets_) return pull_next(w);
    if (measuring()) exchange_ += now_ - worker.exchange_began;
    const Seconds start = next_forward(worker) + (waits() ? launch(w) : Seconds(0));
    if (start > now_) {
      after(start - now_, Event::begin, w, 0);
    } else {
      begin(w, start);
    }
  }

  /// When a worker that has pulled everything begins, or has begun, its next forward pass.
  Seconds next_forward(const Worker& worker) const {
    // Sums of gradients have to become parameters first.
    if (job_.workers_update) return now_ + job_.step.update;
    if (!job_.overlap_pull) return now_;
    // With priorities the first layers, whose gradients came last, go before all that was still to be pulled, and run
    // while the rest is on its way.
    const Seconds first_layers = worker.freed + (now_ - worker.freed) / static_cast<double>(worker.left);
    return std::max(first_layers, now_ - job_.step.forward * (1 - 1.0 / buckets_));
  }

  ServerRun result(double measured) {
    const Seconds window = now_ - began_;
    const double steps = std::max(1.0, static_cast<double>(begun_));
    ServerRun out;
    out.step = window / (measured * job_.local_steps);
    out.barrier_wait = barrier_wait_ / (steps * job_.local_steps);
    if (waits()) out.launch_wait = job_.launch_per_worker * ((job_.workers + 1.0) / 2);
    UpdateOutcome& outcome = out.outcome;
    outcome.mode = name_of(job_.mode);
    outcome.workers = job_.workers;
    outcome.servers = job_.servers;
    outcome.sent_per_worker = job_.step.push() * job_.network_share / job_.local_steps;
    outcome.received_per_worker = job_.step.pull() * job_.network_share / job_.local_steps;
    outcome.server_busy = std::min(1.0, server_busy_ / window);
    outcome.dropped_share = static_cast<double>(dropped_) / (static_cast<double>(dropped_) + measured * job_.workers);
    outcome.steps_per_exchange = job_.local_steps;
    outcome.most_ahead = most_ahead_;
    outcome.exchange = exchange_ / steps;
    if (job_.mode == UpdateMode::asynchronous || job_.mode == UpdateMode::stale_synchronous)
      outcome.staleness = staleness_.distribution();
    return out;
  }

  const ServerJob& job_;
  const RandomDraw draw_;
  const int buckets_;
  std::vector<Worker> workers_;
  std::vector<int> arrived_;
  UpdateHistory history_;
  std::priority_queue<Timer> timers_;
  long order_ = 0;
  FlowsAtOneRate pushes_, pulls_;
  ServerRates rates_;
  int flowing_pushes_ = 0, flowing_pulls_ = 0;
  std::deque<Service> queue_;
  Seconds now_, server_free_, began_, barrier_wait_, exchange_, server_busy_;
  long useful_ = 0, warm_ = 0, enough_ = 0, begun_ = 0, dropped_ = 0;
  long global_step_ = 0;
  int in_time_ = 0;
  double most_ahead_ = 0;
  StalenessCount staleness_;
};

}  // namespace

ServerRun run_servers(const ServerJob& job) { return ServerSimulation(job).run(); }

}  // namespace stepcast
