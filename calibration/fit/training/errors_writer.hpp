#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/training/training_points.hpp"

namespace stepcast {

/// ln(predicted / measured) of every point by fits that did not see its model, its accelerator, or its framework.
struct LeftOutLogs {
  std::vector<double> models, accelerators, frameworks;
};

/// Writes one fit's part of models/frameworks/prediction-errors.json of a source tree, that of a list of constants: how
/// far off predictions were in cross-validation, for intervals of new ones. `source` names the fit. Throws InputError
/// when the file that is there is faulty.
void write_prediction_errors(const std::vector<TrainingPoint>& points, const LeftOutLogs& logs, const std::string& list,
                             const std::string& source, const std::filesystem::path& tree);

}  // namespace stepcast
