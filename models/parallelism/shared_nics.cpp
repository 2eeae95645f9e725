#include "models/parallelism/shared_nics.hpp"

#include <algorithm>

namespace stepcast {

Seconds SharedNics::end() {
  std::sort(loads_.begin(), loads_.end(),
            [](const Load& a, const Load& b) { return a.node != b.node ? a.node < b.node : a.ready < b.ready; });
  Seconds latest, end;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    if (i == 0 || loads_[i].node != loads_[i - 1].node) end = Seconds(0);
    end = std::max(end, loads_[i].ready) + loads_[i].time;
    latest = std::max(latest, end);
  }
  return latest;
}

}  // namespace stepcast
