#pragma once

#include <map>

namespace stepcast {

/// What has been added to the parameters, and what each gradient missed.
class UpdateHistory {
 public:
  /// Updates that parameters read now contain.
  [[nodiscard]] long updates() const { return updates_; }
  /// Applies a gradient that was computed on parameters of so many updates. Gives its staleness: the updates by others
  /// since those parameters were read. Gradients of the same parameters do not count: they add up to one synchronous
  /// step, in whichever order.
  long apply(long read) { return updates_++ - read - computed_on_[read]++; }

 private:
  long updates_ = 0;
  std::map<long, long> computed_on_;  ///< updates by the parameters that they were computed on
};

}  // namespace stepcast
