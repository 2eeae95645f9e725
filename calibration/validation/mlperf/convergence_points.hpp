#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/csv_table.hpp"

namespace stepcast {

/// Samples that runs of MLPerf's reference implementations needed to reach a benchmark's quality target, by global
/// batch: the reference convergence points that results are normalised to.
class ConvergencePoints {
 public:
  /// A table with the columns benchmark, global_batch and samples_to_target. Throws InputError.
  explicit ConvergencePoints(const CsvTable& table);
  /// The shipped table, `mlperf-convergence.csv`.
  static const ConvergencePoints& shipped();

  /// Between two batches linearly, as MLPerf's own check interpolates; below the smallest as at the smallest, because
  /// smaller batches do not need fewer samples than noise of the gradient leaves; beyond the largest unknown.
  [[nodiscard]] std::optional<double> samples(const std::string& benchmark, double global_batch) const;
  [[nodiscard]] bool has(const std::string& benchmark) const;

 private:
  struct Point {
    std::string benchmark;
    double batch = 0, samples = 0;
  };
  std::vector<Point> points_;  ///< by benchmark, then by batch
};

}  // namespace stepcast
