#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

class Draft;

/// Scenarios that share cluster, workload and framework and differ in strategy and batch: the rules of resolve(),
/// without reading and looking up again what a strategy cannot change. For one thread at a time.
class ScenarioVariants {
 public:
  /// Throws InputError with every fault of what is shared; `file` is for its messages. Of a strategy in the
  /// specification only the framework counts. `catalog` must outlive this.
  ScenarioVariants(ScenarioSpec shared, const std::string& file, const Catalog& catalog);
  ScenarioVariants(const ScenarioVariants&) = delete;
  ScenarioVariants& operator=(const ScenarioVariants&) = delete;
  ~ScenarioVariants();

  /// The scenario with a strategy (whose framework is the shared one) and a batch, as resolve() would make it but for
  /// `assumptions`. Null where a rule forbids it: faults() says which. Valid until the next call.
  const Scenario* with(const StrategySpec& strategy, long global_batch);
  [[nodiscard]] const std::vector<Fault>& faults() const { return diagnostics_.faults(); }
  /// What is shared; degrees and everything that follows from them are those of the latest variant.
  [[nodiscard]] const Scenario& shared() const;

 private:
  Diagnostics diagnostics_;
  std::unique_ptr<Draft> draft_;
  std::shared_ptr<const FrameworkProfile> framework_;  ///< its bucket not settled
  /// With the bucket in bytes, by data-parallel ranks and bytes of a gradient's element.
  std::map<std::pair<int, double>, std::shared_ptr<const FrameworkProfile>> settled_;
};

}  // namespace stepcast
