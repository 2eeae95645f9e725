#include "models/updates/actor_step.hpp"

#include <algorithm>
#include <vector>

#include "models/collectives/peer_ports.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/updates/worker_step.hpp"
#include "models/workload/key_values.hpp"

namespace stepcast {

namespace {

/// Reading one prompt.
Seconds prompt_time(const Scenario& token, int tokens) {
  if (tokens <= 0) return Seconds(0);
  Scenario prompt = token;
  prompt.seq_len = tokens;
  prompt.degrees.micro_batch = 1;
  return forward_of(lower(prompt));
}

/// Time from a sequence's prompt to its last token with so many under way on a copy of the model: every token of all of
/// them reads the weights once and each one's keys and values, and prompts are read in between.
Seconds sequence_time(const Scenario& learners, const Scenario& token, long under_way, Seconds prompt) {
  const ActorSpec& actors = *learners.spec.strategy.actors;
  Scenario shared = token;
  shared.degrees.micro_batch = under_way;
  const Job job = lower(shared);
  const double generated = learners.seq_len - actors.prompt_tokens;
  const double held = actors.prompt_tokens + generated / 2;
  const Bytes kept(key_value_bytes(*token.model->transformer, parameter_bytes(token)) * held *
                   static_cast<double>(under_way) / actors.tensor_parallel);
  const Seconds each = forward_of(job) + kept / job.device.memory_bandwidth;
  return generated * each + static_cast<double>(under_way) * prompt;
}

/// A sequence's time by how many a copy has under way, at powers of two and at the most it may have.
std::vector<SampleTime> sequence_times(const Scenario& learners, const Scenario& token) {
  const ActorSpec& actors = *learners.spec.strategy.actors;
  const Seconds prompt = prompt_time(token, actors.prompt_tokens);
  std::vector<SampleTime> out;
  for (long under_way = 1;; under_way *= 2) {
    const long count = std::min<long>(under_way, actors.concurrent);
    out.push_back({static_cast<double>(count), sequence_time(learners, token, count, prompt)});
    if (count == actors.concurrent) return out;
  }
}

/// New weights make old keys and values useless: a copy computes those of all its sequences under way anew, each at
/// their mean length (Fu et al. 2025, arXiv 2505.24298, section 4.1).
Seconds interruption_time(const Scenario& learners, const Scenario& token) {
  const ActorSpec& actors = *learners.spec.strategy.actors;
  if (!actors.interruptible || actors.samples_per_s) return Seconds(0);
  return prompt_time(token, (learners.seq_len + actors.prompt_tokens) / 2);
}

/// Where sequences are cut off, over the mean of what is generated.
double longest_of(const Scenario& learners, const ActorSpec& actors) {
  if (actors.max_tokens <= 0) return 0;
  return static_cast<double>(actors.max_tokens - actors.prompt_tokens) / (learners.seq_len - actors.prompt_tokens);
}

/// All weights to every actor's node, passed on from one to the next while they arrive (a pipelined chain).
Seconds broadcast_time(const Job& learners, const Scenario& token) {
  const Job actors = lower(token);
  const BytesPerSecond from = peer_ports_of(learners.interconnect).node;
  const PeerPorts to = peer_ports_of(actors.interconnect);
  const Bytes weights(parameter_count(*token.model) * parameter_bytes(*learners.scenario));
  // Without a network between them both lie on one node, whose memory holds them.
  if (!(from > BytesPerSecond(0)) || !(to.node > BytesPerSecond(0))) return Seconds(0);
  return weights / std::min(from, to.node) + to.hop * static_cast<double>(token.spec.cluster.nodes);
}

long copies_of(const Scenario& token, const ActorSpec& actors) {
  if (actors.samples_per_s) return actors.nodes;
  return std::max(1, token.devices() / actors.tensor_parallel);
}

}  // namespace

ActorJob actor_job(const Job& learners, Seconds learn) {
  const Scenario& scenario = *learners.scenario;
  const ActorSpec& actors = *scenario.spec.strategy.actors;
  const Scenario& token = *scenario.actors;
  ActorJob job;
  job.slots = copies_of(token, actors) * actors.concurrent;
  // A stated rate is that of a full node: each of its samples goes on at its own pace, whatever the others do.
  job.copies = actors.samples_per_s ? job.slots : copies_of(token, actors);
  job.sample = actors.samples_per_s ? std::vector<SampleTime>{{1, Seconds(actors.concurrent / *actors.samples_per_s)}}
                                    : sequence_times(scenario, token);
  job.spread = actors.length_spread;
  job.longest = longest_of(scenario, actors);
  job.interruptible = actors.interruptible;
  job.interruption = interruption_time(scenario, token);
  job.batch = scenario.spec.workload.global_batch;
  job.learn = learn;
  job.broadcast = broadcast_time(learners, token);
  job.staleness_bound = actors.staleness_bound;
  job.seed = static_cast<std::uint64_t>(scenario.spec.run.seed);
  return job;
}

UpdateOutcome wait_for_actors(StepBreakdown& breakdown, const Job& learners) {
  const Scenario& scenario = *learners.scenario;
  const ActorJob job = actor_job(learners, breakdown.step_time);
  const ActorRun run = run_actors(job);
  breakdown.synchronization_wait += run.step - breakdown.step_time;
  breakdown.step_time = run.step;
  breakdown.average_device_power = Watts(0);
  UpdateOutcome out;
  out.mode = "actors and learners";
  out.workers = scenario.degrees.dp;
  out.exchange = job.broadcast;
  out.staleness = run.staleness;
  ActorOutcome& actors = out.actors.emplace();
  actors.copies = static_cast<int>(copies_of(*scenario.actors, *scenario.spec.strategy.actors));
  actors.samples_per_s = static_cast<double>(job.slots) / job.sample.back().time.value();
  actors.under_way = run.under_way / actors.copies;
  actors.idle = run.idle;
  actors.sample = run.sample;
  actors.broadcast = job.broadcast;
  return out;
}

}  // namespace stepcast
