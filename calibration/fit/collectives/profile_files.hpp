#pragma once

#include <filesystem>
#include <string>

#include "calibration/fit/collectives/solver.hpp"

namespace stepcast::fit {

/// Writes the profiles with the solution's values, their intervals, the date and the hash of the data, into
/// link-profiles/, network-profiles/ and library-profiles/ of `folder`. What was not fitted keeps value and source.
void write_profiles(const std::vector<Constant>& constants, const PriorFit& solution, const Profiles& shipped,
                    const std::filesystem::path& folder, const std::string& date, const std::string& hash);

}  // namespace stepcast::fit
