#include "models/updates/actor_run.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <iterator>
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
        samples_of_slot_(static_cast<double>(job.slots) / static_cast<double>(slots_)),
        waiting_(slots_) {}

  ActorRun run() {
    begin_samples();
    while (steps_ < warm_ + kMeasuredSteps) turn();
    const Seconds window = now_ - began_;
    ActorRun out;
    out.step = window / static_cast<double>(kMeasuredSteps);
    out.wait = wait_ / static_cast<double>(kMeasuredSteps);
    out.idle = idle_ / window;
    out.under_way = under_way_ / window;
    out.most_on_a_copy = most_on_a_copy_;
    out.sample = ended_ > 0 ? taken_ / (drawn_.in_turn * static_cast<double>(ended_)) : Seconds(0);
    // Learners that never wait, and actors that do, are as far apart as the bound lets them.
    if (wait_ == Seconds(0) && held_back_) staleness_.shift(job_.staleness_bound - drawn_.bound);
    out.staleness = staleness_.distribution();
    return out;
  }

 private:
  struct Sample {
    double done = 0;  ///< when `progress_` is so far
    long order = 0, version = 0;
    Seconds began;
    bool operator<(const Sample& o) const { return done != o.done ? done > o.done : order > o.order; }
  };

  bool measuring() const { return steps_ >= warm_; }

  /// To the next instant at which a sample, a step or a broadcast ends.
  void turn() {
    Seconds next = kNever;
    if (!growing_.empty()) next = std::min(next, end_of_first());
    if (learning_) next = std::min(next, learned_);
    if (!broadcasts_.empty()) next = std::min(next, broadcasts_.front());
    if (measuring()) measure(next - now_);
    grow(next);
    now_ = next;
    while (!growing_.empty() && growing_.top().done <= progress_) end_sample();
    if (learning_ && learned_ <= now_) end_step();
    while (!broadcasts_.empty() && broadcasts_.front() <= now_) {
      broadcasts_.pop_front();
      ++held_;
      if (job_.interruptible) paused_until_ = resumed() + job_.interruption * on_a_copy();
    }
    if (!learning_ && static_cast<long>(ready_.size()) >= batch_ && !overdue()) begin_step();
    begin_samples();
  }

  void measure(Seconds span) {
    under_way_ += span * samples_under_way();
    idle_ += span * (1 - std::min(1.0, samples_under_way() / static_cast<double>(job_.copies)));
    held_back_ = held_back_ || (waiting_ > 0 && span > Seconds(0));
    if (!learning_) wait_ += span;
  }

  double samples_under_way() const { return samples_of_slot_ * static_cast<double>(growing_.size()); }

  /// Samples under way on a copy that has any.
  double on_a_copy() const {
    return growing_.empty() ? 0 : std::max(1.0, samples_under_way() / static_cast<double>(job_.copies));
  }

  /// Of a mean sample while as many as now are under way.
  Seconds sample_time() const {
    const double count = on_a_copy();
    const auto above = std::lower_bound(job_.sample.begin(), job_.sample.end(), count,
                                        [](const SampleTime& point, double k) { return point.under_way < k; });
    if (above == job_.sample.end()) return job_.sample.back().time;
    if (above == job_.sample.begin()) return above->time;
    const SampleTime& below = *std::prev(above);
    const double between = (count - below.under_way) / (above->under_way - below.under_way);
    return below.time + between * (above->time - below.time);
  }

  /// When copies go on that compute keys and values anew; now, if they do not.
  Seconds resumed() const { return std::max(now_, paused_until_); }

  /// All samples under way go on at the same pace, so the first to end stays the first.
  Seconds end_of_first() const { return resumed() + (growing_.top().done - progress_) * sample_time(); }

  /// What all samples under way get done until then, in mean samples.
  void grow(Seconds until) {
    if (growing_.empty()) return;
    // Exactly, so that samples of one length that began together end together, and one whose rest is too short to move
    // the clock ends at all.
    if (until >= end_of_first()) {
      progress_ = growing_.top().done;
    } else if (until > resumed()) {
      progress_ += (until - resumed()) / sample_time();
    }
  }

  void end_sample() {
    const Sample& sample = growing_.top();
    ready_.push(job_.interruptible ? held_ : sample.version);
    if (--unfinished_[sample.version] == 0) unfinished_.erase(sample.version);
    if (measuring()) {
      taken_ += now_ - sample.began;
      ++ended_;
    }
    growing_.pop();
    ++waiting_;
  }

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
      growing_.push({progress_ + length(begun_), begun_, held_, now_});
      ++unfinished_[held_];
      ++begun_;
    }
    most_on_a_copy_ = std::max(most_on_a_copy_, on_a_copy());
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
  const double samples_of_slot_;  ///< that go together
  std::priority_queue<Sample> growing_;
  std::priority_queue<long, std::vector<long>, std::greater<>> ready_;  ///< versions of finished samples, oldest first
  std::map<long, long> unfinished_;                                     ///< samples being generated, by version
  std::deque<Seconds> broadcasts_;                                      ///< when each on its way ends
  bool learning_ = false, held_back_ = false;
  Seconds now_, learned_, began_, wait_, taken_;
  Seconds idle_;          ///< of a copy
  Seconds under_way_;     ///< times samples
  Seconds paused_until_;  ///< copies compute keys and values anew
  double most_on_a_copy_ = 0;
  double progress_ = 0;  ///< of a sample that has been under way from the beginning, in mean samples
  long waiting_, begun_ = 0, steps_ = 0, held_ = 0, ended_ = 0;
  StalenessCount staleness_;
};

}  // namespace

ActorRun run_actors(const ActorJob& job) {
  ActorRun best = ActorSimulation(job).run();
  const double most = best.most_on_a_copy;
  // What begins slows down the old samples that a step may wait for: fewer at once can be faster.
  for (auto point = job.sample.rbegin(); point != job.sample.rend(); ++point) {
    if (point->under_way >= most) continue;
    ActorJob fewer = job;
    fewer.slots = static_cast<long>(point->under_way * static_cast<double>(job.copies));
    // Full copies are no faster than this, where no sample is cut off, and ever fewer at once no faster than these.
    const Seconds least = static_cast<double>(job.batch) / static_cast<double>(fewer.slots) * point->time;
    if (job.longest <= 0 && least >= best.step) break;
    if (const ActorRun run = ActorSimulation(fewer).run(); run.step < best.step) best = run;
  }
  return best;
}

}  // namespace stepcast
