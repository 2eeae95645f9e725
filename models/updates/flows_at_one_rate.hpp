#pragma once

#include <queue>
#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// Flows that share one rate: each ends when it has got its bytes. Kept by what every flow has got since the beginning.
class FlowsAtOneRate {
 public:
  void start(int owner, int item, Bytes size) { ends_.push({served_ + size, owner, item}); }
  [[nodiscard]] int count() const { return static_cast<int>(ends_.size()); }
  /// Lets time pass at the rate that was set.
  void advance(Seconds time) { served_ += rate_ * time; }
  void set_rate(BytesPerSecond rate) { rate_ = rate; }
  /// Time until the next flow ends; far away when none is under way.
  [[nodiscard]] Seconds next() const {
    if (ends_.empty() || !(rate_ > BytesPerSecond(0))) return kNever;
    const Bytes left = ends_.top().at - served_;
    return left > Bytes(0) ? left / rate_ : Seconds(0);
  }
  struct Ended {
    int owner = 0, item = 0;
  };
  Ended take() {
    const End first = ends_.top();
    ends_.pop();
    if (first.at > served_) served_ = first.at;
    return {first.owner, first.item};
  }

  static constexpr Seconds kNever{1e30};

 private:
  struct End {
    Bytes at;
    int owner = 0, item = 0;
    /// The earliest first; equals in the order of their owners.
    bool operator<(const End& other) const {
      if (at != other.at) return at > other.at;
      return owner != other.owner ? owner > other.owner : item > other.item;
    }
  };
  std::priority_queue<End> ends_;
  Bytes served_;
  BytesPerSecond rate_;
};

}  // namespace stepcast
