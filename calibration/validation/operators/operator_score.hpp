#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/accuracy_figures.hpp"
#include "calibration/validation/operators/operator_machines.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// One accelerator's operators of one class: what a set's line is broken down into.
struct OperatorGroup {
  std::string accelerator, format;
  std::string figure;  ///< "time" or "power"
  AccuracyFigures errors;
  int estimated = 0;  ///< rows predicted with constants that measurements of the family did not make
};

/// A covered row's time or power, for drawings.
struct OperatorPoint {
  int line = 0;  ///< of the file
  std::string accelerator;
  double predicted = 0, measured = 0;  ///< s or W
};

/// How well a set of operators is predicted. Rows that their source or docs/sources.md doubts, and accelerators whose
/// tables are doubted whole, count like the others: nothing is dropped.
struct OperatorSetScore {
  std::string name;
  std::string figure;                 ///< what `errors` are of: power where the set measures it, else time
  AccuracyFigures errors;             ///< and rank correlation of times
  std::vector<OperatorGroup> groups;  ///< by accelerator and format
  std::map<std::string, int> reasons;
  std::map<std::string, int> estimates;  ///< rows by whose constants they go, where not their own family's
  std::vector<OperatorPoint> points;     ///< of `figure`
};

OperatorSetScore score_operators(const OperatorSet& set, const Catalog& catalog);

/// The ten covered rows with the largest errors, largest first.
std::vector<OperatorPoint> worst_of(const OperatorSetScore& score);

/// Text of scores: one line a set, then one a group; at most 110 columns.
std::string operator_report(const std::vector<OperatorSetScore>& scores);
/// The same keys as training sets', and `groups`.
Json operator_json(const OperatorSetScore& score);

}  // namespace stepcast
