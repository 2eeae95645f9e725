#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "fields/splitmix64.hpp"
#include "models/reliability/goodput.hpp"

namespace stepcast {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
/// A run that is interrupted so often says what there is to say of its goodput.
constexpr int kMostInterruptions = 20000;

/// Where nodes turn slow so often in a run, it trains at the mean of both speeds rather than spell by spell.
constexpr double kManyTurns = 1e5;

/// The same numbers on every machine.
class Random {
 public:
  Random(std::uint64_t seed, int trial) : state_(seed * kSplitMix64Step + static_cast<std::uint64_t>(trial)) {
    next();
    state_ ^= next();
  }
  /// In (0, 1].
  double uniform() { return (static_cast<double>(next() >> 11) + 1) * 0x1.0p-53; }
  double exponential(double rate) { return rate > 0 ? -std::log(uniform()) / rate : kForever; }

 private:
  std::uint64_t next() { return next_splitmix64(state_); }
  std::uint64_t state_;
};

/// Speed of training, of a healthy full cluster's, by what holds it back: nodes that are missing, the slowest node,
/// stalls of links.
struct Pace {
  double nodes = 1, slowest = 1, links = 1;
  [[nodiscard]] double whole() const { return nodes * slowest * links; }
};

/// A run on its way. Times are in seconds.
class Run {
 public:
  Run(const RunRisk& risk, std::uint64_t seed, int trial)
      : risk_(risk), random_(seed, trial), spares_(risk.spares), working_(risk.nodes) {
    const double turns = risk.nodes * risk.rates.slow.value();
    if (turns * risk.work.value() <= kManyTurns) return;
    // The busy share of a queue M/D/∞, as in expected_shares.
    blended_ = 1 - (1 - risk.slow_speed) * -std::expm1(-turns * risk.slow_found.value());
  }

  RunShares finish() {
    schedule_slow();
    while (done_ < risk_.work.value() && interruptions_ < kMostInterruptions) {
      const double until = now_ + random_.exponential(rate());
      train(until);
      if (done_ < risk_.work.value()) interrupt();
    }
    return shares();
  }

 private:
  [[nodiscard]] double rate() const { return working_ * (risk_.rates.interruptions + risk_.rates.spot).value(); }

  /// The slowest node holds all, stalls of links come on top.
  [[nodiscard]] Pace pace() const {
    const double stalled = working_ * risk_.rates.flaps.value() * risk_.flap.value();
    return {static_cast<double>(working_) / risk_.nodes, blended_.value_or(now_ < slow_until_ ? risk_.slow_speed : 1),
            1 / (1 + stalled)};
  }

  void schedule_slow() {
    if (!blended_) next_slow_ = now_ + random_.exponential(risk_.nodes * risk_.rates.slow.value());
  }

  /// Trains until an instant or the end of the work, through what changes the speed on the way.
  void train(double until) {
    while (now_ < until && done_ < risk_.work.value()) {
      take_back_nodes();
      if (now_ >= next_slow_) {
        slow_until_ = std::max(slow_until_, now_ + risk_.slow_found.value());
        schedule_slow();
      }
      double stop = std::min(until, next_slow_);
      if (now_ < slow_until_) stop = std::min(stop, slow_until_);
      if (working_ < risk_.nodes && !away_.empty()) stop = std::min(stop, away_.front());
      stretch(stop);
    }
  }

  /// Trains at one speed. Of each interval's time, δ goes to the checkpoint at its end.
  void stretch(double stop) {
    const Pace slowed = pace();
    const double pace = slowed.whole();
    const double interval = risk_.interval.value(), stall = risk_.saves ? risk_.checkpoint.stall.value() : 0;
    while (now_ < stop) {
      const double to_save = risk_.saves ? interval - since_save_ : kForever;
      const double work = std::min(to_save, risk_.work.value() - done_);
      const double time = work / pace;
      if (now_ + time > stop) return advance(stop - now_, slowed);
      advance(time, slowed);
      if (done_ >= risk_.work.value() * (1 - 1e-12)) {
        done_ = risk_.work.value();
        return;
      }
      if (!save(stall, stop)) return;
      skip_cycles(slowed, interval, stall, stop);
    }
  }

