#include "models/parallelism/variability.hpp"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

namespace stepcast {

double slowest_of(int devices) {
  if (devices < 2) return 1;
  // Blom's approximation of the expected largest of n normal draws (Blom 1958): the quantile is 4.5 % high of two
  // draws, 1.9 % of four and less of more; what it adds to a step is a hundredth of that.
  const double n = devices;
  const double quantile = (n - 0.375) / (n + 0.25);
  // The approximation is not worth more digits than a double's.
  using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
  return 1 + kDeviceSpread * std::sqrt(2.0) * boost::math::erf_inv(2 * quantile - 1, InDouble());
}

}  // namespace stepcast
