#include "models/parallelism/played_pipeline.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {

/// Of a round's time; what rounds of one length differ by in floating point.
constexpr double kSameTime = 1e-9;

/// The ranks' clocks while they work through their programs, one pass at a time.
class Play {
 public:
  Play(const std::vector<StageTime>& stages, long micro_batches, bool split)
      : stages_(stages),
        p_(static_cast<long>(stages.size())),
        m_(micro_batches),
        split_(split),
        clocks_(2 * stages.size()),
        past_(may_settle() ? stages.size() * clocks_.size() : 0) {}

  Seconds run() {
    warm_up();
    for (long j = 0; j < m_; ++j) {
      if (may_settle()) std::copy(clocks_.begin(), clocks_.end(), before(j));
      round(j);
      if (may_settle()) j += skip_alike(j);
    }
    Seconds end;
    for (long s = 0; s < p_; ++s)
      end = std::max(end, now(s) + static_cast<double>(left_over(s)) * at(s).backward_weight);
    return end;
  }

 private:
  const StageTime& at(long s) const { return stages_[static_cast<std::size_t>(s)]; }
  Seconds& now(long s) { return clocks_[static_cast<std::size_t>(s)]; }
  Seconds& forward_end(long s) { return clocks_[static_cast<std::size_t>(p_ + s)]; }

  /// Whether rounds are left between the first p and those that drain.
  [[nodiscard]] bool may_settle() const { return m_ > 2 * p_ + 1; }

  /// Forward passes before a rank's first backward pass.
  long warm_up_of(long s) const { return std::min(p_ - s - 1, m_); }

  void warm_up() {
    std::vector<Seconds> arrived;  // at the stage, micro-batch by micro-batch
    arrived.resize(static_cast<std::size_t>(std::min(m_, p_)));
    for (long s = 0; s < p_; ++s)
      for (long j = 0; j < warm_up_of(s); ++j) {
        Seconds& next = arrived[static_cast<std::size_t>(j)];
        now(s) = std::max(now(s), next) + at(s).forward;
        next = now(s) + at(s).message;
      }
    for (long s = 0; s < p_; ++s) forward_end(s) = now(s);
  }

  /// The backward pass of micro-batch j from the last stage to the first, and before it, on each, the forward pass with
  /// which it alternates: of the micro-batch that the stage before passed in the round before this.
  void round(long j) {
    Seconds gradient;
    for (long s = p_ - 1; s >= 0; --s) {
      if (j + warm_up_of(s) < m_) {
        if (s > 0) now(s) = std::max(now(s), forward_end(s - 1) + at(s - 1).message);
        now(s) += at(s).forward;
        forward_end(s) = now(s);
      }
      now(s) = std::max(now(s), gradient) + at(s).backward_input;
      if (!split_) now(s) += at(s).backward_weight;
      gradient = now(s) + (s > 0 ? at(s - 1).message : Seconds(0));
      if (split_ && j >= left_over(s)) now(s) += at(s).backward_weight;
    }
  }

  /// The clocks before round j, of as many rounds as can be told apart.
  Seconds* before(long j) { return past_.data() + (j % p_) * 2 * p_; }

  /// Whether `rounds` up to round j moved all clocks on alike; in `took`, by how much.
  bool moved_alike(long j, long rounds, Seconds& took) {
    const Seconds* then = before(j + 1 - rounds);
    took = clocks_.front() - then[0];
    for (std::size_t i = 1; i < clocks_.size(); ++i)
      if (std::abs((clocks_[i] - then[i] - took).value()) > kSameTime * took.value()) return false;
    return true;
  }

  /// Rounds after round j that need not be played. Where some moved all clocks on alike, and no rank drains, as many
  /// more do so too, for a round is maxima and sums of what was before: until the first has no forward pass left. The
  /// micro-batches in flight, p at most, come round together where messages are what stages wait for.
  long skip_alike(long j) {
    const long left = m_ - p_ - j - 1;
    if (j < p_ || skipped_) return 0;
    // One round alike is by far the most frequent; the others are looked for now and then.
    const long most = std::min(left, j % p_ == 0 ? p_ : 1);
    for (long rounds = 1; rounds <= most; ++rounds) {
      Seconds took;
      if (!moved_alike(j, rounds, took)) continue;
      const long times = left / rounds;
      for (Seconds& clock : clocks_) clock += static_cast<double>(times) * took;
      skipped_ = true;
      return times * rounds;
    }
    return 0;
  }

  /// Weight gradients that a rank has left when its last backward pass is over: it lags behind by its distance from the
  /// pipeline's front until it drains.
  long left_over(long s) const { return split_ ? std::min(s, m_ - warm_up_of(s)) : 0; }

  const std::vector<StageTime>& stages_;
  long p_, m_;
  bool split_;
  std::vector<Seconds> clocks_;  ///< of the ranks, and when each ended its last forward pass
  std::vector<Seconds> past_;    ///< the same at the begin of the last p rounds
  bool skipped_ = false;
};

}  // namespace

Seconds played_pipeline(const std::vector<StageTime>& stages, long micro_batches, bool split) {
  return Play(stages, micro_batches, split).run();
}

}  // namespace stepcast
