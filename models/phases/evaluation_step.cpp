#include "models/phases/evaluation_step.hpp"

#include <algorithm>

#include "models/closed_form.hpp"
#include "models/parallelism/unit_times.hpp"
#include "models/power/average_power.hpp"

namespace stepcast {

namespace {

/// What a chunk's forward pass waits for activations that leave for host memory, which an evaluation keeps nowhere.
Seconds offload_wait(const Job& job, const Chunk& chunk) {
  Seconds sum;
  for (const int kind : chunk.layer_kinds)
    for (const Piece& piece : job.layer_kinds[static_cast<std::size_t>(kind)].forward.pieces)
      if (piece.wait == Wait::offload) sum += piece.duration;
  return sum;
}

/// The job as it is on the nodes of a stage of a class of replicas.
const Job& at(const Job& job, const ReplicaClass& replicas, int stage) {
  return job.in_state(replicas.state[static_cast<std::size_t>(stage)]);
}

/// Forward pass of one micro-batch on each stage.
std::vector<Seconds> forward_of_stages(const Job& job, const ReplicaClass& replicas) {
  std::vector<Seconds> stages(static_cast<std::size_t>(job.scenario->degrees.pp));
  for (std::size_t c = 0; c < job.chunks.size(); ++c) {
    const int stage = job.chunks[c].stage;
    const Job& here = at(job, replicas, stage);
    stages[static_cast<std::size_t>(stage)] += here.chunks[c].forward - offload_wait(here, here.chunks[c]);
  }
  if (!synchronization_plan(*job.scenario).sharded_parameters) return stages;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const auto s = static_cast<int>(stage);
    SyncTrafficCache known;
    Seconds gathers;
    for (const UnitTimes& unit : unit_times(at(job, replicas, s), s, known)) gathers += unit.gather_alone;
    stages[stage] = std::max(stages[stage], gathers);
  }
  return stages;
}

/// Chunks hand on as soon as one is done, so a pipeline fills in a pass over one of them.
Seconds forward_of_batch(const Job& job, const ReplicaClass& replicas) {
  const Degrees& degrees = job.scenario->degrees;
  Seconds once, slowest;
  for (const Seconds stage : forward_of_stages(job, replicas)) {
    once += stage;
    slowest = std::max(slowest, stage);
  }
  return slowest * static_cast<double>(degrees.micro_batches) + (once - slowest) / degrees.vpp;
}

/// What a device computes in the forward passes of a batch, mean over the stages; `replicas_share`: of all replicas,
/// those of the class.
void add_work(StepBreakdown& sum, const Job& job, const ReplicaClass& replicas, double replicas_share) {
  const double share =
      replicas_share * static_cast<double>(job.scenario->degrees.micro_batches) / job.scenario->degrees.pp;
  for (std::size_t c = 0; c < job.chunks.size(); ++c) {
    const Job& here = at(job, replicas, job.chunks[c].stage);
    for (const int kind : here.chunks[c].layer_kinds)
      for (const Piece& piece : here.layer_kinds[static_cast<std::size_t>(kind)].forward.pieces) {
        if (piece.communication || piece.wait == Wait::peers || piece.wait == Wait::offload) continue;
        Seconds& work = piece.wait == Wait::kernels          ? sum.overhead
                        : piece.kind == OperatorKind::memory ? sum.memory_time
                                                             : sum.matrix_time;
        work += piece.duration * share;
      }
  }
}

}  // namespace

EvaluationStep evaluation_step(const Job& job, const PowerModel& power) {
  StepBreakdown step;
  for (const ReplicaClass& replicas : job.fold.classes) {
    // Its samples are scored when the slowest replica is done.
    step.step_time = std::max(step.step_time, forward_of_batch(job, replicas));
    add_work(step, job, replicas, static_cast<double>(replicas.replicas) / job.scenario->degrees.dp);
  }
  step.compute = step.matrix_time + step.memory_time;
  step.bubble = std::max(Seconds(0), step.step_time - step.compute - step.overhead);
  wait_for_input(step, job);
  return {step.step_time, average_device_power(step, power)};
}

}  // namespace stepcast
