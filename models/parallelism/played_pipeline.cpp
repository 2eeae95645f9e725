#include "models/parallelism/played_pipeline.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Rounds through the pipeline after which its ranks wait as they will from then on.
constexpr long kRoundsToSettle = 8;

/// The ranks' clocks while they work through their programs, one pass at a time.
class Play {
 public:
  Play(const std::vector<StageTime>& stages, long micro_batches, bool split)
      : stages_(stages),
        p_(static_cast<long>(stages.size())),
        m_(micro_batches),
        split_(split),
        now_(stages.size()),
        forward_end_(stages.size()) {}

  Seconds run() {
    warm_up();
    for (long j = 0; j < m_; ++j) round(j);
    Seconds end;
    for (long s = 0; s < p_; ++s)
      end = std::max(end, now(s) + static_cast<double>(left_over(s)) * at(s).backward_weight);
    return end;
  }

 private:
  const StageTime& at(long s) const { return stages_[static_cast<std::size_t>(s)]; }
  Seconds& now(long s) { return now_[static_cast<std::size_t>(s)]; }

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
    for (long s = 0; s < p_; ++s) forward_end_[static_cast<std::size_t>(s)] = now(s);
  }

  /// The backward pass of micro-batch j from the last stage to the first, and before it, on each, the forward pass with
  /// which it alternates: of the micro-batch that the stage before passed in the round before this.
  void round(long j) {
    Seconds gradient;
    for (long s = p_ - 1; s >= 0; --s) {
      if (j + warm_up_of(s) < m_) {
        if (s > 0) now(s) = std::max(now(s), forward_end_[static_cast<std::size_t>(s - 1)] + at(s - 1).message);
        now(s) += at(s).forward;
        forward_end_[static_cast<std::size_t>(s)] = now(s);
      }
      now(s) = std::max(now(s), gradient) + at(s).backward_input;
      if (!split_) now(s) += at(s).backward_weight;
      gradient = now(s) + (s > 0 ? at(s - 1).message : Seconds(0));
      if (split_ && j >= left_over(s)) now(s) += at(s).backward_weight;
    }
  }

  /// Weight gradients that a rank has left when its last backward pass is over: it lags behind by its distance from the
  /// pipeline's front until it drains.
  long left_over(long s) const { return split_ ? std::min(s, m_ - warm_up_of(s)) : 0; }

  const std::vector<StageTime>& stages_;
  long p_, m_;
  bool split_;
  std::vector<Seconds> now_, forward_end_;
};

}  // namespace

Seconds played_pipeline(const std::vector<StageTime>& stages, long micro_batches, bool split) {
  const long settled = kRoundsToSettle * static_cast<long>(stages.size());
  const auto played = [&](long count) { return Play(stages, count, split).run(); };
  if (micro_batches <= settled) return played(micro_batches);
  const Seconds whole = played(settled);
  const long half = settled / 2;
  const Seconds period = (whole - played(half)) / static_cast<double>(settled - half);
  return whole + static_cast<double>(micro_batches - settled) * period;
}

}  // namespace stepcast
