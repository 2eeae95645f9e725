#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hardware-catalog/catalog.hpp"

namespace stepcast {

class ConfigurationModel;
class ForecastModel;

/// What one window works on: the catalogue with the user's own entries, the scenario and its forecast.
class Workspace {
 public:
  /// Throws InputError when a directory is not there.
  explicit Workspace(std::vector<std::filesystem::path> catalog_directories);
  ~Workspace();

  [[nodiscard]] ConfigurationModel& configuration() { return *configuration_; }
  [[nodiscard]] ForecastModel& forecast() { return *forecast_; }
  [[nodiscard]] const Catalog& catalog() const { return *catalogs_.back(); }
  /// The calibration and the user's directories, as the worker wants them.
  [[nodiscard]] std::vector<std::string> catalog_arguments() const;
  /// The user's directories alone.
  [[nodiscard]] std::vector<std::string> user_directories() const;

  /// Predictions rest on a calibration from now on (`stepcast calibrate fit`): it goes before every other entry. Empty:
  /// on the catalogue alone. Throws InputError when the file is none, and changes nothing then.
  void use_calibration(const std::filesystem::path& file);
  [[nodiscard]] const std::filesystem::path& calibration() const { return calibration_; }

  /// Where own hardware of this user is kept; made when it is first needed.
  [[nodiscard]] static std::filesystem::path own_catalog();
  /// Whether an entry of a catalogue is the user's own, from there.
  [[nodiscard]] static bool is_own(const Catalog& catalog, const std::string& kind, const std::string& id);
  /// Adds an entry to the user's own catalogue, in place of his own one of the id `replaces` (empty: of none), and
  /// reads the catalogue anew. Throws InputError with the entry's faults, or where another entry has its id, and writes
  /// nothing then.
  void add_entry(const std::string& kind, const std::string& id, const std::string& json,
                 const std::string& replaces = {});
  /// Takes an own entry out again and reads the catalogue anew.
  void remove_entry(const std::string& kind, const std::string& id);

 private:
  void open_catalog();
  void hand_out_catalog();
  void add_faults_of_names(const std::filesystem::path& entry, Diagnostics& diagnostics) const;

  std::vector<std::filesystem::path> given_;
  std::filesystem::path calibration_;
  /// The last one is in use; earlier ones stay, because forecasts may still point into them.
  std::vector<std::unique_ptr<Catalog>> catalogs_;
  std::unique_ptr<ConfigurationModel> configuration_;
  std::unique_ptr<ForecastModel> forecast_;
};

}  // namespace stepcast
