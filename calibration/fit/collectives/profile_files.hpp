#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "calibration/fit/collectives/solver.hpp"

namespace stepcast::fit {

/// FNV-1a (64 bit) over the bytes of the data files, in order.
class DataHash {
 public:
  void add(const std::filesystem::path& file);
  [[nodiscard]] std::string hex() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;
};

/// Writes the profiles with the solution's values, their intervals, the date and the hash of the data, into
/// link-profiles/, network-profiles/ and library-profiles/ of `folder`. What was not fitted keeps value and source.
void write_profiles(const std::vector<Constant>& constants, const Solution& solution, const Profiles& shipped,
                    const std::filesystem::path& folder, const std::string& date, const std::string& hash);

}  // namespace stepcast::fit
