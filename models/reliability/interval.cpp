#include "models/reliability/interval.hpp"

#include <algorithm>
#include <boost/math/special_functions/lambert_w.hpp>
#include <cmath>
#include <limits>

namespace stepcast {

namespace {

constexpr Seconds kNever(std::numeric_limits<double>::infinity());
/// Nobody saves more often; a stall of nothing would ask for it.
constexpr Seconds kShortest = 1_s;

Seconds mean_time(const RunHazard& hazard) { return 1.0 / hazard.interruptions; }

}  // namespace

Seconds young_interval(const RunHazard& hazard) {
  if (!(hazard.interruptions > PerSecond(0))) return kNever;
  return Seconds(std::sqrt(2 * hazard.stall.value() * mean_time(hazard).value()));
}

Seconds daly_interval(const RunHazard& hazard) {
  if (!(hazard.interruptions > PerSecond(0))) return kNever;
  const Seconds mean = mean_time(hazard);
  if (hazard.stall >= 2 * mean) return mean;
  const double ratio = hazard.stall / (2 * mean);
  return young_interval(hazard) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - hazard.stall;
}

double daly_goodput(const RunHazard& hazard, Seconds interval) {
  const bool fails = hazard.interruptions > PerSecond(0);
  if (interval == kNever && !fails) return 1;
  if (!fails) return interval / (interval + hazard.stall);
  const Seconds mean = mean_time(hazard);
  const double up = std::exp(-(hazard.recovery + (1 - hazard.spared) * hazard.behind) / mean);
  const double kept = hazard.spared > 0
                          ? hazard.spared * std::expm1(-interval / mean) / std::expm1(-(interval + hazard.stall) / mean)
                          : 0;
  if (interval == kNever) return up * kept;
  const double cycle = (interval + hazard.stall) / mean;
  return up * ((1 - hazard.spared) * (interval / mean) / std::expm1(cycle) + kept);
}

Seconds unsaved_time(const RunHazard& hazard, Seconds work) {
  if (!(hazard.interruptions > PerSecond(0))) return work;
  const Seconds mean = mean_time(hazard);
  const double grown = std::expm1(work / mean), spared = hazard.spared;
  const Seconds trained = !(spared > 0)          ? mean * grown
                          : std::isfinite(grown) ? mean * (std::log1p(spared * grown) / spared)
                                                 : (work + mean * std::log(spared)) / spared;
  return trained * std::exp(hazard.recovery / mean);
}

Seconds best_interval(const RunHazard& hazard, Seconds shortest) {
  if (!(hazard.interruptions > PerSecond(0)) || !(hazard.spared < 1)) return kNever;
  const Seconds mean = mean_time(hazard);
  const double later = hazard.spared / (1 - hazard.spared) * std::expm1(hazard.stall / mean);
  // Rounding must not leave W's domain, which ends at −1/e.
  const double least = -boost::math::constants::exp_minus_one<double>();
  const double best = 1 + later + boost::math::lambert_w0(std::max(least, -std::exp(-1 - later - hazard.stall / mean)));
  return std::max({mean * best, shortest, kShortest});
}

}  // namespace stepcast
