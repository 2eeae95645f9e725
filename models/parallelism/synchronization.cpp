#include <algorithm>
#include <cmath>

#include "models/parallelism/compression.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/job_collective.hpp"
#include "models/parallelism/tensors.hpp"
#include "models/parallelism/unit_times.hpp"

namespace stepcast {

namespace {

/// An all-reduce on processors is a ring of processes, which passes 2(n−1)/n of the payload through each of them
/// (Patarasuk & Yuan 2009). One process of a node sends to the next node, over one NIC.
void reduce_on_processors(CollectiveCost& cost, Bytes payload, const GroupShape& group, const Job& job) {
  const Interconnect& net = job.interconnect;
  const bool crosses = group.nodes() > 1;
  BytesPerSecond rate = std::min(job.scenario->framework->exchange.all_reduce, net.native);
  if (crosses && net.nic > BytesPerSecond(0)) rate = std::min(rate, net.nic);
  cost.algorithm = CollectiveAlgorithm::ring;
  cost.native_bytes = payload * (2.0 * (group.size - 1) / group.size);
  cost.native_cap = rate / net.native;
  cost.network_bytes = crosses ? cost.native_bytes / group.per_node : Bytes(0);
  cost.network_cap = 1;
}

/// How a payload is sent: in a number of buckets where that is known, else cut into pieces of a size.
struct Buckets {
  int count = 0;  ///< 0: not known
  Bytes size;     ///< 0: one piece
};

/// A payload sent in buckets: every bucket pays the latency, the bytes add up.
CollectiveCost bucketed(CollectiveKind kind, Bytes payload, const Buckets& in, const GroupShape& group,
                        const Job& job) {
  if (payload <= Bytes(0) || group.size <= 1) return {};
  const double cut = in.size > Bytes(0) ? std::max(1.0, std::ceil(payload / in.size)) : 1.0;
  const double buckets = in.count > 0 ? in.count : cut;
  CollectiveCost cost = job_collective(kind, payload / buckets, group, job,
                                       job.scenario->spec.strategy.collective_algorithm, Joined::replicas);
  if (kind == CollectiveKind::all_reduce && job.scenario->framework->exchange.all_reduce > BytesPerSecond(0))
    reduce_on_processors(cost, payload / buckets, group, job);
  cost.repeat(buckets);
  cost.calls = static_cast<int>(buckets);
  return cost;
}

Seconds alone(const CollectiveCost& cost, const GroupShape& group, const Job& job) {
  const bool nothing = cost.latency <= Seconds(0) && cost.native_bytes <= Bytes(0) && cost.network_bytes <= Bytes(0);
  return nothing ? Seconds(0) : cost.alone(job.interconnect, group);
}

/// Flow times by the links that decide them.
struct Flows {
  Seconds network, native;
};

/// Adds a collective's flow time where it belongs; returns its whole time.
Seconds add(Flows& flows, const CollectiveCost& cost, const GroupShape& group, const Job& job) {
  const Seconds time = alone(cost, group, job);
  (cost.network_bytes > Bytes(0) ? flows.network : flows.native) += time - cost.latency;
  return time;
}

/// Gradients as a compression method sends them.
CollectiveCost reduced(const SynchronizationPlan& plan, double parameters, const Buckets& buckets,
                       const GroupShape& group, const Job& job) {
  const Compression compression = compression_of(job, gradient_bytes(*job.scenario));
  const Bytes gradient(parameters * compression.bytes_per_element);
  if (compression.gathered) return bucketed(plan.reduction, gradient * static_cast<double>(group.size), {}, group, job);
  CollectiveCost cost = bucketed(plan.reduction, gradient, buckets, group, job);
  cost.latency *= compression.sums_in_sequence;
  // An all-reduce gives every device an even share to sum.
  if (plan.reduction == CollectiveKind::all_reduce && job.scenario->framework->exchange.tensor_owners)
    cost.native_bytes *= busiest_owner(tensors_of(job), std::min(group.size, group.per_node));
  return cost;
}

/// Updated parameters on their way from the ranks that hold their optimizer states, `narrow` of them read by 8-bit
/// products. Transformer Engine keeps those weights in 8 bit, and sharded optimizers send them so (Megatron-LM
/// arguments.py: fp8_param_gather, which NVIDIA's 8-bit recipes set); tables, output layers and norms stay in 16. None
/// does in 4 bit (Megatron-Bridge, mixed_precision.py:
/// "fp4_param and fp4_param_gather are not supported for now"), and blocks with scales are cast from 16 bit after the
/// gather (Megatron-LM, reuse_grad_buf_for_mxfp8_param_ag).
Bytes updated(double parameters, double narrow, const Scenario& scenario) {
  const bool eight_bit = scenario.precision == Precision::fp8 || scenario.precision == Precision::int8;
  const double wide = automatic_mixed_precision(scenario) ? sizeof(float) : parameter_bytes(scenario);
  return Bytes(parameters * wide - (eight_bit ? narrow * (wide - 1) : 0));
}

/// What a finished unit sends.
SyncTraffic traffic_of(const SyncTrafficCache::Key& parameters, const SynchronizationPlan& plan, const Job& job) {
  SyncTraffic unit;
  const Scenario& scenario = *job.scenario;
  // Sharded parameters are gathered unit by unit, whatever a bucket of gradients holds.
  const Buckets cut{0, plan.sharded_parameters ? Bytes(0) : scenario.framework->bucket};
  const Buckets buckets{parameters.buckets, cut.size};
  const Groups& groups = job.groups;
  const GroupShape& group = plan.reduction == CollectiveKind::reduce_scatter ? groups.shard : groups.data;
  const Bytes gradient(parameters.dense * gradient_bytes(scenario));
  const Seconds agreed = agreement(group, job);
  // FSDP gathers parameters to use them, others do because they were updated: the frozen ones were not.
  const double wide = parameter_bytes(scenario);
  const Bytes weights = plan.wrapped_layers ? Bytes((parameters.dense + parameters.frozen_dense) * wide)
                                            : updated(parameters.dense, parameters.narrow, scenario);
  const Bytes expert_weights = plan.wrapped_layers ? Bytes((parameters.expert + parameters.frozen_expert) * wide)
                                                   : updated(parameters.expert, parameters.expert, scenario);
  unit.reduce = reduced(plan, parameters.dense, buckets, group, job);
  // DeepSpeed runs both over all ranks (deepspeed/runtime/comm/nccl.py, compressed_allreduce).
  if (sends_signs(scenario.spec.strategy.compression))
    unit.signs = bucketed(CollectiveKind::all_gather, unit.reduce.payload, buckets, group, job);
  if (unit.reduce.calls > 0 && unit.reduce.payload > Bytes(0)) unit.reduce.latency += agreed;
  unit.expert_reduce = bucketed(plan.expert_reduction, Bytes(parameters.expert * gradient_bytes(scenario)), cut,
                                groups.expert_data, job);
  if (plan.gather_after_update || plan.sharded_parameters) {
    const Buckets pieces{0, scenario.framework->parameter_bucket};
    const bool own = pieces.size > Bytes(0);
    unit.gather = bucketed(plan.gather, weights, own ? pieces : buckets, groups.shard, job);
    unit.expert_gather = bucketed(plan.gather, expert_weights, own ? pieces : cut, groups.expert_data, job);
  }
  if (plan.reduction == CollectiveKind::reduce_scatter && groups.replicate.size > 1)
    unit.replicate = bucketed(CollectiveKind::all_reduce, gradient / groups.shard.size, buckets, groups.replicate, job);
  Flows gathers;
  Flows reductions;
  unit.gather_alone =
      add(gathers, unit.gather, groups.shard, job) + add(gathers, unit.expert_gather, groups.expert_data, job);
  unit.reduce_alone = add(reductions, unit.reduce, group, job) + add(reductions, unit.signs, group, job) +
                      add(reductions, unit.replicate, groups.replicate, job) +
                      add(reductions, unit.expert_reduce, groups.expert_data, job);
  unit.gather_flow = gathers.network + gathers.native;
  unit.reduce_flow = reductions.network + reductions.native;
  if (gathers.network > Seconds(0)) unit.contended += reductions.network;
  if (gathers.native > Seconds(0)) unit.contended += reductions.native;
  return unit;
}

}  // namespace

Seconds agreement(const GroupShape& group, const Job& job) {
  const Seconds cycle = job.scenario->framework->exchange.cycle;
  if (cycle <= Seconds(0) || group.size <= 1) return Seconds(0);
  // One bit for each of the 1,024 entries of the response cache (Horovod controller.cc).
  constexpr Bytes kReadyBits(1024.0 / 8);
  return cycle / 2 + collective_cost(CollectiveKind::all_reduce, kReadyBits, group, job.interconnect).latency;
}

double gradient_bytes(const Scenario& scenario) {
  const bool wide = scenario.spec.strategy.gradients_in_fp32.value_or(scenario.framework->gradients_in_fp32);
  return wide ? 4.0 : parameter_bytes(scenario);
}

double parameter_bytes(const Scenario& scenario) {
  // fp8 and fp4 training keeps and exchanges 16-bit parameters, as it does activations.
  return element_bytes(scenario.precision);
}

bool automatic_mixed_precision(const Scenario& scenario) {
  return scenario.framework->automatic_mixed_precision && parameter_bytes(scenario) < sizeof(float);
}

namespace {

/// FSDP without buckets wraps layers whatever it shards: its zero-2 is SHARD_GRAD_OP, whose parameters stay whole from
/// a forward pass, under which they are gathered, to the backward pass, under which gradients are reduced.
bool wraps_layers(const FrameworkProfile& framework) {
  const std::vector<std::string>& shardings = framework.shardings;
  return framework.bucket <= Bytes(0) && framework.bucket_parameters <= 0 &&
         std::find(shardings.begin(), shardings.end(), name_of(Sharding::fsdp)) != shardings.end();
}

}  // namespace

SynchronizationPlan synchronization_plan(const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  SynchronizationPlan plan;
  plan.overlap = scenario.spec.strategy.overlap_gradients.value_or(framework.overlap_gradients);
  plan.prefetch_backward = framework.backward_prefetch;
  const bool once = framework.pipelines_accumulate && scenario.degrees.pp > 1;
  switch (scenario.sharding) {
    case Sharding::none:
      if (gathers_gradients(scenario.spec.strategy.compression)) plan.reduction = CollectiveKind::all_gather;
      if (sends_signs(scenario.spec.strategy.compression)) plan.reduction = CollectiveKind::all_to_all;
      break;
    case Sharding::zero1:
    case Sharding::zero2:
      if (framework.sharded_gradients == ShardedGradients::reduce_scatter)
        plan.reduction = plan.expert_reduction = CollectiveKind::reduce_scatter;
      if (framework.updated_parameters == UpdatedParameters::broadcast) plan.gather = CollectiveKind::broadcast;
      // An interleaved chunk runs as many micro-batches in a row as there are stages.
      if (scenario.sharding == Sharding::zero2) {
        plan.accumulated = once ? 0 : scenario.degrees.vpp > 1 ? scenario.degrees.pp : 1;
        plan.wrapped_layers = wraps_layers(framework);
        plan.gather_each_forward = plan.wrapped_layers && scenario.degrees.pp == 1;
      }
      plan.gather_after_update = true;
      plan.gather_under_forward =
          scenario.spec.strategy.overlap_parameter_gather.value_or(framework.overlap_parameter_gather);
      break;
    case Sharding::zero3:
    case Sharding::fsdp:
    case Sharding::hsdp:
      plan.reduction = plan.expert_reduction = CollectiveKind::reduce_scatter;
      plan.accumulated = once ? 0 : 1;
      plan.kept_after_backward = once;
      plan.sharded_parameters = plan.wrapped_layers = true;
      // Every implementation overlaps here; DeepSpeed's overlap_comm is off by default for stages 1 and 2 alone.
      plan.overlap = true;
      break;
  }
  return plan;
}

long reductions_of(const SynchronizationPlan& plan, long micro_batches) {
  return plan.accumulated > 0 ? (micro_batches + plan.accumulated - 1) / plan.accumulated : 1;
}

const SyncTraffic* SyncTrafficCache::find(const Key& key) const {
  for (const auto& [held, traffic] : known_)
    if (held == key) return &traffic;
  return nullptr;
}

namespace {

/// Weights of a block's products. A router's, which stay in 16 bit, are too few to tell apart.
double in_matrices(const LayerCost& layer) {
  double sum = 0;
  for (const WeightMatrix& matrix : layer.weight_matrices) sum += matrix.rows * matrix.columns * matrix.count;
  return sum;
}

/// Where a unit lies and how long its layers take.
struct UnitSpan {
  int chunk = 0, first = 0, last = 0;
  Seconds backward, forward;
  Seconds backward_network, forward_network;  ///< of these, while the passes' own collectives flow between nodes
};

/// Calls `emit(span, traffic)` for every unit of a stage, in the order in which gradients become ready.
template <class Emit>
void each_unit(const Job& job, int stage, SyncTrafficCache& known, Emit emit) {
  const Scenario& scenario = *job.scenario;
  if (job.groups.data.size <= 1) return;
  const SynchronizationPlan plan = synchronization_plan(scenario);
  const FrameworkProfile& framework = *scenario.framework;
  const double bytes = gradient_bytes(scenario);

  SyncTrafficCache::Key parameters;
  UnitSpan open;
  Seconds ready;  // time in which the open unit's gradients become ready on all nodes
  int layers = 0;
  // What starts with a bucket of its own is PyTorch's reducer.
  const bool whole_tensors = framework.first_bucket > Bytes(0) && !plan.sharded_parameters;
  BucketCount buckets(framework.first_bucket, framework.bucket);
  Bytes limit = whole_tensors ? buckets.limit() : framework.bucket;
  const auto close = [&](bool last) {
    const double trained = parameters.dense + parameters.expert;
    if (trained > 0 || (plan.wrapped_layers && parameters.frozen_dense + parameters.frozen_expert > 0)) {
      if (whole_tensors) parameters.buckets = buckets.take(last);
      if (known.find(parameters) == nullptr) known.add(parameters, traffic_of(parameters, plan, job));
      emit(open, *known.find(parameters));
      if (whole_tensors) limit = buckets.limit();
    }
    parameters = {};
    ready = Seconds(0);
    layers = 0;
  };
  for (int c = static_cast<int>(job.chunks.size()) - 1; c >= 0; --c) {
    const Chunk& chunk = job.chunks[c];
    if (chunk.stage != stage) continue;
    for (int position = static_cast<int>(chunk.layer_kinds.size()) - 1; position >= 0; --position) {
      const LayerCost& layer = job.layer_kinds[chunk.layer_kinds[position]];
      if (layers == 0) {
        open = {};
        open.chunk = c;
        open.last = position;
      }
      open.first = position;
      open.backward += layer.backward();
      ready += job.slowest_backward.empty()
                   ? layer.backward()
                   : job.slowest_backward[static_cast<std::size_t>(chunk.layer_kinds[position])];
      open.forward += layer.forward.total();
      open.backward_network += layer.backward_input.network + layer.backward_weight.network;
      open.forward_network += layer.forward.network;
      const bool block = layer.role == LayerRole::dense_block || layer.role == LayerRole::moe_block;
      if (whole_tensors) buckets.add(layer, bytes);
      parameters.dense += layer.parameters;
      if (block && plan.gather_after_update) parameters.narrow += in_matrices(layer);
      parameters.expert += layer.expert_parameters;
      // Packed weights are gathered packed.
      const double held = block ? packed_over_whole(scenario) : 1;
      parameters.frozen_dense += layer.frozen_parameters * held;
      parameters.frozen_expert += layer.frozen_expert_parameters * held;
      ++layers;
      const Bytes gathered((parameters.dense + parameters.expert) * bytes);
      // What is ready on all nodes when a cycle ends goes together.
      const bool cycle_over = framework.exchange.cycle > Seconds(0) && plan.overlap &&
                              ready >= framework.exchange.cycle && scenario.degrees.dp > 1;
      // FSDP wraps blocks; what lies outside them (embedding, output) joins the root unit beside them.
      const bool full = cycle_over            ? true
                        : plan.wrapped_layers ? block && layers >= framework.layers_per_unit
                                              : limit > Bytes(0) && gathered >= limit;
      if (full) close(position == 0);
    }
    if (layers > 0) close(true);  // a unit never spans chunks: their backward passes lie far apart
  }
}

}  // namespace

std::vector<SyncUnit> sync_units(const Job& job, int stage) {
  SyncTrafficCache known;
  return sync_units(job, stage, known);
}

std::vector<SyncUnit> sync_units(const Job& job, int stage, SyncTrafficCache& known) {
  std::vector<SyncUnit> units;
  each_unit(job, stage, known, [&](const UnitSpan& span, const SyncTraffic& traffic) {
    SyncUnit& unit = units.emplace_back();
    static_cast<SyncTraffic&>(unit) = traffic;
    unit.chunk = span.chunk;
    unit.first = span.first;
    unit.last = span.last;
    unit.backward = span.backward;
    unit.forward = span.forward;
  });
  return units;
}

std::vector<UnitTimes> unit_times(const Job& job, int stage, SyncTrafficCache& known) {
  std::vector<UnitTimes> units;
  units.reserve(16);
  each_unit(job, stage, known, [&](const UnitSpan& span, const SyncTraffic& traffic) {
    UnitTimes& unit = units.emplace_back();
    unit.backward = span.backward;
    unit.forward = span.forward;
    unit.backward_network = span.backward_network;
    unit.forward_network = span.forward_network;
    unit.reduce_alone = traffic.reduce_alone;
    unit.gather_alone = traffic.gather_alone;
    unit.reduce_flow = traffic.reduce_flow;
    unit.gather_flow = traffic.gather_flow;
    unit.contended = traffic.contended;
    unit.chunk = span.chunk;
  });
  return units;
}

std::optional<TiedEmbedding> tied_embedding_sum(const Job& job) {
  const Scenario& scenario = *job.scenario;
  const int last = scenario.degrees.pp - 1;
  const double parameters = job.layer_kinds[job.chunks.back().layer_kinds.back()].tied_parameters;
  if (last == 0 || parameters <= 0) return std::nullopt;
  const bool crosses = job.placement.crosses(0, last);
  TiedEmbedding tied;
  tied.pair = {2, crosses ? 1 : 2, crosses ? job.placement.ranks_per_node : 1};
  if (crosses) job.nodes.load_pairs(tied.pair, 0, last);
  tied.cost = job_collective(CollectiveKind::all_reduce, Bytes(parameters * gradient_bytes(scenario)), tied.pair, job,
                             scenario.spec.strategy.collective_algorithm, Joined::replicas);
  return tied;
}

}  // namespace stepcast
