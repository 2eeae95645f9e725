#pragma once

#include <vector>

#include "models/power/power.hpp"
#include "report/segment_time.hpp"

namespace stepcast {

/// Mean power of a device while it runs a segment in `length` of time.
Watts mean_power(const SegmentTime& segment, Seconds length, const PowerModel& power);

/// Power of the mean device as it changes over a step, held in equal windows. What draws power for less than a window
/// counts with its mean there: supplies ride through shorter peaks on their capacitors (hold-up of 10 ms and more:
/// Intel CRPS base specification; the 10 ms here is that figure).
class PowerOverTime {
 public:
  /// Windows of 10 ms, or as many as `kMostWindows` when the step is longer.
  PowerOverTime(Seconds step, Watts idle);

  /// A share of all devices draws `power` from `start` to `end`.
  void add(Seconds start, Seconds end, Watts power, double share);

  /// Highest of all instants.
  [[nodiscard]] Watts peak() const;
  /// Mean over the step, each power for as long as it lasts.
  [[nodiscard]] Watts average() const;
  [[nodiscard]] Seconds window() const { return window_; }
  /// Mean power in at most so many equal windows, each of whole windows of this but the last.
  [[nodiscard]] std::vector<Watts> windows(std::size_t most) const;

  static constexpr std::size_t kMostWindows = 1024;

 private:
  Watts idle_;
  Seconds step_, window_;
  std::vector<Joules> energy_;  ///< above idle, by window
};

}  // namespace stepcast
