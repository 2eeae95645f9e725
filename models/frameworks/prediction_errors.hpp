#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <string>

#include "fields/field_table.hpp"

namespace stepcast {

struct Scenario;

/// What a prediction of a step time rests on. A: measured runs of this framework on this accelerator. B: measured runs
/// of either, not together. C: runs of one of the two; the other by a sibling or its datasheet. D: neither.
enum class EvidenceGrade { together, apart, one, none };
template <>
struct EnumNames<EvidenceGrade> {
  static constexpr std::array names{"A", "B", "C", "D"};
};

/// How far off predictions of a framework's runs were, where the constants had been fitted without the run's model.
struct FrameworkErrors {
  std::map<std::string, double> runs;      ///< by accelerator
  std::map<std::string, double> error_80;  ///< by accelerator: 80 % of runs are no further off, %
  double other_accelerator = 0;            ///< the same with the run's accelerator left out of the fit; 0: only one
  double unfitted = 0;                     ///< the same with every run of the framework left out
  static const FieldTable<FrameworkErrors>& fields();
};

/// Errors of predictions in cross-validation: models/frameworks/prediction-errors.json, written by
/// `stepcast-fit-training`.
struct PredictionErrors {
  std::map<std::string, FrameworkErrors> frameworks;  ///< by id
  double other_framework = 0;                         ///< with every run of the framework left out, %
  std::string source;
  static const FieldTable<PredictionErrors>& fields();
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

/// Grade and interval of a scenario's step time.
ExpectedError expected_error(const Scenario& scenario, const PredictionErrors& errors);

}  // namespace stepcast
