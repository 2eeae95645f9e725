#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/training/training_constants.hpp"

namespace stepcast {

/// What a fit says about itself, beside each constant that it sets.
struct FitProvenance {
  std::string date;
  std::string data_hash;
  std::size_t runs = 0;
};

/// Writes the fitted constants into the profiles of a source tree (hardware-catalog/compute-profiles and
/// models/frameworks/profiles): value, source with its 68 % interval, and evidence (measured
/// where runs say anything of the constant, else estimated). What no constant names stays as it
/// is, letter by letter, but for figures that a profile takes over from another ("taken over from ID" as their source):
/// they are what that one has. Throws std::runtime_error when a profile has no such key.
void write_training_profiles(const std::vector<TrainingConstant>& constants, const PriorFit& fit,
                             const FitProvenance& provenance, const std::filesystem::path& tree);

}  // namespace stepcast
