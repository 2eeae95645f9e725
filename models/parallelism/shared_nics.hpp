#pragma once

#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// What the stages of a node reduce over the NICs that they share: one after another as it becomes ready, for sharing
/// them evenly ends no earlier.
class SharedNics {
 public:
  /// `time`: for which it would keep all of them busy.
  void add(int node, Seconds ready, Seconds time) { loads_.push_back({node, ready, time}); }
  /// When the busiest node has sent everything.
  [[nodiscard]] Seconds end();

 private:
  struct Load {
    int node;
    Seconds ready, time;
  };
  std::vector<Load> loads_;
};

}  // namespace stepcast
