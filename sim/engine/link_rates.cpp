#include "sim/engine/link_rates.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

void LinkRateRecorder::flow_joined(LinkId link) {
  SharedLink& shared = links_[link];
  ++shared.flows;
  if (shared.sampled) return;
  shared.sampled = true;
  sampled_.push_back(link);
}

void LinkRateRecorder::sample(double now, const PathHosts& hosts) {
  std::erase_if(sampled_, [&](LinkId link) {
    SharedLink& shared = links_[link];
    const double rate = hosts.usage(link);
    // SimGrid's sums of equal shares differ in their last bits.
    if (std::abs(rate - shared.rate) > 1e-12 * std::max(rate, shared.rate)) {
      shared_.push_back({Seconds(latest_), link, BytesPerSecond(rate)});
      shared.rate = rate;
    }
    const bool idle = shared.flows == 0 && rate == 0;
    if (idle) shared.sampled = false;
    return idle;
  });
  latest_ = now;
}

std::vector<LinkRate> LinkRateRecorder::merged(Seconds end) const {
  struct Change {
    Seconds time;
    LinkId link;
    bool lone;
    double rate;
  };
  std::vector<Change> changes;
  changes.reserve(lone_.size() + shared_.size() + links_.size());
  for (const LinkRate& r : lone_) changes.push_back({r.time, r.link, true, r.rate.value()});
  for (const LinkRate& r : shared_) changes.push_back({r.time, r.link, false, r.rate.value()});
  for (const LinkId link : sampled_) changes.push_back({end, link, false, 0});
  std::stable_sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time != b.time ? a.time < b.time : a.link < b.link;
  });
  struct Rate {
    double lone = 0, shared = 0, written = 0;
  };
  std::vector<Rate> rates(links_.size());
  std::vector<LinkRate> out;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    Rate& rate = rates[change.link];
    (change.lone ? rate.lone : rate.shared) = change.rate;
    const bool last_of_instant =
        i + 1 == changes.size() || changes[i + 1].link != change.link || changes[i + 1].time != change.time;
    const double sum = rate.lone + rate.shared;
    if (!last_of_instant || sum == rate.written) continue;
    rate.written = sum;
    out.push_back({change.time, change.link, BytesPerSecond(sum)});
  }
  return out;
}

}  // namespace stepcast
