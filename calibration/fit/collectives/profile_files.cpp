#include "calibration/fit/collectives/profile_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "fields/rounded.hpp"

namespace stepcast::fit {

namespace {

template <class T>
void write(const std::map<std::string, T>& profiles, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (const auto& [id, profile] : profiles) {
    std::ofstream file(folder / (id + ".json"));
    file << T::fields().write(profile).dump(2) << "\n";
  }
}

/// What a fit says of a constant.
struct Fitted {
  std::string key;
  double value, deviation;
  bool told;  ///< by measurements, not by its prior alone
};

template <class T>
void annotate(T& profile, const Fitted& fitted, const std::string& source) {
  const double low = fitted.value * std::exp(-fitted.deviation), high = fitted.value * std::exp(fitted.deviation);
  profile.intervals[fitted.key] = {rounded(low, 4), rounded(high, 4)};
  profile.provenance.sources[fitted.key] =
      fitted.told ? source : "prior of stepcast-fit-collectives, which no measured row tells; 68 % interval beside";
  profile.provenance.evidence[fitted.key] = fitted.told ? Evidence::measured : Evidence::estimated;
}

std::vector<double> spreads_of(const std::vector<Constant>& constants) {
  std::vector<double> out;
  for (const Constant& constant : constants) out.push_back(constant.spread);
  return out;
}

}  // namespace

void write_profiles(const std::vector<Constant>& constants, const PriorFit& solution, const Profiles& shipped,
                    const std::filesystem::path& folder, const std::string& date, const std::string& hash) {
  Profiles out = shipped;
  const std::string source =
      fmt::format("stepcast-fit-collectives, {}, data {}: measured collectives, 68 % interval beside", date, hash);
  const std::vector<bool> told = told_by_rows(spreads_of(constants), solution);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Constant& constant = constants[i];
    const Fitted fitted{constant.key, rounded(solution.values[i], 4), solution.deviations[i], told[i]};
    constant.set(out, fitted.value);
    if (const auto link = out.links.find(constant.profile); link != out.links.end())
      annotate(link->second, fitted, source);
    for (auto& [id, network] : out.networks)
      if (id == constant.profile || (constant.key == "send_share" && !network.host_memory))
        annotate(network, fitted, source);
    if (constant.profile == "nccl")
      for (auto& [id, library] : out.libraries) annotate(library, fitted, source);
  }
  write(out.links, folder / "link-profiles");
  write(out.networks, folder / "network-profiles");
  write(out.libraries, folder / "library-profiles");
}

}  // namespace stepcast::fit
