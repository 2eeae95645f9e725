#pragma once

#include <string>
#include <vector>

#include "calibration/fit/training/training_points.hpp"

namespace stepcast {

/// Writes one CSV line a run: what it is, its mapping, measured and predicted time, and the parts of the prediction,
/// in ms. Residuals are judged against these columns. `left_out` holds ln(predicted / measured) with the run's model
/// left out; empty: that column stays empty.
void write_rows(const std::string& file, std::vector<TrainingPoint>& points,
                const std::vector<TrainingConstant>& constants, const std::vector<double>& values,
                const std::vector<double>& left_out);

}  // namespace stepcast
