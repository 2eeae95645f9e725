#pragma once

#include <filesystem>
#include <vector>

#include "calibration/fit/collectives/points.hpp"

namespace stepcast::fit {

/// Writes a CSV table with one line for each point: place, system, ranks, nodes, operation, size, measured time, and
/// the times predicted in sample and by the fit that never saw the point's system (µs; empty where there is none).
/// Throws InputError when the file cannot be written.
void write_residuals(const std::filesystem::path& file, const std::vector<Point>& points,
                     const std::vector<double>& in_sample, const std::vector<double>& left_out);

}  // namespace stepcast::fit
