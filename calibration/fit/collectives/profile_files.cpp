#include "calibration/fit/collectives/profile_files.hpp"

#include <fmt/format.h>

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

template <class T>
void annotate(T& profile, const std::string& key, double value, double deviation, const std::string& source) {
  profile.intervals[key] = {rounded(value * std::exp(-deviation), 4), rounded(value * std::exp(deviation), 4)};
  profile.provenance.sources[key] = source;
  profile.provenance.evidence[key] = Evidence::measured;
}

}  // namespace

void write_profiles(const std::vector<Constant>& constants, const PriorFit& solution, const Profiles& shipped,
                    const std::filesystem::path& folder, const std::string& date, const std::string& hash) {
  Profiles out = shipped;
  const std::string source =
      fmt::format("stepcast-fit-collectives, {}, data {}: measured collectives, 68 % interval beside", date, hash);
  for (std::size_t i = 0; i < constants.size(); ++i) {
    const Constant& constant = constants[i];
    const double value = rounded(solution.values[i], 4);
    constant.set(out, value);
    const double deviation = solution.deviations[i];
    if (const auto link = out.links.find(constant.profile); link != out.links.end())
      annotate(link->second, constant.key, value, deviation, source);
    for (auto& [id, network] : out.networks)
      if (id == constant.profile || (constant.key == "send_share" && !network.host_memory))
        annotate(network, constant.key, value, deviation, source);
    if (constant.profile == "nccl")
      for (auto& [id, library] : out.libraries) annotate(library, constant.key, value, deviation, source);
  }
  write(out.links, folder / "link-profiles");
  write(out.networks, folder / "network-profiles");
  write(out.libraries, folder / "library-profiles");
}

}  // namespace stepcast::fit
