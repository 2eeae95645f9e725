#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "models/workload/workload_kind.hpp"

namespace stepcast {

struct Scenario;

/// What a prediction of a step time rests on; runs are of the scenario's kind of workload. A: measured runs of this
/// framework on this accelerator. B: on a sibling of it, or runs of either, not together. C: runs of one of the two, or
/// of both with other kinds of workloads. D: neither.
enum class EvidenceGrade { together, apart, one, none };
template <>
struct EnumNames<EvidenceGrade> {
  static constexpr std::array names{"A", "B", "C", "D"};
};

/// Measured runs of one framework, kind of workload and accelerator, and how far off they were predicted by fits that
/// had not seen them: 80 % of them were no further off, in %.
struct RunErrors {
  std::string framework;
  WorkloadKind kind = WorkloadKind::transformer;
  std::string accelerator;
  double runs = 0;
  double own_model = 0;  ///< the run's model was left out of the fit
  double unfitted = 0;   ///< the run's framework was left out
  static const FieldTable<RunErrors>& fields();
};

/// The same of a framework and kind of workload over all accelerators.
struct FrameworkErrors {
  std::string framework;
  WorkloadKind kind = WorkloadKind::transformer;
  double runs = 0;
  double other_accelerator = 0;  ///< the run's accelerator was left out; 0: there is only one
  double unfitted = 0;           ///< the run's framework was left out
  static const FieldTable<FrameworkErrors>& fields();
};

/// What one fit found: that of one list of constants.
struct FitErrors {
  std::string source;
  std::vector<RunErrors> runs;
  std::vector<FrameworkErrors> frameworks;
  static const FieldTable<FitErrors>& fields();
};

/// Errors of predictions in cross-validation: models/frameworks/prediction-errors.json, written by
/// `stepcast-fit-training`.
struct PredictionErrors {
  std::map<std::string, FitErrors> fits;                    ///< by the list of constants that was fitted
  std::map<std::string, std::string> accelerator_families;  ///< compute profile of each measured accelerator
  static const FieldTable<PredictionErrors>& fields();

  /// With every run of the framework left out of the fit, in %: the mean over frameworks with enough runs of the kind;
  /// of a kind that was never measured the largest of any.
  [[nodiscard]] double other_framework(WorkloadKind kind) const;
};

/// How far to trust the step time of a scenario.
struct ExpectedError {
  EvidenceGrade grade = EvidenceGrade::none;
  double share_80 = 0;  ///< |ln(predicted / measured)| that 80 % of like runs stayed below
  std::string why;      ///< in words
};

/// Those of a file. Throws InputError.
PredictionErrors read_prediction_errors(const std::filesystem::path& file);

/// The shipped errors; read once a process.
const PredictionErrors& prediction_errors();

/// Grade and interval of a scenario's step time. Of several kinds of nodes the worst grade, B at best, and the widest
/// interval.
ExpectedError expected_error(const Scenario& scenario, const PredictionErrors& errors);

}  // namespace stepcast
