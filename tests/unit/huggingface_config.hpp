#pragma once

#include <fstream>
#include <optional>
#include <string>

#include "calibration/importers/models/huggingface.hpp"
#include "tests/scratch_folder.hpp"

namespace stepcast::test::huggingface {

/// The model of a config.json with this text.
inline ImportedModel of(const std::string& config) {
  static const ScratchFolder folder;
  const std::filesystem::path file = folder / "m.json";
  std::ofstream(file) << config;
  return import_huggingface(file, std::nullopt);
}

/// What is wrong with it; empty where it imports.
inline std::string faults_of(const std::string& config) {
  try {
    of(config);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace stepcast::test::huggingface
