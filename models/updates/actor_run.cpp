#include "models/updates/actor_run.hpp"

#include <algorithm>
#include <cmath>
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
/// Samples at once that are drawn one by one; of more, several go together.
constexpr long kMostDrawnSamples = 4096;
/// Samples of a whole run, and with it the time that it takes: of more, several go together or in turn.
constexpr double kMostSamplesOfRun = 1e6;
/// Steps that the simulation lets actors run ahead, where they are not enough to be further ahead. A looser bound
/// makes the queue of finished samples longer, and the run until it is full, and nothing else.
constexpr long kMostAhead = 200;
/// Samples in turn whose lengths are drawn; the mean of more is as near to theirs as matters.
constexpr int kMostDrawnInTurn = 4;

/// The job in as few samples and steps as tell it.
struct DrawnJob {
  explicit DrawnJob(const ActorJob& job)
      : bound(std::min<long>(job.staleness_bound, std::max(kMostAhead, 2 * (job.slots / job.batch + 1)))),
        warm(kWarmActorSteps + 2 * (bound + 1)) {
    const auto all_slots = static_cast<double>(job.slots), all = static_cast<double>(job.batch);
    double together = std::max(1.0, std::min(all_slots, all) / kMostDrawnSamples);
    const double too_many = all / together * static_cast<double>(warm + kMeasuredSteps) / kMostSamplesOfRun;
    if (too_many > 1 && all > all_slots) in_turn = std::ceil(too_many);
    if (too_many > 1 && all <= all_slots) together *= too_many;
    slots = std::max(1L, static_cast<long>(all_slots / together));
    batch = std::max(1L, static_cast<long>(all / (together * in_turn)));
  }

  long bound;
  long warm;           ///< steps before anything is measured
  double in_turn = 1;  ///< samples that a slot generates as if they were one
  long slots = 1, batch = 1;
};

class ActorSimulation {
 public:
  explicit ActorSimulation(const ActorJob& job)
      : job_(job),
        drawn_(job),
        draw_(job.seed),
        slots_(drawn_.slots),
        batch_(drawn_.batch),
        warm_(drawn_.warm),
        waiting_(slots_) {}

  ActorRun run() {
    begin_samples();
    while (steps_ < warm_ + kMeasuredSteps) turn();
    const Seconds window = now_ - began_;
    ActorRun out;
    out.step = window / static_cast<double>(kMeasuredSteps);
    out.wait = wait_ / static_cast<double>(kMeasuredSteps);
    out.idle = idle_ / (window * static_cast<double>(slots_));
    // Learners that never wait, and actors that do, are as far apart as the bound lets them.
    if (wait_ == Seconds(0) && idle_ > Seconds(0)) staleness_.shift(job_.staleness_bound - drawn_.bound);
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
    return !job_.interruptible && !unfinished_.empty() && unfinished_.begin()->first + drawn_.bound <= steps_;
  }

  /// Of a sample, or of those in turn together, in mean lengths.
  double length(long sample) const {
    const int drawn = job_.spread > 0 ? static_cast<int>(std::min<double>(drawn_.in_turn, kMostDrawnInTurn)) : 1;
    double sum = 0;
    for (int i = 1; i <= drawn; ++i) {
      const double factor =
          draw_.factor(job_.spread, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(i));
      sum += job_.longest > 0 ? std::min(factor, job_.longest) : factor;
    }
    return drawn_.in_turn * sum / drawn;
  }

  void begin_samples() {
    for (; waiting_ > 0 && begun_ < batch_ * (held_ + drawn_.bound + 1); --waiting_) {
      growing_.push({now_ + job_.sample * length(begun_) - interrupted_, begun_, held_});
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
  const DrawnJob drawn_;
  const RandomDraw draw_;
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
