#pragma once

#include <map>
#include <memory>
#include <vector>

#include "models/parallelism/lowering.hpp"
#include "models/scenario/variants.hpp"
#include "sweeps/definition.hpp"
#include "sweeps/row.hpp"

namespace stepcast {

/// The closed form of a sweep's points. Points that differ in strategy and batch alone share what does not depend on
/// them: cluster, model and framework are looked up once. For one thread.
class ClosedForm {
 public:
  /// Both must outlive this.
  ClosedForm(const SweepDefinition& sweep, const Catalog& catalog);
  ~ClosedForm();

  /// The same row as reading, resolving and predicting the point's document gives.
  SweepRow row(std::int64_t point);

 private:
  struct Family;

  /// What points of these values outside the strategy share; null when it has to be gone the long way.
  Family* family(const std::vector<const Json*>& values);
  SweepRow row_in(Family& family, std::int64_t point, const std::vector<const Json*>& values);
  [[nodiscard]] SweepRow whole_row(std::int64_t point) const;

  const SweepDefinition& sweep_;
  const Catalog& catalog_;
  std::vector<std::string> in_strategy_;  ///< by path: the key below /strategy; empty: not of the strategy
  std::vector<bool> is_batch_;            ///< by path
  std::map<std::vector<const Json*>, std::unique_ptr<Family>> families_;
  std::vector<const Json*> values_;
};

}  // namespace stepcast
