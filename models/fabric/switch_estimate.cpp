#include "models/fabric/switch_estimate.hpp"

#include <cmath>

namespace stepcast {

namespace {

bool has_ports(const SwitchPart& part) {
  return part.ports > 0 && part.port_bandwidth && *part.port_bandwidth > BytesPerSecond(0);
}

/// A figure of a switch by its ports, from those of the catalogue that state it.
template <class Q>
std::optional<Q> by_ports(const SwitchPart& part, const Catalog& catalog, std::optional<Q> SwitchPart::*figure) {
  if (!has_ports(part)) return std::nullopt;
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const std::string& id : catalog.ids("switches")) {
    const SwitchPart* other = catalog.find<SwitchPart>(id);
    if (other == nullptr || !has_ports(*other) || !(other->*figure) || !(*(other->*figure) > Q(0))) continue;
    const double rate = std::log(other->port_bandwidth->in(1_Gbps));
    const double each = std::log((other->*figure)->value() / other->ports);
    n += 1;
    x += rate;
    y += each;
    xx += rate * rate;
    xy += rate * each;
  }
  const double spread = n * xx - x * x;
  if (n < 2 || !(spread > 1e-9 * n * xx)) return std::nullopt;
  const double exponent = (n * xy - x * y) / spread;
  const double at_one = (y - exponent * x) / n;
  return Q(part.ports * std::exp(at_one + exponent * std::log(part.port_bandwidth->in(1_Gbps))));
}

}  // namespace

std::optional<Dollars> estimated_price(const SwitchPart& part, const Catalog& catalog) {
  return by_ports(part, catalog, &SwitchPart::price);
}

std::optional<Watts> estimated_power(const SwitchPart& part, const Catalog& catalog) {
  return by_ports(part, catalog, &SwitchPart::typical_power);
}

}  // namespace stepcast
