#pragma once

#include "units/quantity.hpp"

namespace stepcast {

/// Ranks come to a collective late by exponentially distributed times, independent of one another, and it waits for the
/// latest. All take the mean of one rank.

/// Mean of the latest of n: that times the harmonic number.
Seconds expected_latest(Seconds rank, int ranks);

/// Time by which the latest has come with a probability: of independent times the maximum's distribution is the n-th
/// power of one's.
Seconds latest_quantile(Seconds rank, int ranks, double probability);

/// Mean of one rank of which n ranks' calls are late in the mean by so much over their tenth percentile. `calls`: of
/// the means of so many calls in a row, which lie closer together (Cornish and Fisher 1938, to the skewness).
Seconds rank_lateness(Seconds over_tenth, int ranks, int calls = 1);

}  // namespace stepcast
