#pragma once

#include <vector>

#include "models/updates/update_outcome.hpp"

namespace stepcast {

/// Counts how many updates gradients have missed.
class StalenessCount {
 public:
  /// One gradient that has missed so many.
  void add(long missed);
  /// All have missed so many more.
  void shift(long more);
  /// Mean, 95th percentile, largest, and the shares up to it (the last of at most 65 entries: so many or more).
  [[nodiscard]] Staleness distribution() const;

 private:
  std::vector<long> counts_;
  long all_ = 0;
};

}  // namespace stepcast
