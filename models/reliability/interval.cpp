#include "models/reliability/interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepcast {

namespace {

constexpr Seconds kForever(std::numeric_limits<double>::infinity());
/// Nobody saves more often; a stall of nothing would ask for it.
constexpr Seconds kShortest = 1_s;
constexpr int kSections = 60;

Seconds mean_time(const RunHazard& hazard) { return 1.0 / hazard.interruptions; }

}  // namespace

Seconds young_interval(const RunHazard& hazard) {
  if (!(hazard.interruptions > PerSecond(0))) return kForever;
  return Seconds(std::sqrt(2 * hazard.stall.value() * mean_time(hazard).value()));
}

Seconds daly_interval(const RunHazard& hazard) {
  if (!(hazard.interruptions > PerSecond(0))) return kForever;
  const Seconds mean = mean_time(hazard);
  if (hazard.stall >= 2 * mean) return mean;
  const double ratio = hazard.stall / (2 * mean);
  return young_interval(hazard) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - hazard.stall;
}

double daly_goodput(const RunHazard& hazard, Seconds interval) {
  const bool fails = hazard.interruptions > PerSecond(0);
  if (interval == kForever) return fails ? 0 : 1;
  if (!fails) return interval / (interval + hazard.stall);
  const Seconds mean = mean_time(hazard);
  const double cycle = (interval + hazard.stall) / mean;
  return (interval / mean) * std::exp(-(hazard.recovery + hazard.behind) / mean) / std::expm1(cycle);
}

Seconds best_interval(const RunHazard& hazard, Seconds shortest) {
  if (!(hazard.interruptions > PerSecond(0))) return kForever;
  // The best lies between nothing and a few times Young's; sections are taken of the logarithm.
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double low = std::log(std::max(shortest, kShortest).value());
  double high = std::max(low, std::log(std::max(4 * young_interval(hazard).value(), mean_time(hazard).value())));
  for (int i = 0; i < kSections; ++i) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    const bool left = daly_goodput(hazard, Seconds(std::exp(a))) >= daly_goodput(hazard, Seconds(std::exp(b)));
    (left ? high : low) = left ? b : a;
  }
  return Seconds(std::exp((low + high) / 2));
}

}  // namespace stepcast
