#include "planner/nearest_miss.hpp"

#include "report/humane.hpp"
#include "units/calendar.hpp"

namespace stepcast {

namespace {

/// Whether an option that does not fit is counted as nearer to fitting than these.
bool nearer_fit(const Tally& tally, Rejection reason) {
  for (const Rejection nearer : {Rejection::memory_under_1, Rejection::memory_under_8, Rejection::memory_under_64}) {
    if (nearer == reason) return false;
    if (tally.rejected[static_cast<std::size_t>(nearer)] > 0) return true;
  }
  return false;
}

}  // namespace

std::optional<NearestMiss> nearest_miss(const Tally& tally, Rejection reason) {
  const std::optional<double>& figure = tally.nearest[static_cast<std::size_t>(reason)];
  if (tally.feasible > 0 || !figure) return std::nullopt;
  const double value = *figure;
  switch (reason) {
    case Rejection::memory_under_1:
    case Rejection::memory_under_8:
    case Rejection::memory_under_64:
    case Rejection::memory_beyond:
      if (nearer_fit(tally, reason)) return std::nullopt;
      return NearestMiss{"over_GiB", Bytes(value).in(1_GiB), humane(Bytes(value)) + " over"};
    case Rejection::over_budget_to_buy:
    case Rejection::over_budget_of_run:
    case Rejection::simulated_over_budget_of_run:
      return NearestMiss{"usd", value, humane(Dollars(value))};
    case Rejection::over_budget:
    case Rejection::simulated_over_budget: {
      const Dollars month = DollarsPerSecond(value) * kMonth;
      return NearestMiss{"usd_per_month", month.value(), humane(month) + " a month"};
    }
    case Rejection::past_deadline:
    case Rejection::simulated_past_deadline:
      return NearestMiss{"days", Seconds(value).in(1_days), humane(Seconds(value))};
    case Rejection::low_goodput:
    case Rejection::simulated_low_goodput:
      return NearestMiss{"percent", -100 * value, percent(-value)};
    case Rejection::over_power:
    case Rejection::simulated_over_power:
      return NearestMiss{"power_kW", Watts(value).in(1_kW), humane(Watts(value))};
    case Rejection::over_rack:
      return NearestMiss{"rack_units", value, whole(static_cast<long>(value)) + " units"};
    default:
      return std::nullopt;
  }
}

}  // namespace stepcast
