#include "models/cost/cost_spec.hpp"

namespace stepcast {

const FieldTable<CostSpec>& CostSpec::fields() {
  using C = CostSpec;
  static const auto kTable = [] {
    const Rules money{.min = 0, .max = 1e12};
    FieldTable<C> t("cost", "Terms on which the cluster is bought or rented");
    t.field("basis", &C::basis, "Which of the node's prices is taken; auto: the first that it has")
        .field("node_purchase_usd", &C::node_purchase, "Price of one node, bought", money)
        .field("node_rent_usd_per_h", &C::node_rent, "Rent of one node", money)
        .field("network_purchase_usd", &C::network_purchase,
               "Price of the whole network of a bought cluster; default: its bill of materials", money)
        .field("amortisation_years", &C::amortisation, "Over which a purchase is written off; default: 4",
               {.min = 0, .max = 100, .above_min = true})
        .field("electricity_usd_per_kWh", &C::electricity, "Price of electricity; default: the site's", money)
        .field("upkeep_percent_per_year", &C::upkeep_percent_per_year,
               "Staff, space and repairs of a bought cluster, of its purchase price", {.min = 0, .max = 1000});
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
