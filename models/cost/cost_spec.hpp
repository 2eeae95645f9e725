#pragma once

#include <optional>

#include "fields/field_table.hpp"

namespace stepcast {

/// Which of a node's prices is taken. `automatic`: the first that it has, in the order of docs/models/cost.md.
enum class PriceBasis {
  automatic,
  purchase,
  on_demand,
  reserved_one_year,
  reserved_three_years,
  spot,
  monthly,
  capacity_block
};
template <>
struct EnumNames<PriceBasis> {
  static constexpr std::array names{"auto", "purchase", "on-demand",     "reserved-1-year", "reserved-3-years",
                                    "spot", "monthly",  "capacity-block"};
};

/// Terms on which the cluster is bought or rented; what is left out is the catalogue's.
struct CostSpec {
  PriceBasis basis = PriceBasis::automatic;
  std::optional<Dollars> node_purchase;
  std::optional<DollarsPerSecond> node_rent;
  std::optional<Dollars> network_purchase;  ///< of the whole fabric; default: its bill of materials
  std::optional<Seconds> amortisation;
  std::optional<DollarsPerJoule> electricity;
  double upkeep_percent_per_year = 0;  ///< of the purchase: staff, space, repairs
  static const FieldTable<CostSpec>& fields();
};

}  // namespace stepcast
