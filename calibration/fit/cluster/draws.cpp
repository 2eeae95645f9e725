#include "calibration/fit/cluster/draws.hpp"

#include <cmath>
#include <numbers>

namespace stepcast {

RowSamples redrawn(const RowSamples& samples, std::mt19937_64& random) {
  RowSamples out;
  out.reserve(samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) out.push_back(samples[random() % samples.size()]);
  return out;
}

double normal_draw(std::mt19937_64& random) {
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace stepcast
