#include "models/phases/evaluation_step.hpp"

#include <algorithm>

#include "models/closed_form.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/unit_times.hpp"
#include "models/power/average_power.hpp"

namespace stepcast {

namespace {

/// What a chunk's forward pass waits for activations that leave for host memory, which an evaluation keeps nowhere.
Seconds offload_wait(const Job& job, const Chunk& chunk) {
  Seconds sum;
  for (const int kind : chunk.layer_kinds)
    for (const Piece& piece : job.layer_kinds[static_cast<std::size_t>(kind)].forward.pieces)
      if (piece.name == kOffloadWait) sum += piece.duration;
  return sum;
}

/// Forward pass of one micro-batch on each stage.
std::vector<Seconds> forward_of_stages(const Job& job) {
  std::vector<Seconds> stages(static_cast<std::size_t>(job.scenario->degrees.pp));
  for (const Chunk& chunk : job.chunks)
    stages[static_cast<std::size_t>(chunk.stage)] += chunk.forward - offload_wait(job, chunk);
  if (!synchronization_plan(*job.scenario).sharded_parameters) return stages;
  SyncTrafficCache known;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    Seconds gathers;
    for (const UnitTimes& unit : unit_times(job, static_cast<int>(stage), known)) gathers += unit.gather_alone;
    stages[stage] = std::max(stages[stage], gathers);
  }
  return stages;
}

/// What a device computes in the forward passes of a batch, mean over the stages.
void add_work(StepBreakdown& sum, const Job& job) {
  const double share = static_cast<double>(job.scenario->degrees.micro_batches) / job.scenario->degrees.pp;
  for (const Chunk& chunk : job.chunks)
    for (const int kind : chunk.layer_kinds)
      for (const Piece& piece : job.layer_kinds[static_cast<std::size_t>(kind)].forward.pieces) {
        if (piece.communication || piece.name == kPeerWait || piece.name == kOffloadWait) continue;
        Seconds& work = piece.name == kHostGap               ? sum.overhead
                        : piece.kind == OperatorKind::memory ? sum.memory_time
                                                             : sum.matrix_time;
        work += piece.duration * share;
      }
  sum.compute = sum.matrix_time + sum.memory_time;
}

}  // namespace

EvaluationStep evaluation_step(const Job& job, const PowerModel& power) {
  StepBreakdown step;
  const Degrees& degrees = job.scenario->degrees;
  Seconds once, slowest;
  for (const Seconds stage : forward_of_stages(job)) {
    once += stage;
    slowest = std::max(slowest, stage);
  }
  // Chunks hand on as soon as one is done, so a pipeline fills in a pass over one of them.
  step.step_time = slowest * static_cast<double>(degrees.micro_batches) + (once - slowest) / degrees.vpp;
  add_work(step, job);
  step.bubble = std::max(Seconds(0), step.step_time - step.compute - step.overhead);
  wait_for_input(step, job);
  return {step.step_time, average_device_power(step, power)};
}

}  // namespace stepcast
