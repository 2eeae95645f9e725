#include "models/step_breakdown.hpp"

namespace stepcast {

Seconds StepBreakdown::communication_total() const {
  Seconds sum;
  for (const auto& kind : communication)
    for (const Communication& share : kind) sum += share.total;
  return sum;
}

Seconds StepBreakdown::communication_exposed() const {
  Seconds sum;
  for (const auto& kind : communication)
    for (const Communication& share : kind) sum += share.exposed;
  return sum;
}

}  // namespace stepcast
