#include "models/collectives/lateness.hpp"

#include <cmath>

namespace stepcast {
namespace {

/// Sum of 1 / i^power up to n.
double harmonic(int n, int power = 1) {
  double sum = 0;
  for (int i = n; i > 0; --i) sum += std::pow(i, -power);
  return sum;
}

/// Of a mean of 1.
double quantile(int ranks, double probability) { return -std::log1p(-std::pow(probability, 1.0 / ranks)); }

constexpr double kTenth = -1.2815515655446004;  // tenth percentile of N(0, 1)

/// By how much the mean of the latest of n, over so many calls, lies over its tenth percentile; for ranks of mean 1.
double over_tenth_of(int ranks, int calls) {
  if (calls <= 1) return harmonic(ranks) - quantile(ranks, 0.1);
  // Cumulants of the maximum of n exponentials, a sum of exponentials of means 1 / i (Rényi 1953).
  const double variance = harmonic(ranks, 2) / calls;
  const double skewness = 2 * harmonic(ranks, 3) / std::pow(harmonic(ranks, 2), 1.5) / std::sqrt(calls);
  return -std::sqrt(variance) * (kTenth + (kTenth * kTenth - 1) * skewness / 6);
}

}  // namespace

Seconds expected_latest(Seconds rank, int ranks) { return rank * harmonic(ranks); }

Seconds latest_quantile(Seconds rank, int ranks, double probability) { return rank * quantile(ranks, probability); }

Seconds rank_lateness(Seconds over_tenth, int ranks, int calls) { return over_tenth / over_tenth_of(ranks, calls); }

}  // namespace stepcast
