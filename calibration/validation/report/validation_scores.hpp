#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibration/collectives/collective_score.hpp"
#include "calibration/validation/operators/operator_score.hpp"
#include "calibration/validation/score.hpp"

namespace stepcast {

/// Scores of sets of every kind, as one call of `stepcast validate` makes them.
struct ValidationScores {
  std::string fidelity;
  std::vector<SetScore> runs;
  SetScore total;  ///< of all runs
  std::vector<CollectiveScore> collectives;
  std::vector<OperatorSetScore> operators;
  std::vector<std::string> notes;  ///< what a reader of the figures should know of the files
};

/// A set's name and figures, whatever its kind, in the order of reports.
struct NamedFigures {
  std::string name;
  AccuracyFigures figures;
};
std::vector<NamedFigures> figures_of_sets(const ValidationScores& scores);

/// A row as people find it again: its id, or its line with model, number and kind of devices.
std::string row_title(const MeasuredRun& run);
/// "1.2 s", "4.06 k tok/s": a value of a metric.
std::string metric_text(double value, Metric metric);

/// What a report shows of the groups in which configurations are ranked.
enum class RegretDetail { figures, groups };

/// Plain text of at most 110 columns.
std::string validation_text(const ValidationScores& scores, RegretDetail detail);

/// `{"sets": [...], "total": {...}}`; docs/guide/validate.md names the keys.
Json validation_json(const ValidationScores& scores, RegretDetail detail);

/// One self-contained page: predicted against measured as drawings, and the tables of the text.
std::string validation_html(const ValidationScores& scores);

}  // namespace stepcast
