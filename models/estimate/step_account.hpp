#pragma once

#include "models/step_breakdown.hpp"

namespace stepcast {

/// Where a closed-form step's time goes, as means over the stages of a pipeline.
class StepAccount {
 public:
  /// Of a pipeline with so many stages.
  explicit StepAccount(std::size_t stages) : stages_(static_cast<double>(stages)) {}

  [[nodiscard]] StepBreakdown& step() { return step_; }
  [[nodiscard]] StepBreakdown::Communication& communication(CollectiveKind kind, Dimension dimension) {
    return step_.communication[static_cast<std::size_t>(kind)][static_cast<std::size_t>(dimension)];
  }
  /// Traffic of the replicas: in total as a sum over the stages, exposed as a mean.
  void add_replicas(CollectiveKind kind, Seconds total, Seconds exposed);
  /// Operators that take longer beside a collective still compute.
  void stretch_computation(Seconds by);

 private:
  double stages_;
  StepBreakdown step_;
};

}  // namespace stepcast
