#include "models/power/facility_spec.hpp"

namespace stepcast {

const FieldTable<FacilitySpec>& FacilitySpec::fields() {
  using F = FacilitySpec;
  static const auto kTable = [] {
    const Rules power{.min = 0, .max = 1e9, .above_min = true};
    FieldTable<F> t("facility", "What the building gives and allows");
    t.field("rack_limit_kW", &F::rack_limit, "Power that one rack may draw; default: what its cooling removes", power)
        .field("site_limit_kW", &F::site_limit, "Power that the site may draw at the meter", power)
        .field("nodes_per_rack", &F::nodes_per_rack, "Servers of one rack; default: as its power and height allow",
               {.min = 1, .max = 1000})
        .field("ramp_limit_kW_per_s", &F::ramp_limit_kW_per_s, "Fastest change of the site's power that is allowed",
               {.min = 0, .max = 1e12, .above_min = true})
        .field("supplies_in_use", &F::supplies_in_use,
               "Power supplies of a node that share its load, the others stand by; default: all", {.min = 1, .max = 64})
        .field("pue", &F::pue, "Power usage effectiveness; default: the site's, else the cooling kind's",
               {.min = 1, .max = 10});
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
