#include "report/power_over_time.hpp"

#include <algorithm>
#include <cmath>

namespace stepcast {

namespace {
constexpr Seconds kShortestWindow = 10_ms;
}

Watts mean_power(const SegmentTime& segment, Seconds length, const PowerModel& power) {
  const Stretch stretch = stretch_of(segment, length);
  const Joules operators = (power.device_compute - power.device_ready) * segment.matrix +
                           (power.device_memory - power.device_ready) * segment.memory;
  const Joules collectives = (power.device_waiting - power.device_ready) * (segment.communication + segment.peers);
  return power.device_ready + (operators * stretch.operators + collectives * stretch.others) / length;
}

PowerOverTime::PowerOverTime(Seconds step, Watts idle) : idle_(idle), step_(step) {
  const double windows = std::ceil(step / kShortestWindow);
  const auto count = static_cast<std::size_t>(std::clamp(windows, 1.0, static_cast<double>(kMostWindows)));
  window_ = step / static_cast<double>(count);
  energy_.assign(count, Joules(0));
}

void PowerOverTime::add(Seconds start, Seconds end, Watts power, double share) {
  if (!(end > start)) return;
  const Watts above = (power - idle_) * share;
  const auto index = [&](Seconds at) {
    return std::min(energy_.size() - 1, static_cast<std::size_t>(std::max(0.0, at / window_)));
  };
  const std::size_t first = index(start), last = index(end);
  if (first == last) {
    energy_[first] += above * (end - start);
    return;
  }
  energy_[first] += above * (static_cast<double>(first + 1) * window_ - start);
  for (std::size_t i = first + 1; i < last; ++i) energy_[i] += above * window_;
  energy_[last] += above * (end - static_cast<double>(last) * window_);
}

Watts PowerOverTime::peak() const { return idle_ + *std::max_element(energy_.begin(), energy_.end()) / window_; }

std::vector<Watts> PowerOverTime::windows(std::size_t most) const {
  std::vector<Watts> out;
  const std::size_t joined = (energy_.size() + most - 1) / most;
  for (std::size_t i = 0; i < energy_.size(); i += joined) {
    const std::size_t end = std::min(energy_.size(), i + joined);
    Joules sum{0};
    for (std::size_t w = i; w < end; ++w) sum += energy_[w];
    out.push_back(idle_ + sum / (static_cast<double>(end - i) * window_));
  }
  return out;
}

Watts PowerOverTime::average() const {
  Joules sum{0};
  for (const Joules window : energy_) sum += window;
  return idle_ + sum / step_;
}

}  // namespace stepcast
