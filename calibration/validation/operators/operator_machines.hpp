#pragma once

#include <map>
#include <optional>
#include <string>

#include "calibration/validation/operators/completed_profile.hpp"
#include "calibration/validation/operators/prediction.hpp"

namespace stepcast {

/// What operators of one accelerator are predicted with: its machine and the profile that the machine points to.
class CompletedMachine {
 public:
  CompletedMachine(const OperatorFamily& own, const std::vector<OperatorFamily>& nearest);
  [[nodiscard]] OperatorMachine machine() const;

 private:
  const Accelerator* accelerator_;
  OperatorProfile profile_;
  std::vector<const OperatorProfile*> siblings_;
  const ComputeProfile* compute_;
};

/// The accelerators of a catalogue, each with constants of all operators that can be said something about: its
/// family's, completed by rule (completed_profile). Reads what it is asked for once. The catalogue must outlive it.
class OperatorMachines {
 public:
  /// Throws InputError when an accelerator of the catalogue is faulty.
  explicit OperatorMachines(const Catalog& catalog);

  /// Predicts one operator, or says why not.
  OperatorPrediction predict(const MeasuredOperator& measured);

  /// The family of an accelerator of the catalogue, and those whose constants stand for it.
  [[nodiscard]] OperatorFamily family_of(const Accelerator& part) const;
  [[nodiscard]] std::vector<OperatorFamily> nearest_of(const OperatorFamily& own) const;
  /// Of a table's spelling; null for none.
  [[nodiscard]] const Accelerator* accelerator(const std::string& spelling) const;

 private:
  [[nodiscard]] OperatorFamily family(const std::string& id) const;

  const Catalog& catalog_;
  std::map<std::string, const Accelerator*> typical_;  ///< by family: what most FLOPs of a cycle are of
  std::map<std::string, CompletedMachine> machines_;   ///< by accelerator
};

/// Predicts one operator with the machine looked up. Throws InputError when an entry of the catalogue is faulty.
OperatorPrediction predict_operator(const MeasuredOperator& measured, const Catalog& catalog);

}  // namespace stepcast
