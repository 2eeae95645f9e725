#pragma once

#include <string>
#include <vector>

#include "calibration/validation/observations.hpp"
#include "calibration/validation/operators/left_out_families.hpp"
#include "calibration/validation/recorded_accuracy.hpp"
#include "calibration/validation/report/validation_scores.hpp"
#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// What stands on the page of accuracy beside the figures.
struct AccuracyNotes {
  std::vector<Observation> observations;
  std::vector<GrownError> grown_errors;
  std::vector<const OperatorProfile*> operators;
  std::vector<LeftOutOperators> left_out;
  std::string weak_points, collectives;  ///< Markdown that people wrote, `calibration/accuracy/`
};

/// The page `docs/accuracy.md` as Markdown: sets, accelerators, worst groups, runs that no fit reads, observations.
std::string accuracy_page(const ValidationScores& scores, const AccuracyNotes& notes);

}  // namespace stepcast
