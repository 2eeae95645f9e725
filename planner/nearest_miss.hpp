#pragma once

#include <optional>
#include <string>

#include "planner/option.hpp"

namespace stepcast {

/// How near the nearest of the options that one reason keeps out came to being an answer.
struct NearestMiss {
  const char* unit;   ///< as keys have it: "days", "over_GiB", …
  double figure;      ///< in that unit
  std::string words;  ///< "2.31 days"
};

/// None where an option keeps every limit, for what is slower than that one is then not looked at closely; none either
/// for reasons without a figure, nor for memory where a nearer range of it has options.
std::optional<NearestMiss> nearest_miss(const Tally& tally, Rejection reason);

}  // namespace stepcast
