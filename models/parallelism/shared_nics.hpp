#pragma once

#include <vector>

#include "units/quantity.hpp"

namespace stepcast {

/// What the stages of a node reduce over the NICs that they share: one after another as it becomes ready, for sharing
/// them evenly ends no earlier.
class SharedNics {
 public:
  /// `share`: what one stage takes of them while it reduces.
  explicit SharedNics(double share) : share_(share) {}
  [[nodiscard]] bool shared() const { return share_ > 0; }

  void add(int node, Seconds ready, Seconds time) { loads_.push_back({node, ready, time * share_}); }
  /// When the busiest node has sent everything.
  [[nodiscard]] Seconds end();

 private:
  struct Load {
    int node;
    Seconds ready, time;
  };
  double share_;
  std::vector<Load> loads_;
};

}  // namespace stepcast
