#pragma once

#include <fstream>
#include <string>

#include "calibration/importers/models/imported_scenario.hpp"
#include "tests/scratch_folder.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::test {

/// What came of a configuration: a scenario and its notes, or faults.
struct ImportedText {
  Json scenario;
  std::string notes, faults;
};

/// Imports `text` as a file of that name by an importer of configurations.
template <typename Importer>
ImportedText import_text(const Importer& importer, const std::string& name, const std::string& text,
                         ImportTarget target) {
  const ScratchFolder folder;
  const std::filesystem::path file = folder / name;
  std::ofstream(file) << text;
  ImportedText out;
  try {
    ImportedScenario found = importer(file, target, catalog());
    out.scenario = std::move(found.scenario);
    out.notes = Json(found.notes).dump();
  } catch (const InputError& error) {
    out.faults = error.what();
  }
  return out;
}

}  // namespace stepcast::test
