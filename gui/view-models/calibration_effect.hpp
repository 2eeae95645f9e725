#pragma once

#include <filesystem>
#include <vector>

#include "fields/json_text.hpp"
#include "gui/view-models/exhibit.hpp"

namespace stepcast {

/// A scenario whose prediction may rest on a calibration.
struct NamedScenario {
  QString name;
  Json document;
};

/// Step times with and without a calibration, in closed form, and why they rest on it or not. `directories`: the
/// catalogue without it, in order of precedence. Throws InputError when the calibration cannot be read.
Exhibit calibration_effect(const std::vector<NamedScenario>& scenarios, const std::filesystem::path& calibration,
                           std::vector<std::filesystem::path> directories);

}  // namespace stepcast
