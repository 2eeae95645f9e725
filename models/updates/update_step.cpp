#include "models/updates/update_step.hpp"

#include <algorithm>

#include "models/memory/memory.hpp"
#include "models/parallelism/compression.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/updates/federated_run.hpp"
#include "models/updates/gossip_run.hpp"
#include "models/updates/job_ports.hpp"
#include "models/updates/local_run.hpp"
#include "models/updates/round_steps.hpp"
#include "models/updates/server_job.hpp"

namespace stepcast {

namespace {

/// Models that are averaged are exchanged in fp32, as master weights are kept.
constexpr double kModelBytes = 4;
// Averaging reads two models and writes one.
constexpr double kAveragingTraffic = 12;

struct Waits {
  Seconds step, barrier, fixed;  ///< `fixed`: the driver's
  Seconds exchange;              ///< busy time of the exchange
};

/// Makes a step shorter by a part of what the worker does itself, all of it alike; it does the same work.
void shorten(StepBreakdown& step, StepBreakdown own, Seconds by) {
  const Seconds active = own.step_time - own.synchronization_wait;
  own.synchronization_wait = Seconds(0);
  own.executed_flops = Flops(0);
  own.peak_device_power = Watts(0);
  add(step, own, -(by / active));
}

/// The worker's own breakdown with what the exchange adds. What neither the worker's work nor its waits explain is
/// communication that nothing hides.
StepBreakdown composed(const StepBreakdown& own, const Waits& waits, CollectiveKind kind) {
  StepBreakdown out = own;
  out.step_time = waits.step;
  out.synchronization_wait += waits.barrier;
  out.overhead += waits.fixed;
  Seconds exposed = waits.step - own.step_time - waits.barrier - waits.fixed;
  if (exposed < Seconds(0)) {
    // Waiting hides under the next forward pass where parameters come late; and the draws' mean is not exactly one.
    const Seconds taken = std::min(-exposed, out.synchronization_wait);
    out.synchronization_wait -= taken;
    shorten(out, own, -exposed - taken);
    exposed = Seconds(0);
  }
  auto& share = out.communication[static_cast<std::size_t>(kind)][static_cast<std::size_t>(Dimension::data)];
  share.exposed += exposed;
  share.total += std::max(exposed, waits.exchange);
  out.average_device_power = Watts(0);
  return out;
}

/// What workers do to compress and to undo it is computation of theirs.
void compress_between(StepBreakdown& own, Seconds compressing) {
  own.compute += compressing;
  own.memory_time += compressing;
  own.step_time += compressing;
}

/// A worker's step so many times over.
StepBreakdown repeated(const StepBreakdown& own, double times) {
  StepBreakdown out = own;
  add(out, own, times - 1);
  out.step_time = times * own.step_time;
  return out;
}

UpdateStep through_servers(const Job& job, const Job& lone, const StepBreakdown& alone) {
  WorkerStep step = worker_step(job, lone, alone);
  StepBreakdown own = worker_breakdown(job, alone);
  compress_between(own, step.busy() - (own.step_time - own.optimizer));
  if (!job.scenario->framework->exchange.workers_update) {
    own.step_time -= own.optimizer;
    own.optimizer = step.update = Seconds(0);
  }
  const ServerJob servers = server_job(job, step);
  const ServerRun run = run_servers(servers);
  // Gradients that were dropped are no progress: a step is the time of as many as all workers compute in one, and of
  // the work on those that were dropped besides.
  const double computed = 1 / (1 - run.outcome.dropped_share);
  const Seconds exchange = run.outcome.exchange / servers.local_steps;
  return {composed(repeated(own, computed),
                   {run.step, computed * run.barrier_wait, computed * run.launch_wait, computed * exchange},
                   CollectiveKind::send_recv),
          run.outcome};
}

/// Bytes of the model, or of what became of it, that a worker sends of a replica.
Bytes model_bytes(const Job& job, double parameters) {
  const Compression compression = compression_of(job, kModelBytes);
  return Bytes(parameters * compression.bytes_per_element);
}

/// Time of a device to compress its part of a replica's model.
Seconds model_compression(const Job& job, const Job& lone, double parameters) {
  return compression_time(compression_of(job, kModelBytes), parameters / job.scenario->degrees.tp, lone.device);
}

UpdateOutcome outcome_of(const Scenario& scenario, Bytes sent, Bytes received) {
  UpdateOutcome out;
  out.mode = name_of(scenario.update);
  out.workers = workers_of(scenario);
  out.sent_per_worker = sent;
  out.received_per_worker = received;
  return out;
}

/// Who sends to whom in the steps that follow each other. A peer drawn at random is anywhere: as a permutation, each
/// worker reads one model and sends one.
std::vector<GossipGraph> rounds_of(const Scenario& scenario, int workers) {
  if (scenario.update == UpdateMode::pair_averaging) {
    GossipGraph drawn{workers, {}};
    for (int w = 0; w < workers && workers > 1; ++w) drawn.edges.emplace_back((w + workers / 2) % workers, w);
    return {std::move(drawn)};
  }
  switch (scenario.spec.strategy.gossip_graph) {
    case GossipTopology::torus:
      return {torus_graph(workers)};
    case GossipTopology::exponential:
      return exponential_rounds(workers);
    case GossipTopology::ring:
      break;
  }
  return {ring_graph(workers)};
}

UpdateStep gossiping(const Job& job, const Job& lone, const StepBreakdown& alone) {
  const Scenario& scenario = *job.scenario;
  const bool pairs = scenario.update == UpdateMode::pair_averaging;
  const WorkerStep step = worker_step(job, lone, alone);
  StepBreakdown own = worker_breakdown(job, alone);
  compress_between(own, model_compression(job, lone, step.parameters));
  const int workers = workers_of(scenario);
  const int per_node = scenario.worker == WorkerUnit::device ? scenario.devices_per_node() : 1;
  PeerPorts ports = peer_ports_of(job);
  if (scenario.worker == WorkerUnit::node) ports.rank = ports.node;
  const BytesPerSecond limit = scenario.framework->exchange.transport;
  if (limit > BytesPerSecond(0)) ports.rank = std::min(ports.rank, limit);
  const Bytes model = model_bytes(job, step.parameters);

  GossipJob gossip;
  const Seconds averaging = Bytes(kAveragingTraffic * step.parameters) / lone.device.memory_bandwidth;
  Seconds exchange;
  double degree = 0;
  for (GossipGraph& graph : rounds_of(scenario, workers)) {
    const Seconds sent = workers > 1 ? gossip_round(graph, model, per_node, ports).time : Seconds(0);
    degree += graph.out_degree();
    exchange += sent + averaging;
    gossip.exchanges.push_back({std::move(graph), sent + averaging});
  }
  degree /= static_cast<double>(gossip.exchanges.size());
  exchange = exchange / static_cast<double>(gossip.exchanges.size());
  gossip.busy = own.step_time;
  gossip.noise = worker_noise(scenario);
  gossip.seed = static_cast<std::uint64_t>(scenario.spec.run.seed);
  const GossipRun run = pairs ? run_pairs(gossip) : run_gossip(gossip);
  UpdateOutcome outcome = outcome_of(scenario, model * degree, model * degree);
  outcome.exchange = exchange;
  if (pairs) outcome.staleness = run.staleness;
  return {composed(own, {run.step, run.neighbour_wait, Seconds(0), exchange}, CollectiveKind::send_recv), outcome};
}

/// How workers average what became of their models: `sent` by each rank of the data group.
class ModelAverage {
 public:
  ModelAverage(const Job& job, Bytes sent) : job_(job), group_(job.groups.data), sent_(sent) {}

