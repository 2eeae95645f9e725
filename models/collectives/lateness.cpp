#include "models/collectives/lateness.hpp"

#include <cmath>

namespace stepcast {
namespace {

double harmonic(int n) {
  double sum = 0;
  for (int i = n; i > 0; --i) sum += 1.0 / i;
  return sum;
}

/// Of a mean of 1.
double quantile(int ranks, double probability) { return -std::log1p(-std::pow(probability, 1.0 / ranks)); }

}  // namespace

Seconds expected_latest(Seconds rank, int ranks) { return rank * harmonic(ranks); }

Seconds latest_quantile(Seconds rank, int ranks, double probability) { return rank * quantile(ranks, probability); }

Seconds rank_lateness(Seconds over_tenth, int ranks) { return over_tenth / (harmonic(ranks) - quantile(ranks, 0.1)); }

}  // namespace stepcast
