#include "models/updates/random_draw.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace stepcast {

namespace {

/// SplitMix64's output function (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

}  // namespace

double RandomDraw::uniform(std::uint64_t subject, std::uint64_t occasion) const {
  const std::uint64_t bits = mixed(mixed(mixed(seed_) ^ subject) ^ occasion);
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1.0p-53;
}

double RandomDraw::normal(std::uint64_t subject, std::uint64_t occasion) const {
  return std::sqrt(2.0) * boost::math::erf_inv(2 * uniform(subject, occasion) - 1);
}

double RandomDraw::factor(double spread, std::uint64_t subject, std::uint64_t occasion) const {
  return spread > 0 ? std::exp(spread * normal(subject, occasion) - spread * spread / 2) : 1;
}

}  // namespace stepcast
