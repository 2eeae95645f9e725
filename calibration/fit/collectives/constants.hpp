#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "hardware-catalog/communication_profiles.hpp"

namespace stepcast::fit {

/// The profiles that a fit writes, by id.
struct Profiles {
  std::map<std::string, LinkProfile> links;
  std::map<std::string, NetworkProfile> networks;
  std::map<std::string, LibraryProfile> libraries;
};

/// One constant of one profile. The fit moves its logarithm: value = prior · exp(spread · y), and y is drawn to 0.
struct Constant {
  std::string profile;  ///< id
  std::string key;      ///< of its JSON entry, unit included
  double prior = 0;     ///< in the key's unit
  double spread = 0;    ///< of the logarithm: what the prior's sources differ by
  std::function<void(Profiles&, double)> set;
};

/// Every constant that is fitted, with its prior. Priors: the benchmark fit of 2026-11 and, for hops, NCCL's tables
/// (docs/sources.md), rounded; spreads: how far machines of a kind lay apart there.
std::vector<Constant> fitted_constants();

/// Shipped profiles to start from: what is not fitted keeps its value.
Profiles shipped_profiles(const Catalog& catalog);

void apply(const std::vector<Constant>& constants, const std::vector<double>& values, Profiles& profiles);

}  // namespace stepcast::fit
