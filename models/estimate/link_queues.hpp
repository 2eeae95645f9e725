#pragma once

#include <vector>

#include "models/estimate/stage_links.hpp"

namespace stepcast {

/// What stages reduce over links that they share: one after another as it becomes ready, for sharing them evenly ends
/// no earlier.
class LinkQueues {
 public:
  /// `time`: for which it would keep the link busy.
  void add(const LinkOwner& link, Seconds ready, Seconds time) { loads_.push_back({link, ready, time}); }
  /// When the busiest link has carried everything.
  [[nodiscard]] Seconds end();

 private:
  struct Load {
    LinkOwner link;
    Seconds ready, time;
  };
  std::vector<Load> loads_;
};

}  // namespace stepcast
