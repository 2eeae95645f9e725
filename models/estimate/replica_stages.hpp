#pragma once

#include <vector>

#include "models/parallelism/job.hpp"
#include "models/parallelism/synchronization.hpp"

namespace stepcast {

/// The pipeline of a class of replicas: its stages, each on nodes in a state of its own.
class ReplicaStages {
 public:
  /// Both must outlive it.
  ReplicaStages(const Job& job, const ReplicaClass& replicas)
      : job_(job),
        replicas_(replicas),
        plan_(synchronization_plan(*job.scenario)),
        count_(static_cast<std::size_t>(job.scenario->degrees.pp)),
        micro_batches_(static_cast<double>(job.scenario->degrees.micro_batches)),
        reductions_(static_cast<double>(reductions_of(plan_, job.scenario->degrees.micro_batches))) {}

  [[nodiscard]] const Job& job() const { return job_; }
  [[nodiscard]] const ReplicaClass& replicas() const { return replicas_; }
  [[nodiscard]] const Scenario& scenario() const { return *job_.scenario; }
  [[nodiscard]] const SynchronizationPlan& plan() const { return plan_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  /// Of one step.
  [[nodiscard]] double micro_batches() const { return micro_batches_; }
  /// How often a step reduces a chunk's gradients.
  [[nodiscard]] double reductions() const { return reductions_; }
  /// Of a stage's nodes: index into Fold::states.
  [[nodiscard]] int state(std::size_t stage) const { return replicas_.state[stage]; }
  /// The job as it is on a stage's nodes.
  [[nodiscard]] const Job& at(std::size_t stage) const { return job_.in_state(state(stage)); }
  /// Whether two stages hold the same layers, chunk for chunk, on nodes in the same state.
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const;
  /// Micro-batches of a chunk whose forward pass is merged with a backward pass.
  [[nodiscard]] double merged_of_chunk(int stage) const;

 private:
  const Job& job_;
  const ReplicaClass& replicas_;
  const SynchronizationPlan plan_;
  std::size_t count_;
  double micro_batches_, reductions_;
};

}  // namespace stepcast