  /// Devices of a node hold the same model, so what they send of it is one worker's.
  [[nodiscard]] int workers() const {
    return job_.scenario->worker == WorkerUnit::device ? group_.size : group_.size / group_.per_node;
  }

  [[nodiscard]] Seconds time(CollectiveKind kind) const {
    if (group_.size <= 1) return Seconds(0);
    if (kind == CollectiveKind::all_gather) return alone(kind, sent_ * static_cast<double>(workers()), group_);
    if (kind == CollectiveKind::all_reduce) return alone(kind, sent_, group_);
    // Each rank sums and packs anew a part of its worker's signs, and all gather the parts.
    GroupShape between = group_;
    const double ranks = static_cast<double>(group_.size) / workers();
    between.size = workers();
    between.per_node = std::max(1, group_.per_node * workers() / group_.size);
    between.groups_per_node *= group_.per_node / between.per_node;
    const Seconds parts = workers() > 1 ? alone(kind, sent_ / ranks, between) : Seconds(0);
    return parts + alone(CollectiveKind::all_gather, sent_, group_);
  }

 private:
  [[nodiscard]] Seconds alone(CollectiveKind kind, Bytes payload, const GroupShape& group) const {
    const CollectiveAlgorithm algorithm = job_.scenario->spec.strategy.collective_algorithm;
    return collective_cost(kind, payload, group, job_.interconnect, algorithm).alone(job_.interconnect, group);
  }

