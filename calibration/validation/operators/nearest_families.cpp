#include "calibration/validation/operators/nearest_families.hpp"

#include <algorithm>
#include <array>

namespace stepcast {
namespace {

/// Two families that are next to each other: one generation on two boards, or one generation and the next.
struct Neighbours {
  std::string_view one, other;
  bool same_generation = false;
};

/// Boards of one generation come before other generations: of equally many steps the earlier line is nearer.
constexpr std::array kNeighbours{
    Neighbours{"nvidia-hopper", "nvidia-hopper-h200", true},
    Neighbours{"nvidia-hopper-pcie", "nvidia-hopper", true},
    Neighbours{"nvidia-ampere-pcie", "nvidia-ampere", true},
    Neighbours{"nvidia-ampere-geforce", "nvidia-ampere-workstation", true},
    Neighbours{"nvidia-ada-low-power", "nvidia-ada", true},
    Neighbours{"nvidia-ada-geforce", "nvidia-ada", true},
    Neighbours{"nvidia-blackwell-gb200", "nvidia-blackwell", true},
    Neighbours{"nvidia-blackwell-b300", "nvidia-blackwell", true},
    Neighbours{"nvidia-blackwell-gb300", "nvidia-blackwell-b300", true},
    Neighbours{"amd-cdna3-mi325x", "amd-cdna3", true},
    // The workstation's multiprocessors are Ada's with Blackwell's formats: without the tensor memory of sm_100.
    Neighbours{"nvidia-blackwell-workstation", "nvidia-ada"},
    // GA102 and GDDR6 against GA100 and HBM.
    Neighbours{"nvidia-ampere-workstation", "nvidia-ampere"},
    Neighbours{"nvidia-ada", "nvidia-ampere-workstation"},
    Neighbours{"nvidia-hopper", "nvidia-ampere"},
    Neighbours{"nvidia-blackwell", "nvidia-hopper"},
    Neighbours{"nvidia-rubin", "nvidia-blackwell-gb300"},
    Neighbours{"nvidia-volta", "nvidia-ampere"},
    Neighbours{"nvidia-turing", "nvidia-volta"},
    Neighbours{"nvidia-pascal", "nvidia-volta"},
    Neighbours{"nvidia-maxwell", "nvidia-pascal"},
    Neighbours{"nvidia-kepler", "nvidia-pascal"},
    Neighbours{"amd-cdna4", "amd-cdna3"},
    Neighbours{"amd-cdna", "amd-cdna3"},
    Neighbours{"amd-vega", "amd-cdna"},
};

/// Families in steps of the table from one, itself first.
std::vector<std::string> reached_from(std::string_view family, bool same_generation_only) {
  std::vector<std::string> out{std::string(family)};
  for (std::size_t i = 0; i < out.size(); ++i)
    for (const Neighbours& pair : kNeighbours) {
      if (pair.one != out[i] && pair.other != out[i]) continue;
      if (same_generation_only && !pair.same_generation) continue;
      std::string next(pair.one == out[i] ? pair.other : pair.one);
      if (std::find(out.begin(), out.end(), next) == out.end()) out.push_back(std::move(next));
    }
  return out;
}

}  // namespace

std::vector<std::string> nearest_families(std::string_view family) {
  std::vector<std::string> out = reached_from(family, false);
  out.erase(out.begin());
  return out;
}

bool same_generation(std::string_view one, std::string_view other) {
  const std::vector<std::string> reached = reached_from(one, true);
  return std::find(reached.begin(), reached.end(), other) != reached.end();
}

}  // namespace stepcast
