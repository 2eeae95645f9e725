#include "models/updates/random_draw.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "fields/splitmix64.hpp"

namespace stepcast {

double RandomDraw::uniform(std::uint64_t subject, std::uint64_t occasion) const {
  const std::uint64_t bits = splitmix64(splitmix64(splitmix64(seed_) ^ subject) ^ occasion);
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53;
}

double RandomDraw::normal(std::uint64_t subject, std::uint64_t occasion) const {
  return std::sqrt(2.0) * boost::math::erf_inv(2 * uniform(subject, occasion) - 1);
}

double RandomDraw::factor(double spread, std::uint64_t subject, std::uint64_t occasion) const {
  return spread > 0 ? std::exp(spread * normal(subject, occasion) - spread * spread / 2) : 1;
}

}  // namespace stepcast
