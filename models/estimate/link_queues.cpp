#include "models/estimate/link_queues.hpp"

#include <algorithm>
#include <tuple>

namespace stepcast {

Seconds LinkQueues::end() {
  std::sort(loads_.begin(), loads_.end(),
            [](const Load& a, const Load& b) { return std::tie(a.link, a.ready) < std::tie(b.link, b.ready); });
  Seconds latest, end;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    if (i == 0 || loads_[i].link != loads_[i - 1].link) end = Seconds(0);
    end = std::max(end, loads_[i].ready) + loads_[i].time;
    latest = std::max(latest, end);
  }
  return latest;
}

}  // namespace stepcast
