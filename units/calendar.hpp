#pragma once

#include "units/quantity.hpp"

namespace stepcast {

/// A twelfth of a year of 365.25 days: what rents and rates a month are meant by.
inline constexpr Seconds kMonth = 365.25 / 12 * 1_days;

}  // namespace stepcast
