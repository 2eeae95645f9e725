#pragma once

#include <string>
#include <vector>

#include "calibration/validation/report/validation_scores.hpp"

namespace stepcast {

/// Points of per cent by which a set's mean error may exceed the recorded one.
inline constexpr double kToleratedGrowth = 0.5;

/// An error that grew, and why that was accepted: a row of `calibration/accuracy/grown-errors.csv`.
struct GrownError {
  std::string set;  ///< or "SET memory"
  double old_pct = 0, new_pct = 0;
  std::string why;
};

/// The figures of sets as `calibration/accuracy/recorded.json` holds them: mean error, that of peaks of memory, and
/// rows covered.
Json recorded_form(const ValidationScores& scores);

/// What is worse than recorded, a sentence each: an error of a set or of its peaks of memory more than the tolerated
/// growth above, fewer rows covered of no more rows, or a set that nobody recorded.
std::vector<std::string> worse_than_recorded(const ValidationScores& scores, const Json& recorded);

/// Of these, the grown errors that no row of `accepted` names with the recorded and the new figure (to 0.1).
std::vector<std::string> unexplained_growth(const ValidationScores& scores, const Json& recorded,
                                            const std::vector<GrownError>& accepted);

/// Reads the accepted ones. Throws InputError.
std::vector<GrownError> read_grown_errors(const std::filesystem::path& file);

}  // namespace stepcast
