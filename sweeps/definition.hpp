#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"
#include "sweeps/points.hpp"

namespace stepcast {

/// A scenario and what of it varies.
struct SweepDefinition {
  std::string file;  ///< name of the scenario, for messages
  Json scenario;     ///< the document that every point starts from, as written
  SweepPoints points;
  std::vector<std::filesystem::path> catalog_directories;  ///< the user's, in order (Catalog::standard)

  /// The scenario document of a point. A value that cannot be set is a fault.
  [[nodiscard]] Json document(std::int64_t point, Diagnostics& diagnostics) const;
  /// Every point is evaluated in closed form: the scenario says so and no axis changes it.
  [[nodiscard]] bool analytic() const;
};

/// What a sweep's results rest on. A store holds results of one of these: two figures in it differ by their inputs
/// alone.
struct SweepIdentity {
  std::string definition;    ///< scenario, axes and sample as JSON
  std::string file;          ///< name of the scenario
  std::string version;       ///< of the program
  std::string catalog_hash;  ///< of the whole catalogue; user directories, and calibrations given or named, included
  std::string models_hash;   ///< of framework profiles and model presets
};

SweepIdentity identity_of(const SweepDefinition& sweep);

/// The points of a definition that identity_of wrote. Throws std::runtime_error when it is none.
SweepPoints points_of(const std::string& definition);
/// The whole definition of an identity, as a task on another machine needs it.
SweepDefinition definition_of(const SweepIdentity& identity);

}  // namespace stepcast
