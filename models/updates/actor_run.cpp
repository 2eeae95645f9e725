#include "models/updates/actor_run.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "models/updates/random_draw.hpp"
#include "models/updates/staleness_count.hpp"

namespace stepcast {

namespace {

/// Steps before anything is measured, beside those that the bound lets actors run ahead.
constexpr long kWarmActorSteps = 5;
constexpr long kMeasuredSteps = 40;
/// Samples drawn one by one; of more, several go together.
constexpr long kMostDrawnSamples = 4096;

class ActorSimulation {
 public:
  explicit ActorSimulation(const ActorJob& job)
      : job_(job),
        draw_(job.seed),
        together_(std::max(1.0, static_cast<double>(std::min(job.slots, job.batch)) / kMostDrawnSamples)),
        slots_(std::max(1L, static_cast<long>(static_cast<double>(job.slots) / together_))),
        batch_(std::max(1L, static_cast<long>(static_cast<double>(job.batch) / together_))),
        warm_(kWarmActorSteps + 2 * (job.staleness_bound + 1L)),
        waiting_(slots_) {}

  ActorRun run() {
    begin_samples();
    while (steps_ < warm_ + kMeasuredSteps) turn();
    const Seconds window = now_ - began_;
    ActorRun out;
    out.step = window / static_cast<double>(kMeasuredSteps);
    out.wait = wait_ / static_cast<double>(kMeasuredSteps);
    out.idle = idle_ / (window * static_cast<double>(slots_));
    out.staleness = staleness_.distribution();
    return out;
  }

 private:
  struct Sample {
    Seconds done;  ///< without the interruptions since it began
    long order = 0, version = 0;
    bool operator<(const Sample& o) const { return done != o.done ? done > o.done : order > o.order; }
  };

  bool measuring() const { return steps_ >= warm_; }

  /// To the next instant at which a sample, a step or a broadcast ends.
  void turn() {
    Seconds next = kNever;
    if (!growing_.empty()) next = std::min(next, end_of_first());
    if (learning_) next = std::min(next, learned_);
    if (!broadcasts_.empty()) next = std::min(next, broadcasts_.front());
    if (measuring()) {
      idle_ += (next - now_) * static_cast<double>(waiting_);
      if (!learning_) wait_ += next - now_;
    }
    now_ = next;
    while (!growing_.empty() && end_of_first() <= now_) {
      const long version = growing_.top().version;
      ready_.push(job_.interruptible ? held_ : version);
      if (--unfinished_[version] == 0) unfinished_.erase(version);
      growing_.pop();
      ++waiting_;
    }
    if (learning_ && learned_ <= now_) end_step();
    while (!broadcasts_.empty() && broadcasts_.front() <= now_) {
      broadcasts_.pop_front();
      ++held_;
      if (job_.interruptible) interrupted_ += job_.interruption;
    }
    if (!learning_ && static_cast<long>(ready_.size()) >= batch_ && !overdue()) begin_step();
    begin_samples();
  }

  /// All samples under way are held up alike, so the first to end stays the first.
  Seconds end_of_first() const { return growing_.top().done + interrupted_; }

  /// A sample that no later step may learn is not finished. One that takes new weights can be learned later.
  bool overdue() const {
    return !job_.interruptible && !unfinished_.empty() && unfinished_.begin()->first + job_.staleness_bound <= steps_;
  }

  void begin_samples() {
    for (; waiting_ > 0 && begun_ < batch_ * (held_ + job_.staleness_bound + 1); --waiting_) {
      double factor = draw_.factor(job_.spread, static_cast<std::uint64_t>(begun_), 1);
      if (job_.longest > 0) factor = std::min(factor, job_.longest);
      growing_.push({now_ + job_.sample * factor - interrupted_, begun_, held_});
      ++unfinished_[held_];
      ++begun_;
    }
  }

  void begin_step() {
    learning_ = true;
    learned_ = now_ + job_.learn;
    for (long i = 0; i < batch_; ++i) {
      if (measuring()) staleness_.add(steps_ - ready_.top());
      ready_.pop();
    }
  }

  void end_step() {
    learning_ = false;
    if (++steps_ == warm_) began_ = now_;
    broadcasts_.push_back(now_ + job_.broadcast);
  }

  static constexpr Seconds kNever{1e300};
  const ActorJob& job_;
  const RandomDraw draw_;
  const double together_;
  const long slots_, batch_, warm_;
  std::priority_queue<Sample> growing_;
  std::priority_queue<long, std::vector<long>, std::greater<>> ready_;  ///< versions of finished samples, oldest first
  std::map<long, long> unfinished_;                                     ///< samples being generated, by version
  std::deque<Seconds> broadcasts_;                                      ///< when each on its way ends
  bool learning_ = false;
  Seconds now_, learned_, began_, wait_, idle_;
  Seconds interrupted_;  ///< sum of the interruptions so far
  long waiting_, begun_ = 0, steps_ = 0, held_ = 0;
  StalenessCount staleness_;
};

}  // namespace

ActorRun run_actors(const ActorJob& job) { return ActorSimulation(job).run(); }

}  // namespace stepcast