  void advance(double time, const Pace& pace) {
    now_ += time;
    done_ += time * pace.whole();
    since_save_ += time * pace.whole();
    book_slowness(time, pace);
  }

  void book_slowness(double time, const Pace& pace) {
    missing_ += time * (1 - pace.nodes);
    slowed_ += time * pace.nodes * (1 - pace.slowest);
    stalled_ += time * pace.nodes * pace.slowest * (1 - pace.links);
  }

  /// A checkpoint; false when it is cut short.
  bool save(double stall, double stop) {
    if (now_ + stall > stop) {
      saving_ += stop - now_;
      now_ = stop;
      return false;
    }
    now_ += stall;
    saving_ += stall;
    since_save_ = 0;
    // What an asynchronous one writes is safe later; until then the one before counts.
    previous_ = saved_;
    saved_ = done_;
    saved_at_ = now_;
    return true;
  }

  /// Whole cycles of training and saving that fit before an instant are alike.
  void skip_cycles(const Pace& pace, double interval, double stall, double stop) {
    const double cycle = interval / pace.whole() + stall;
    double count = std::floor((stop - now_) / cycle) - 1;
    count = std::min(count, std::floor((risk_.work.value() - done_) / interval) - 1);
    if (!(count > 1)) return;
    now_ += count * cycle;
    done_ += count * interval;
    book_slowness(count * interval / pace.whole(), pace);
    saving_ += count * stall;
    previous_ = done_ - interval;
    saved_ = done_;
    saved_at_ = now_;
  }

  void interrupt() {
    ++interruptions_;
    const double spot = working_ * risk_.rates.spot.value();
    const bool reclaimed = random_.uniform() * rate() <= spot;
    lose(reclaimed);
    if (reclaimed || random_.uniform() <= risk_.rates.replaced_share) replace_node();
    recover(reclaimed);
  }

  /// Work since the last safe checkpoint is gone.
  void lose(bool noticed) {
    if (!risk_.saves) return give_up(0);
    // What was written in time is what the run comes back to, from later interruptions, too.
    if (noticed && risk_.checkpoint.write <= risk_.spot_notice) {
      saved_ = previous_ = done_;
      return;
    }
    const double behind = (risk_.checkpoint.write - risk_.checkpoint.stall).value();
    give_up(now_ < saved_at_ + behind ? previous_ : saved_);
  }

  void give_up(double to) {
    lost_ += done_ - to;
    done_ = saved_ = previous_ = to;
    since_save_ = 0;
  }

  void replace_node() {
    if (risk_.endless_spares) return;
    away_.insert(std::upper_bound(away_.begin(), away_.end(), now_ + risk_.repair.value()),
                 now_ + risk_.repair.value());
    if (spares_ > 0) {
      --spares_;
    } else {
      --working_;
    }
  }

  /// Nodes that were repaired fill gaps first, then the reserve.
  void take_back_nodes() {
    while (!away_.empty() && away_.front() <= now_) {
      away_.erase(away_.begin());
      if (working_ < risk_.nodes) {
        ++working_;
      } else {
        ++spares_;
      }
    }
  }

  /// Detection, waiting for a node and restart; an interruption on the way starts the recovery anew.
  void recover(bool noticed) {
    const double detection = noticed ? 0 : risk_.detection.value();
    const double restart = (risk_.restart + risk_.checkpoint.read).value();
    for (bool up = false; !up && interruptions_ < kMostInterruptions;) {
      const double failure = now_ + random_.exponential(rate());
      up = spend(detection, failure, detection_) && wait_for_nodes(failure) && spend(restart, failure, restarting_);
      if (!up) ++interruptions_;
    }
    since_save_ = 0;
  }

  bool spend(double time, double failure, double& sum) {
    const double end = std::min(now_ + time, failure);
    sum += end - now_;
    now_ = end;
    return end < failure || time <= 0;
  }

  bool wait_for_nodes(double failure) {
    take_back_nodes();
    if (risk_.elastic && working_ > 0) return true;
    while (working_ < risk_.nodes && !away_.empty()) {
      const double back = away_.front();
      if (!spend(back - now_, failure, waiting_)) return false;
      take_back_nodes();
    }
    return true;
  }

