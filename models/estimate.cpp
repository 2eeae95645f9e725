#include "models/estimate.hpp"

#include <algorithm>

#include "models/estimate/layer_sums.hpp"
#include "models/estimate/pipeline_stages.hpp"
#include "models/estimate/replica_stages.hpp"
#include "models/estimate/step_account.hpp"
#include "models/estimate/step_end.hpp"
#include "models/power/average_power.hpp"

namespace stepcast {

namespace {

/// The two ends of a pipeline add up the gradients of tied embeddings.
Seconds tied_embedding(const ReplicaStages& stages, StepAccount& account) {
  const Job& first = stages.at(0);
  const Job& last = stages.at(stages.count() - 1);
  const std::optional<TiedEmbedding> tied = tied_embedding_sum(first);
  if (!tied) return Seconds(0);
  Seconds time = tied->cost.alone(first.interconnect, tied->pair);
  if (&first != &last) time = std::max(time, tied_embedding_sum(last)->cost.alone(last.interconnect, tied->pair));
  const double ends = 2 / static_cast<double>(stages.count());
  account.add_replicas(CollectiveKind::all_reduce, 2 * time, time * ends);
  // The stages between wait for the norm of all gradients.
  account.step().bubble += time * (1 - ends);
  return time;
}

/// Of the nodes that the replica's stages lie on.
PowerModel power_of_stages(const ReplicaStages& stages) {
  if (stages.scenario().other_kinds.empty()) return power_model(stages.scenario());
  std::vector<PowerModel> kinds;
  for (std::size_t s = 0; s < stages.count(); ++s) {
    kinds.push_back(power_of_own_kind(*stages.at(s).scenario));
    kinds.back().nodes = 1;
  }
  return power_of_kinds(std::move(kinds));
}

void set_power(StepBreakdown& step, const ReplicaStages& stages) {
  const PowerModel model = power_of_stages(stages);
  step.average_device_power = average_device_power(step, model);
  step.peak_device_power = std::max(model.device_compute, step.average_device_power);
}

/// The step of a class of replicas, which waits for the others where replicas meet.
StepBreakdown step_of(const Job& job, const ReplicaClass& replicas) {
  const ReplicaStages stages(job, replicas);
  StepAccount account(stages.count());
  StepBreakdown& step = account.step();
  add_layers(step, stages);
  const PipelineStages pipeline(stages);
  pipeline.add_messages(account);
  const SynchronizationPlan& plan = stages.plan();
  const bool each = (plan.sharded_parameters && !plan.kept_after_backward) || plan.gather_each_forward;
  const StepEnd end = each ? sharded_step(stages, pipeline, account) : replicated_step(stages, pipeline, account);
  const Seconds passes = end.replicas + tied_embedding(stages, account);
  for (std::size_t stage = 0; stage < stages.count(); ++stage)
    step.optimizer = std::max(step.optimizer, stages.at(stage).optimizer);
  const Seconds fixed = stages.scenario().framework->step_overhead;
  step.overhead = fixed + step.host;
  step.step_time = passes + step.optimizer + fixed;
  pipeline.add_waiting(account, end.pipeline);
  set_power(step, stages);
  return step;
}

}  // namespace

StepBreakdown estimate(const Job& job) {
  const std::vector<ReplicaClass>& classes = job.fold.classes;
  if (classes.size() == 1) return step_of(job, classes.front());
  std::vector<StepBreakdown> of_class;
  of_class.reserve(classes.size());
  for (const ReplicaClass& replicas : classes) of_class.push_back(step_of(job, replicas));
  Seconds step;
  for (const StepBreakdown& one : of_class) step = std::max(step, one.step_time);
  StepBreakdown mean;
  const PowerModel power = power_model(*job.scenario);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double share = static_cast<double>(classes[c].replicas) / job.scenario->degrees.dp;
    // Whoever is done earlier waits for the slowest.
    of_class[c].synchronization_wait += step - of_class[c].step_time;
    of_class[c].step_time = step;
    of_class[c].average_device_power = average_device_power(of_class[c], power);
    add(mean, of_class[c], share);
  }
  mean.step_time = step;
  return mean;
}

double closed_form_deviation(const Scenario& scenario) {
  const Degrees& degrees = scenario.degrees;
  // With few micro-batches the order of chunks counts, and of what meets on links, and neither is played.
  const bool reordered =
      scenario.schedule == PipelineSchedule::interleaved || scenario.schedule == PipelineSchedule::zero_bubble;
  const double by_schedule = reordered && degrees.micro_batches <= 4L * degrees.pp ? 0.10 : 0.05;
  // What every micro-batch gathers or reduces meets the stages' own traffic, which is not played either.
  const SynchronizationPlan plan = synchronization_plan(scenario);
  if (plan.accumulated == 0 && !plan.kept_after_backward) return by_schedule;
  return std::max(by_schedule, degrees.pp > 1 ? 0.25 : 0.10);
}

}  // namespace stepcast