  const Job& job_;
  const GroupShape& group_;
  Bytes sent_;
};

/// The outer update of `parameters`, of which each device has the share that it holds. On the host the model goes down
/// the link in fp32, and what became of it comes back.
Seconds outer_update_time(const Job& job, const Job& lone, double parameters) {
  const Scenario& scenario = *job.scenario;
  const bool sharded = synchronization_plan(scenario).sharded_parameters;
  const double held = parameters / (sharded ? std::max(1, job.groups.shard.size) : 1);
  const double bytes = outer_update_bytes(scenario);
  if (scenario.spec.strategy.offload_optimizer) return host_pass_time(held, bytes, 2 * kModelBytes, lone);
  return optimizer_time(held, bytes, lone.device);
}

UpdateStep locally(const Job& job, const Job& lone, const StepBreakdown& alone) {
  const Scenario& scenario = *job.scenario;
  const WorkerStep step = worker_step(job, lone, alone);
  const StepBreakdown own = worker_breakdown(job, alone);
  const Compression compression = compression_of(job, kModelBytes);
  const double per_device = step.parameters / scenario.degrees.tp;
  const CollectiveKind kind = compression.gathered                              ? CollectiveKind::all_gather
                              : sends_signs(scenario.spec.strategy.compression) ? CollectiveKind::all_to_all
                                                                                : CollectiveKind::all_reduce;
  const Bytes sent(per_device * compression.bytes_per_element);
  const ModelAverage average(job, sent);
  LocalJob local;
  local.exchange = average.time(kind);
  const double steps = scenario.spec.strategy.local_steps;
  local.exchange += outer_update_time(job, lone, per_device) + compression_time(compression, per_device, lone.device);
  local.workers = workers_of(scenario);
  local.steps = scenario.spec.strategy.local_steps;
  local.busy = own.step_time;
  local.noise = worker_noise(scenario);
  local.seed = static_cast<std::uint64_t>(scenario.spec.run.seed);
  const LocalRun run = run_local(local);
  const int ranks = job.groups.data.size;
  const double around = 2.0 * (ranks - 1) / ranks;
  const Bytes moved = sent * (compression.gathered ? average.workers() - 1.0 : around) / steps;
  UpdateOutcome outcome = outcome_of(scenario, moved, moved);
  outcome.steps_per_exchange = steps;
  outcome.exchange = local.exchange;
  return {composed(own, {run.step, run.barrier_wait, Seconds(0), local.exchange / steps}, kind), outcome};
}

UpdateStep federated(const Job& job, const Job& lone, const StepBreakdown& alone) {
  const Scenario& scenario = *job.scenario;
  const WorkerStep step = worker_step(job, lone, alone);
  StepBreakdown own = worker_breakdown(job, alone);
  FederatedJob round;
  round.spec = *scenario.spec.strategy.federated;
  round.selected = scenario.spec.cluster.nodes;
  round.busy = own.step_time;
  round.local_steps = federated_steps(scenario);
  round.parameters = step.parameters;
  round.compressing = model_compression(job, lone, step.parameters);
  round.upload = model_bytes(job, step.parameters);
  round.download = Bytes(kModelBytes * step.parameters);
  // The server adds every model to the sum.
  round.aggregation = Bytes(kAveragingTraffic * step.parameters * round.selected) / kFederatedServerMemory;
  round.step_spread = worker_noise(scenario).step;
  round.seed = static_cast<std::uint64_t>(scenario.spec.run.seed);
  const FederatedRun run = run_federated(round);
  const double steps = round.local_steps;
  compress_between(own, round.compressing / steps);
  UpdateOutcome outcome = outcome_of(scenario, run.sent_per_client / steps, round.download / steps);
  outcome.servers = 1;
  outcome.steps_per_exchange = steps;
  outcome.exchange = run.transfer;
  return {composed(own, {run.round / steps, run.wait / steps, run.aggregation / steps, run.transfer / steps},
                   CollectiveKind::send_recv),
          outcome};
}

}  // namespace

double outer_update_bytes(const Scenario& scenario) {
  const double narrow = parameter_bytes(scenario);
  const bool alone = scenario.spec.strategy.parameters_in_16_bit || automatic_mixed_precision(scenario);
  const double held = alone ? state_bytes(scenario).parameter : kModelBytes + (narrow < kModelBytes ? narrow : 0);
  return least_update_bytes(OptimizerKind::sgd, {.gradient = kModelBytes, .parameter = kModelBytes, .copy = held});
}

UpdateStep update_step(const Job& job, const Job& lone, const StepBreakdown& alone) {
  switch (job.scenario->update) {
    case UpdateMode::gossip:
    case UpdateMode::pair_averaging:
      return gossiping(job, lone, alone);
    case UpdateMode::local:
      return locally(job, lone, alone);
    case UpdateMode::federated:
      return federated(job, lone, alone);
    default:
      return through_servers(job, lone, alone);
  }
}

}  // namespace stepcast
