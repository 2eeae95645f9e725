#include "models/updates/worker_step.hpp"

#include <algorithm>

#include "models/closed_form.hpp"
#include "models/parallelism/compression.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/updates/worker_noise.hpp"

namespace stepcast {

namespace {

/// Buckets that one worker's exchange is simulated in at most: enough to show what overlaps, few enough to be quick.
constexpr std::size_t kMostBuckets = 8;
/// Smallest bucket of frameworks that send tensor by tensor.
constexpr Bytes kTensorBucket = 4_MiB;

/// Gradients in the order in which the backward pass makes them: parameters, and the share of the pass done by then.
struct Ready {
  double parameters = 0;
  double done = 0;
};

std::vector<Ready> layers_backwards(const Job& job) {
  std::vector<Ready> out;
  Seconds sum;
  for (auto chunk = job.chunks.rbegin(); chunk != job.chunks.rend(); ++chunk)
    for (auto kind = chunk->layer_kinds.rbegin(); kind != chunk->layer_kinds.rend(); ++kind) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(*kind)];
      sum += layer.backward_input.total() + layer.backward_weight.total();
      out.push_back({layer.parameters + layer.expert_parameters, sum.value()});
    }
  for (Ready& layer : out) layer.done = sum > Seconds(0) ? layer.done / sum.value() : 1;
  return out;
}

/// Neighbours put together until a bucket is full.
std::vector<Ready> filled(const std::vector<Ready>& layers, double full) {
  std::vector<Ready> out;
  Ready open;
  for (const Ready& layer : layers) {
    open.parameters += layer.parameters;
    open.done = layer.done;
    if (open.parameters < full) continue;
    out.push_back(open);
    open = {};
  }
  if (open.parameters > 0) out.push_back(open);
  if (!out.empty()) out.back().done = 1;
  return out;
}

Seconds backward_of(const Job& job) {
  Seconds sum;
  for (const Chunk& chunk : job.chunks) sum += chunk.backward_input + chunk.backward_weight;
  return sum;
}

/// Time that one process needs to feed a worker's samples, which passes while the devices compute.
Seconds feeding(const Job& job) {
  const Scenario& scenario = *job.scenario;
  return scenario.framework->exchange.feed_per_sample *
         (static_cast<double>(scenario.spec.workload.global_batch) / scenario.spec.cluster.nodes);
}

}  // namespace

Seconds forward_of(const Job& job) {
  Seconds sum;
  for (const Chunk& chunk : job.chunks) sum += chunk.forward;
  return sum;
}

Bytes WorkerStep::push() const {
  Bytes sum;
  for (const Bucket& bucket : buckets) sum += bucket.push;
  return sum;
}

Bytes WorkerStep::pull() const {
  Bytes sum;
  for (const Bucket& bucket : buckets) sum += bucket.pull;
  return sum;
}

StepBreakdown worker_breakdown(const Job& job, const StepBreakdown& alone) {
  StepBreakdown out = alone;
  if (job.scenario->worker == WorkerUnit::device) {
    for (auto& of_kind : out.communication) {
      StepBreakdown::Communication& data = of_kind[static_cast<std::size_t>(Dimension::data)];
      out.step_time -= data.exposed;
      data = {};
    }
    out.step_time -= out.synchronization_wait;
    out.synchronization_wait = Seconds(0);
  }
  const Seconds unfed = feeding(job) - out.step_time;
  if (unfed > Seconds(0)) {
    out.overhead += unfed;
    out.step_time += unfed;
  }
  // By itself it has the shared storage to itself; all of them together read at once.
  wait_for_input(out, job);
  return out;
}

WorkerStep worker_step(const Job& job, const Job& lone, const StepBreakdown& alone) {
  const Scenario& scenario = *job.scenario;
  const ExchangeProfile& exchange = scenario.framework->exchange;
  const StepBreakdown own = worker_breakdown(job, alone);
  const Seconds busy = own.step_time - own.optimizer;
  const Seconds forward = forward_of(lone), backward = backward_of(lone);
  const double forward_share = forward / (forward + backward);

  WorkerStep out;
  out.forward = forward_share * busy;
  out.backward = busy - out.forward;
  out.update = own.optimizer;
  const double per_device = gradient_bytes(scenario);
  const double plain = exchange.wire_bytes > 0 ? exchange.wire_bytes : per_device;
  const Compression compression = compression_of(job, plain);
  const PulledContent content = exchange.workers_update ? PulledContent::summed_gradients : PulledContent::parameters;
  const double pulled = pulled_bytes(compression, plain, content, workers_of(scenario));
  // Parameters of a replica lie on tensor ranks in parts; LayerCost counts one device's.
  const double replica = scenario.degrees.tp;
  const std::vector<Ready> layers = layers_backwards(job);
  double all = 0;
  for (const Ready& layer : layers) all += layer.parameters;
  out.parameters = all * replica;
  const bool one = scenario.framework->bucket <= Bytes(0) && !scenario.framework->overlap_gradients;
  const Bytes limit = scenario.framework->bucket > Bytes(0) ? scenario.framework->bucket : kTensorBucket;
  const double full = one ? 2 * all : std::max(all / kMostBuckets, limit.value() / per_device);
  const Seconds compress =
      compression_time(compression, out.parameters / replica, lone.device) / static_cast<double>(kMostBuckets);
  // The last micro-batch's backward pass completes the gradients.
  const Seconds last_pass = out.backward / static_cast<double>(scenario.degrees.micro_batches);
  const bool overlap = scenario.spec.strategy.overlap_gradients.value_or(scenario.framework->overlap_gradients);
  for (const Ready& bucket : filled(layers, full)) {
    const Seconds ready = busy - (overlap ? (1 - bucket.done) * last_pass : Seconds(0));
    out.buckets.push_back({ready, Bytes(bucket.parameters * replica * compression.bytes_per_element),
                           Bytes(bucket.parameters * replica * pulled)});
  }
  out.backward += compress * static_cast<double>(kMostBuckets);
  for (WorkerStep::Bucket& bucket : out.buckets) bucket.ready += compress * static_cast<double>(kMostBuckets);
  return out;
}

}  // namespace stepcast