  [[nodiscard]] RunShares shares() const {
    RunShares out;
    // Of a run that was given up on the way: what all of it takes at what it made of its time; for ever if nothing.
    out.time = Seconds(done_ < risk_.work.value() ? (done_ > 0 ? now_ * risk_.work.value() / done_ : kForever) : now_);
    out.interruptions = interruptions_;
    if (!(now_ > 0)) return out;
    // What a slower pace costs is counted once, in work that is kept and work that is lost alike.
    out.useful = done_ / now_;
    out.saving = saving_ / now_;
    out.lost_work = lost_ / now_;
    out.detection = detection_ / now_;
    out.restart = restarting_ / now_;
    out.waiting = waiting_ / now_;
    out.slow_nodes = slowed_ / now_;
    out.link_flaps = stalled_ / now_;
    out.missing_nodes = missing_ / now_;
    return out;
  }

  const RunRisk& risk_;
  Random random_;
  double now_ = 0;
  double done_ = 0, since_save_ = 0;                        ///< in seconds of training at full speed
  double saved_ = 0, previous_ = 0, saved_at_ = -kForever;  ///< the last checkpoint and the one before
  double saving_ = 0, lost_ = 0, detection_ = 0, restarting_ = 0, waiting_ = 0;
  double missing_ = 0, slowed_ = 0, stalled_ = 0;
  double slow_until_ = 0, next_slow_ = kForever;
  std::optional<double> blended_;  ///< speed where spells are too many to tell apart
  int interruptions_ = 0;
  int spares_, working_;
  std::vector<double> away_;  ///< instants at which nodes come back, sorted
};

}  // namespace

RunShares simulate_run(const RunRisk& risk, std::uint64_t seed, int trial) { return Run(risk, seed, trial).finish(); }

GoodputTrials simulate_runs(const RunRisk& risk, std::uint64_t seed, int count, int workers, int first) {
  GoodputTrials out;
  out.trials.resize(static_cast<std::size_t>(count));
  const auto every = [&](int start) {
    for (int trial = start; trial < count; trial += workers)
      out.trials[static_cast<std::size_t>(trial)] = simulate_run(risk, seed, first + trial);
  };
  std::vector<std::jthread> others;
  for (int worker = 1; worker < workers; ++worker) others.emplace_back(every, worker);
  every(0);
  return out;
}

namespace {

/// Adds a share of another run's shares.
void add(RunShares& sum, const RunShares& other, double share) {
  for (double RunShares::*part : kRunShares) sum.*part += share * other.*part;
}

/// Shares of nothing yet.
RunShares no_shares() {
  RunShares out;
  out.useful = 0;
  return out;
}

}  // namespace

RunShares GoodputTrials::mean() const {
  RunShares sum = no_shares();
  const double share = 1.0 / static_cast<double>(trials.size());
  for (const RunShares& trial : trials) {
    add(sum, trial, share);
    sum.interruptions += share * trial.interruptions;
    sum.time += share * trial.time;
  }
  return sum;
}

RunShares GoodputTrials::together() const {
  const RunShares means = mean();
  RunShares sum = no_shares();
  for (const RunShares& trial : trials) add(sum, trial, trial.time / (means.time * static_cast<double>(trials.size())));
  sum.interruptions = means.interruptions;
  sum.time = means.time;
  return sum;
}

GoodputTrials one_after_another(const std::vector<GoodputTrials>& parts) {
  if (parts.size() == 1) return parts.front();
  GoodputTrials out;
  for (std::size_t trial = 0; trial < parts.front().trials.size(); ++trial) {
    Seconds time;
    for (const GoodputTrials& part : parts) time += part.trials[trial].time;
    RunShares sum = no_shares();
    sum.time = time;
    for (const GoodputTrials& part : parts) {
      const RunShares& run = part.trials[trial];
      if (is_finite(time)) add(sum, run, run.time / time);
      sum.interruptions += run.interruptions;
    }
    out.trials.push_back(sum);
  }
  return out;
}

double GoodputTrials::quantile(double share) const {
  std::vector<double> sorted;
  for (const RunShares& trial : trials) sorted.push_back(trial.useful);
  std::sort(sorted.begin(), sorted.end());
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

}  // namespace stepcast
