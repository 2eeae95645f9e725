#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/accuracy_figures.hpp"
#include "calibration/validation/prediction_of_run.hpp"
#include "calibration/validation/ranking.hpp"
#include "calibration/validation/scaling.hpp"

namespace stepcast {

/// How many of a set's worst rows a report shows.
inline constexpr std::size_t kWorstRows = 10;

/// How well a set is predicted. The figures of the set itself are over its covered rows that no source doubts; `rows`
/// and `covered` count every row.
struct SetScore : AccuracyFigures {
  std::string name;
  std::map<std::string, int> reasons;                   ///< of rows that are not covered
  std::map<std::string, AccuracyFigures> accelerators;  ///< sound rows by accelerator
  std::map<std::string, ScalingScore> scaling;          ///< sound rows by framework, where groups have several sizes
  AccuracyFigures doubtful;                             ///< rows that their source marks
  std::map<std::string, int> doubts;                    ///< the marks, and how many rows have each
  AccuracyFigures all;                                  ///< every covered row, doubted or not
  AccuracyFigures fully_stated;                         ///< sound rows whose source states every input
  std::vector<RankedGroup> groups;                      ///< of one machine; points into `runs`
  std::vector<const PredictedRun*> worst;               ///< sound rows, largest error first; points into `runs`
  std::vector<PredictedRun> runs;                       ///< all, in the order of the file
  SetScore() = default;
  SetScore(SetScore&&) noexcept = default;
  SetScore& operator=(SetScore&&) noexcept = default;
};

SetScore score(const std::string& name, std::vector<PredictedRun> runs);

/// The figures over the rows of all sets together.
SetScore total_of(const std::vector<SetScore>& sets);

}  // namespace stepcast
