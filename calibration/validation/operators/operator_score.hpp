#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/validation/operators/prediction.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

/// Errors over rows in per cent; null where there are none.
struct OperatorErrors {
  std::size_t rows = 0, covered = 0;
  std::optional<double> mape, median, p90, max;
  std::optional<double> bias;  ///< geometric mean of predicted over measured, less one
};

/// One accelerator's operators of one class: what a set's line is broken down into.
struct OperatorGroup {
  std::string accelerator, format;
  std::string figure;  ///< "time" or "power"
  OperatorErrors errors;
};

/// How well a set of operators is predicted. Rows that their source or OPERATORS.md doubts, and accelerators whose
/// tables are doubted whole, count like the others: nothing is dropped.
struct OperatorSetScore {
  std::string name;
  std::string figure;  ///< what `errors` are of: power where the set measures it, else time
  OperatorErrors errors;
  std::vector<OperatorGroup> groups;  ///< by accelerator and format
  std::map<std::string, int> reasons;
  std::optional<double> kendall_tau;
};

OperatorSetScore score_operators(const OperatorSet& set, const Catalog& catalog);

/// Text of scores: one line a set, then one a group; at most 110 columns.
std::string operator_report(const std::vector<OperatorSetScore>& scores);
/// The same keys as training sets', and `groups`.
Json operator_json(const OperatorSetScore& score);

}  // namespace stepcast
