#pragma once

#include <optional>

#include "fields/field_table.hpp"

namespace stepcast {

/// What the building gives and allows.
struct FacilitySpec {
  std::optional<Watts> rack_limit, site_limit;
  std::optional<int> nodes_per_rack;
  std::optional<double> ramp_limit_kW_per_s;  ///< fastest change of the site's power that the supply allows
  std::optional<int> supplies_in_use;         ///< of a node's power supplies, how many carry its load
  std::optional<double> pue;
  static const FieldTable<FacilitySpec>& fields();
};

}  // namespace stepcast
