#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/prior_fit.hpp"
#include "fields/field_table.hpp"
#include "hardware-catalog/parts.hpp"
#include "models/frameworks/framework.hpp"

namespace stepcast {

/// Catalogue that a constant's profile is of.
enum class ProfileKind { compute, framework };
template <>
struct EnumNames<ProfileKind> {
  static constexpr std::array names{"compute", "framework"};
};

/// A constant that training runs determine, in one key (or several of equal value) of one profile or of several that
/// share it: one row of calibration/fit/training/constants.json.
struct TrainingConstant {
  std::string name;
  ProfileKind kind = ProfileKind::framework;
  std::vector<std::string> profiles;  ///< ids
  std::vector<std::string> keys;      ///< of their JSON; `map.entry` for an entry of a map
  std::string times;  ///< another key of the same profile that the value is a multiple of; empty: it is the value
  double prior = 0;   ///< in the key's unit
  double spread = 0;  ///< standard deviation of the logarithm
  double least = 0, most = 0;
  std::string source;  ///< of the prior
  static const FieldTable<TrainingConstant>& fields();

  [[nodiscard]] PriorConstant prior_constant() const { return {name, prior, spread, least, most}; }
  [[nodiscard]] bool is_of(ProfileKind which, const std::string& id) const;
};

/// Reads constants.json. Throws InputError with every fault.
std::vector<TrainingConstant> read_training_constants(const std::filesystem::path& file);

/// Sets a constant in a profile that it is of. Throws std::logic_error when the profile has no such key.
void set_constant(const TrainingConstant& constant, double value, ComputeProfile& profile);
void set_constant(const TrainingConstant& constant, double value, FrameworkProfile& profile);

}  // namespace stepcast
