#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/csv_table.hpp"
#include "calibration/validation/prediction_of_run.hpp"

namespace stepcast {

/// One figure of an observation: what the rows state, and what the model gives for the same rows.
struct ObservedFigure {
  std::string what;
  bool is_ratio = false;
  double observed = 0;
  std::optional<double> predicted;
  std::string reason;  ///< when there is no prediction
};

/// Something that measured runs show and a model must explain.
struct Observation {
  int number = 0;
  std::string title;
  std::vector<ObservedFigure> figures;
};

/// The shipped file of observations, `calibration/observations.json`, which says what its keys mean.
Json shipped_observations();
/// The set whose rows it selects.
std::string observed_set(const Json& observations);

/// Computes every figure over the rows of a table and their predictions, which are in the order of the table. Throws
/// InputError with every selection that has no rows or no figure.
std::vector<Observation> observe(const Json& observations, const CsvTable& table,
                                 const std::vector<PredictedRun>& runs);

}  // namespace stepcast
