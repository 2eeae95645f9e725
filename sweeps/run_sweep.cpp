#include "sweeps/run_sweep.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace stepcast {

namespace {

using Clock = std::chrono::steady_clock;

/// How often rows reach the disk. Each time costs it a few writes that it must finish.
constexpr std::chrono::milliseconds kCommitEvery{200};

/// Stores rows, commits in time, and tells how far it is.
class Recorder {
 public:
  Recorder(const SweepDefinition& sweep, const SweepOptions& options, StoreWriter& writer)
      : sweep_(sweep), options_(options), writer_(writer) {}

  void take(const std::vector<SweepRow>& rows) {
    const std::scoped_lock lock(mutex_);
    if (!sound_) return;  // storing has failed in another thread, whose error is the one to be told
    sound_ = false;
    for (const SweepRow& row : rows) writer_.add(sweep_.points, row);
    computed_ += static_cast<std::int64_t>(rows.size());
    if (Clock::now() - committed_ >= kCommitEvery) commit();
    sound_ = true;
  }

  /// Stores what is not yet, unless storing is what failed.
  void finish() {
    const std::scoped_lock lock(mutex_);
    if (sound_) commit();
  }

  [[nodiscard]] SweepProgress progress() const {
    return {writer_.counts(), computed_, std::chrono::duration<double>(Clock::now() - begin_).count()};
  }

 private:
  void commit() {
    writer_.commit();
    committed_ = Clock::now();
    if (options_.progress) options_.progress(progress());
  }

  const SweepDefinition& sweep_;
  const SweepOptions& options_;
  StoreWriter& writer_;
  std::mutex mutex_;
  Clock::time_point begin_ = Clock::now(), committed_ = begin_;
  std::int64_t computed_ = 0;
  bool sound_ = true;
};

int jobs_of(const SweepOptions& options) {
  return options.jobs > 0 ? options.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

SweepOutcome run_sweep(const SweepDefinition& sweep, const SweepOptions& options) {
  return run_sweep(sweep, options, evaluate_locally);
}

SweepOutcome run_sweep(const SweepDefinition& sweep, const SweepOptions& options, const Executor& executor) {
  StoreWriter writer(options.store, identity_of(sweep), sweep.points.size(), options.mode);
  if (options.retry_failed) writer.forget_failed();
  PendingPoints pending(writer.done());
  Recorder recorder(sweep, options, writer);
  try {
    executor(
        sweep, pending, jobs_of(options), [&](const std::vector<SweepRow>& rows) { recorder.take(rows); },
        options.stop);
  } catch (...) {
    recorder.finish();
    throw;
  }
  recorder.finish();
  SweepOutcome out{recorder.progress()};
  out.stopped = options.stop.stop_requested() && out.progress.counts.done() < out.progress.counts.points;
  return out;
}

}  // namespace stepcast
