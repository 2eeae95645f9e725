#include "models/parallelism/layer_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/compute/layout_conversion.hpp"
#include "models/parallelism/expert_dispatch.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/fused_kernels.hpp"
#include "models/parallelism/groups.hpp"
#include "models/parallelism/job_collective.hpp"
#include "models/parallelism/merged_passes.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "models/parallelism/retained.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/parallelism/variability.hpp"
#include "models/scenario/memory_format.hpp"
#include "models/workload/early_stop.hpp"
#include "models/workload/operator_recompute.hpp"
#include "models/workload/weight_matrices.hpp"

namespace stepcast {

namespace {

/// Kernels that a dense block's forward pass issues in an unfused eager framework (3 norms and adds, 4 projections,
/// attention, rotary or dropout, activation, casts): what a profile's host time per layer stands for. Estimated by
/// counting the launches of Megatron's block; only models without transformer blocks depend on it.
constexpr double kKernelsPerBlock = 20;

/// Beyond them, rotary positions that run operator by operator: of queries and of keys two products, a negation, a join
/// and a sum (a trace of PyTorch 2.11, tests/data/kineto/one-h200-llama-1b: 30 kernels a layer).
constexpr double kRotaryKernels = 10;

/// Beyond them, a layer's own embedding: two products, the gate's activation and its product, a norm and a sum.
constexpr double kPerLayerKernels = 6;

/// Of the block's, an unfused attention core's between its products, with a fused softmax
/// (models/workload/attention.cpp).
constexpr int kUnfusedCoreKernels = 3;

/// The transition between device-bound and host-bound layers, of two times in units of one: x ⊔ 1 = (x⁴ + 1)^(1/4), of
/// tensor-parallel ranks (x² + 1)^(1/2): each collective of a layer waits for the rank whose host is behind just then
/// (docs/models/training-fit.md).
double stretched_by_host(double ratio, bool of_several) {
  const double square = ratio * ratio;
  return of_several ? std::sqrt(1 + square) : std::sqrt(std::sqrt(1 + square * square));
}

CollectiveKind kind_of(LayerCollective collective) {
  switch (collective) {
    case LayerCollective::all_reduce:
      return CollectiveKind::all_reduce;
    case LayerCollective::all_gather:
      return CollectiveKind::all_gather;
    case LayerCollective::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case LayerCollective::all_to_all:
      return CollectiveKind::all_to_all;
    case LayerCollective::send_recv:
      return CollectiveKind::send_recv;
  }
  return CollectiveKind::all_reduce;
}

Dimension dimension_of(LayerCommunication what) {
  switch (what) {
    case LayerCommunication::context:
      return Dimension::context;
    case LayerCommunication::expert:
      return Dimension::expert;
    case LayerCommunication::data:
      return Dimension::data;
    default:
      return Dimension::tensor;
  }
}

Piece operator_piece(const Operator& op, const Device& device) {
  Piece piece;
  piece.name = op.name;
  piece.duration = operator_time(op, device);
  piece.kind = op.kind;
  piece.flops = op.flops;
  piece.bytes = op.bytes;
  return piece;
}

CollectiveCost cost_of(const LayerStep& step, const GroupShape& group, const Job& job) {
  const Scenario& scenario = *job.scenario;
  const bool dispatched = step.communication == LayerCommunication::expert && scenario.model->is_transformer() &&
                          scenario.expert_dispatch == ExpertDispatch::deepep;
  if (dispatched) return expert_dispatch_cost(step.payload, group, job);
  // Only batch norms meet other replicas within a layer.
  const Joined joined = step.communication == LayerCommunication::data ? Joined::replicas : Joined::replica;
  return job_collective(kind_of(step.collective), step.payload, group, job, scenario.spec.strategy.collective_algorithm,
                        joined);
}

Piece collective_piece(const LayerStep& step, const Job& job) {
  const Dimension dimension = dimension_of(step.communication);
  const GroupShape& group = group_of(job.groups, dimension);
  Piece piece;
  piece.communication = true;
  piece.collective = kind_of(step.collective);
  piece.dimension = dimension;
  piece.name = name_of(piece.collective);
  piece.cost = cost_of(step, group, job);
  // Replicas agree on every collective of theirs, gradients or not.
  if (dimension == Dimension::data) piece.cost.latency += agreement(group, job);
  piece.cost.repeat(step.calls);
  piece.duration = piece.cost.alone(job.interconnect, group);
  return piece;
}

/// Collectives of one layer, which come several times: in both passes, and in what is recomputed.
class LayerCollectives {
 public:
  explicit LayerCollectives(const Job& job) : job_(job) {}

  const Piece& of(const LayerStep& step) {
    for (const Known& known : known_)
      if (known.payload == step.payload && known.calls == step.calls && known.collective == step.collective &&
          known.communication == step.communication)
        return known.piece;
    return known_
        .emplace_back(
            Known{step.communication, step.collective, step.payload, step.calls, collective_piece(step, job_)})
        .piece;
  }

  [[nodiscard]] const Job& job() const { return job_; }

 private:
  struct Known {
    LayerCommunication communication;
    LayerCollective collective;
    Bytes payload;
    double calls;
    Piece piece;
  };

  const Job& job_;
  std::vector<Known> known_;
};

/// Adds a layer's steps to a segment. A collective marked overlappable runs beside the operator after it.
void append(Segment& segment, const std::vector<LayerStep>& steps, LayerCollectives& collectives) {
  const Job& job = collectives.job();
  constexpr std::size_t kAfterSteps = 4;  // waits for peers and host, and passes over parameters
  segment.pieces.reserve(segment.pieces.size() + steps.size() + kAfterSteps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const LayerStep& step = steps[i];
    if (step.communication == LayerCommunication::none) {
      segment.pieces.push_back(operator_piece(step.op, job.device));
      segment.compute += segment.pieces.back().duration;
      segment.flops += step.op.flops;
      continue;
    }
    Piece piece = collectives.of(step);
    const bool followed = i + 1 < steps.size() && steps[i + 1].communication == LayerCommunication::none;
    if (step.overlappable && followed) {
      piece.beside = 1;
      piece.hidden = std::min(piece.duration, operator_time(steps[i + 1].op, job.device));
      piece.duration -= piece.hidden;
    }
    segment.communication += piece.duration;
    if (piece.cost.network_bytes > Bytes(0))
      segment.network += std::max(Seconds(0), piece.duration - piece.cost.latency);
    segment.pieces.push_back(piece);
  }
}

double kernels(const std::vector<LayerStep>& steps) {
  double count = 0;
  for (const LayerStep& step : steps) count += step.op.kernels;
  return count;
}

double tensor_collectives(const std::vector<LayerStep>& steps) {
  return static_cast<double>(std::count_if(steps.begin(), steps.end(), [](const LayerStep& step) {
    return step.communication == LayerCommunication::tensor && step.op.kernels > 0;
  }));
}

/// Kernels of attention beyond those that a block's usual host time stands for.
double extra_kernels(const std::vector<LayerStep>& steps) {
  double extra = 0;
  for (const LayerStep& step : steps) {
    if (step.op.kind == OperatorKind::attention && !step.op.fused) extra += step.op.kernels - kUnfusedCoreKernels;
    if (step.op.separate_rotary) extra += kRotaryKernels;
  }
  return extra;
}

/// Of a block's usual host time, what a layer of one half takes: half of it, a Mamba-2 mixer's eleven kernels, or those
/// of linear attention: norm, three products' worth, convolution, two norms and copies, six of decays and strengths,
/// six of the recurrence, the gated norm's three and the addition.
double share_of_block(char half) {
  constexpr double kMixerKernels = 11, kLinearKernels = 24;
  switch (half) {
    case '\0':
      return 1;
    case 'M':
      return kMixerKernels / kKernelsPerBlock;
    case 'G':
      return kLinearKernels / kKernelsPerBlock;
    default:
      return 0.5;
  }
}

/// Time that the host needs to issue a layer's forward pass.
Seconds host_forward(LayerRole role, const LayerWork& work, char half, const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  const bool experts = role == LayerRole::moe_block;
  if (framework.cuda_graphs && !experts) return Seconds(0);
  const Seconds block = framework.host_per_layer_forward;
  const Seconds messages = framework.host_per_peer * (tensor_collectives(work.forward) * (scenario.degrees.tp - 1.0));
  if (role != LayerRole::dense_block && !experts) {
    const bool compiled = role == LayerRole::cnn && scenario.spec.strategy.torch_compile;
    const double kernels_of_block = kernels(work.forward) / kKernelsPerBlock;
    return block * kernels_of_block * (compiled ? framework.compiled_host_factor : 1) + messages;
  }
  const bool own_embedding = scenario.model->transformer && scenario.model->transformer->per_layer_embedding > 0;
  const double extra = extra_kernels(work.forward) + (own_embedding ? kPerLayerKernels : 0);
  double factor = share_of_block(half) + extra / kKernelsPerBlock;
  // Graphs hold attention and router; how many tokens an expert gets is known to the host only then (Megatron-Bridge
  // recipes: cuda_graph_scope attn, moe_router, moe_preprocess).
  if (experts) factor += framework.host_expert_factor - 1 - (framework.cuda_graphs ? share_of_block(half) : 0);
  if (below_16_bit(scenario.precision)) factor *= framework.host_low_precision_factor;
  if (scenario.spec.strategy.torch_compile) factor *= framework.compiled_host_factor;
  return block * factor + messages;
}

/// Where the host issues more slowly than the device works, the device waits at the end of the layer.
void add_host_gap(Segment& segment, Seconds host, Seconds device_time, double share, bool of_several) {
  if (host <= Seconds(0) || device_time <= Seconds(0)) return;
  const Seconds gap = device_time * (stretched_by_host(host / device_time, of_several) - 1) * share;
  // Far from the transition the gap is nothing; leaving it out keeps traces readable.
  if (gap > 0.001 * device_time * share) segment.add_wait(Wait::kernels, gap);
}

/// Peers meet in every collective, so the slowest of them sets the pace: the mean device waits at the end of each
/// layer.
void add_peer_wait(LayerCost& cost, const Job& job) {
  const double behind = slowest_of(job.scenario->degrees.devices()) - 1;
  for (Segment* segment : {&cost.forward, &cost.backward_input, &cost.backward_weight})
    segment->add_wait(Wait::peers, segment->compute * behind);
}

/// Hooks and bucket copies of a data-parallel wrapper stretch the backward passes that reduce gradients; micro-batches
/// whose gradients only accumulate run without (PyTorch's no_sync, Horovod's backward_passes_per_step).
void append_wrapper(LayerCost& cost, const Job& job) {
  const long micro_batches = job.scenario->degrees.micro_batches;
  const auto reducing = static_cast<double>(reductions_of(synchronization_plan(*job.scenario), micro_batches));
  const double share = job.scenario->framework->data_parallel_overhead * reducing / static_cast<double>(micro_batches);
  if (share <= 0 || job.groups.data.size < 2) return;
  Piece piece;
  piece.name = "gradient_hooks";
  piece.duration = (cost.forward.compute + cost.backward_input.compute + cost.backward_weight.compute) * share;
  cost.backward_weight.pieces.push_back(piece);
  cost.backward_weight.compute += piece.duration;
}

/// Begins a backward pass with what it repeats of the forward pass, whose steps `forward` has. Returns the share of a
/// forward pass's launches.
double append_recompute(Segment& segment, const Segment& forward, const LayerWork& work,
                        LayerCollectives& collectives) {
  const Scenario& scenario = *collectives.job().scenario;
  const StrategySpec& strategy = scenario.spec.strategy;
  const bool stops_early = scenario.framework->recompute_stops_early;
  const auto add = [&](const std::vector<LayerStep>& steps) {
    append(segment, steps, collectives);
    return work.forward.empty() ? 0.0 : kernels(steps) / std::max(1.0, kernels(work.forward));
  };
  switch (strategy.recompute) {
    case Recompute::none:
      return 0;
    case Recompute::selective:
      return add(work.recompute_attention_core);
    case Recompute::full:
      if (stops_early) return add(steps_repeated_with_early_stop(work));
      segment = forward;
      return work.forward.empty() ? 0 : 1;
    case Recompute::per_operator:
      return add(steps_repeated_per_operator(work));
    case Recompute::modules:
      break;
  }
  double share = 0;
  for (const RecomputeModule module : strategy.recompute_modules) {
    switch (module) {
      case RecomputeModule::attention_core:
        share += add(work.recompute_attention_core);
        break;
      case RecomputeModule::attention:
        share += add(work.recompute_attention);
        break;
      case RecomputeModule::mlp:
        share += add(stops_early ? steps_before_last_product(work.recompute_mlp) : work.recompute_mlp);
        break;
      case RecomputeModule::norm:
        share += add(work.recompute_norm);
        break;
      case RecomputeModule::moe:
        share += add(work.recompute_moe);
        break;
    }
  }
  return share;
}

void append_traffic(Segment& segment, std::string_view name, Bytes bytes, const Job& job) {
  Operator op;
  op.name = name;
  op.bytes = bytes;
  segment.pieces.push_back(operator_piece(op, job.device));
  segment.compute += segment.pieces.back().duration;
}

/// Where the weight-gradient product does not add to the gradient itself, every micro-batch but the first reads, adds
/// and writes it: 6 bytes a parameter in 16 bit, 14 with a 16-bit product and an fp32 sum (2 + 4 read, 4 written, and
/// the cast's 4), 12 in fp32.
void append_accumulation(Segment& segment, double parameters, const Job& job) {
  const Scenario& scenario = *job.scenario;
  const long micro_batches = scenario.degrees.micro_batches;
  if (scenario.framework->fused_gradient_accumulation || micro_batches < 2 || parameters <= 0) return;
  const FrameworkProfile& framework = *scenario.framework;
  const bool fp32_sums = framework.main_gradients_fp32 || framework.model_gradients_kept;
  const double wide = parameter_bytes(scenario) > 2 ? 12 : fp32_sums ? 14 : 6;
  const double share = static_cast<double>(micro_batches - 1) / static_cast<double>(micro_batches);
  append_traffic(segment, "accumulate_gradients", Bytes(wide * parameters * share), job);
}

/// What mixed precision and clipping do to weights and gradients, or to the shard that a device has of them, in every
/// micro-batch.
void append_parameter_pass(Segment& segment, double parameters, const Job& job) {
  const Bytes bytes(job.scenario->framework->micro_batch_bytes_per_parameter * parameters /
                    parameter_shards(*job.scenario));
  if (bytes > Bytes(0)) append_traffic(segment, "parameter_pass", bytes, job);
}

/// A compiled loop over layers keeps what the backward pass reads in arrays of all layers: written in the forward pass
/// and sliced out in the backward pass, beside what the kernels themselves read and write.
void append_stacking(LayerCost& cost, const Job& job) {
  const Bytes kept = retained(cost, job.scenario->spec.strategy).waiting;
  const Bytes each = kept * (job.scenario->framework->kept_activation_passes / 2);
  if (each <= Bytes(0)) return;
  append_traffic(cost.forward, "stack_activations", each, job);
  append_traffic(cost.backward_input, "stack_activations", each, job);
}

/// Casting one element for an 8- or 4-bit product: 2 bytes read, 1 written, 1 written transposed for the gradient's
/// products (Transformer Engine's cast_transpose). Formats with a scale for a few elements are cast along both axes.
double cast_bytes(Precision precision) {
  if (!below_16_bit(precision)) return 0;
  const double written = precision == Precision::mxfp8 ? product_bytes(precision) : 1;
  return 2 + 2 * written;
}

/// FrameworkProfile::convolution_memory_efficiency in the job's format.
double convolution_passes(const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  const bool half = framework.half_convolution_memory_efficiency > 0 && has_convolutions(*scenario.model) &&
                    element_bytes(scenario.precision) <= 2;
  return half ? framework.half_convolution_memory_efficiency : framework.convolution_memory_efficiency;
}

LayerSharding sharding_of(const Job& job) {
  const Scenario& scenario = *job.scenario;
  LayerSharding sharding;
  sharding.tp = scenario.degrees.tp;
  sharding.cp = scenario.degrees.cp;
  sharding.ep = scenario.degrees.ep;
  sharding.etp = scenario.degrees.etp;
  sharding.sequence_parallel = scenario.spec.strategy.sequence_parallel;
  sharding.context_method = scenario.context_method;
  const FrameworkProfile& framework = *scenario.framework;
  const StrategySpec& strategy = scenario.spec.strategy;
  sharding.fused_attention = framework.fused_attention();
  sharding.eight_bit_attention = strategy.fp8_dot_product_attention;
  sharding.score_traffic = framework.score_traffic;
  sharding.fused_softmax_multiple = framework.fused_softmax_multiple;
  const FusedKernels fused = fused_kernels(scenario);
  sharding.compiled = strategy.torch_compile;
  sharding.fused_loss = fused.loss;
  const bool overlaps = strategy.overlap_tensor_parallel.value_or(framework.overlap_tensor_parallel);
  sharding.tensor_exposed = overlaps ? framework.tensor_parallel_exposed : 1;
  sharding.input_gradients_overlap =
      framework.overlap_input_gradients && strategy.overlap_tensor_parallel.value_or(true);
  sharding.cast_bytes = cast_bytes(scenario.precision);
  sharding.expert_passes = framework.expert_memory_efficiency;
  sharding.expert_imbalance = scenario.spec.workload.expert_imbalance;
  sharding.bytes_per_element = element_bytes(scenario.precision);
  sharding.gathered_bytes =
      framework.gathers_cast_operands ? product_bytes(scenario.precision) : sharding.bytes_per_element;
  sharding.main_gradients_fp32 = scenario.framework->main_gradients_fp32;
  const double of_convolutions = convolution_passes(scenario);
  const bool own = !scenario.model->is_transformer() && of_convolutions > 0 && !strategy.torch_compile;
  sharding.memory_passes = own ? of_convolutions : fused.memory_passes;
  const double wide = sizeof(float) / sharding.bytes_per_element;
  const bool of_sequences = scenario.model->default_seq_len > 0;
  if (framework.streaming_in_fp32 && of_sequences && wide > 1) {
    sharding.memory_passes *= wide;
    // A cast is a kernel of its own, whatever other kernels' passes are.
    sharding.cast_bytes += (sizeof(float) + sharding.bytes_per_element) / sharding.memory_passes;
  }
  sharding.fused_expert_biases = framework.fused_expert_biases;
  sharding.fused_activation = fused.activation;
  sharding.fused_norm = fused.norm;
  sharding.rotary_passes = fused.rotary_passes;
  sharding.keeps_wide_norms = framework.keeps_wide_norms;
  sharding.automatic_mixed_precision = framework.automatic_mixed_precision;
  sharding.kernels_by_element = framework.kernels_by_element && !strategy.torch_compile;
  sharding.channels_first = has_timed_channels_first(scenario);
  sharding.converts_layouts = converts_layouts(scenario);
  sharding.keeps_gathered_inputs = framework.keeps_gathered_inputs;
  sharding.sync_batch_norm = strategy.sync_batch_norm && job.groups.data.size > 1;
  sharding.adapter_rank = scenario.spec.workload.adapter_rank;
  sharding.adapter_targets = adapter_targets(scenario);
  sharding.packed_weight_bytes = packed_weight_bytes(scenario.spec.workload);
  sharding.document_len = scenario.spec.workload.document_len;
  return sharding;
}

/// What a layer holds: parameters, and what it keeps for the backward pass.
void take_holdings(LayerCost& cost, const LayerWork& work, const LayerSharding& sharding, const Job& job) {
  cost.parameters = work.parameters;
  cost.expert_parameters = work.expert_parameters;
  cost.frozen_parameters = work.frozen_parameters;
  cost.frozen_expert_parameters = work.frozen_expert_parameters;
  cost.tied_parameters = work.tied_parameters;
  cost.freed_by_module = {work.freed_attention_core, work.freed_attention, work.freed_mlp, work.freed_norm,
                          work.freed_moe};
  cost.activations = work.activations;
  if (is_block(cost.role)) cost.unrecomputed = job.scenario->framework->unrecomputed_activations;
  cost.activations_selective = work.activations_selective;
  cost.activation_input = work.activation_input;
  cost.output = work.output;
  cost.activations_per_operator = activations_kept_per_operator(work, sharding);
  cost.gradients_at_once = gradients_at_once(work, sharding);
  cost.weight_shapes = weight_shapes(work);
  cost.weight_matrices = weight_matrices(work);
  if (optimizer_of(*job.scenario) != OptimizerKind::muon) return;
  cost.hidden_matrices = muon_matrices(hidden_matrices(work, cost.role), job.device);
  cost.expert_matrices = muon_matrices(expert_matrices(work), job.device);
}

void add_merged(LayerCost& cost, const Job& job) {
  cost.merged = merged_passes(cost, cost, job.communication_slowdown);
  cost.saved = cost.forward.total() + cost.backward_input.total() + cost.backward_weight.total() - cost.merged.total();
}

}  // namespace

int parameter_shards(const Scenario& scenario) {
  const bool passes = scenario.framework->micro_batch_bytes_per_parameter > 0;
  return passes && synchronization_plan(scenario).sharded_parameters ? scenario.shard_size : 1;
}

LayerCost cost_layer(const Job& job, LayerRole role, int index, bool repeats) {
  const Scenario& scenario = *job.scenario;
  const FrameworkProfile& framework = *scenario.framework;
  const LayerSharding sharding = sharding_of(job);
  const LayerWork work = layer_work(*scenario.model, role, index, static_cast<double>(scenario.degrees.micro_batch),
                                    scenario.seq_len, sharding);
  const bool block = is_block(role);
  LayerCost cost;
  cost.role = role;
  cost.repeats = repeats;
  LayerCollectives collectives(job);
  append(cost.forward, work.forward, collectives);
  const double repeated = block && repeats ? append_recompute(cost.backward_input, cost.forward, work, collectives) : 0;
  append(cost.backward_input, work.backward_input, collectives);
  append(cost.backward_weight, work.backward_weight, collectives);
  const double trained = work.parameters + work.expert_parameters;
  append_accumulation(cost.backward_weight, trained, job);
  append_parameter_pass(cost.backward_weight, trained, job);
  take_holdings(cost, work, sharding, job);
  if (block) append_stacking(cost, job);

  append_wrapper(cost, job);
  add_peer_wait(cost, job);

  const char half = block && scenario.model->transformer ? scenario.model->transformer->half(index) : '\0';
  const Seconds host = host_forward(role, work, half, scenario);
  const bool of_several = scenario.degrees.tp > 1;
  add_host_gap(cost.forward, host, cost.forward.total(), 1, of_several);
  const Seconds input = cost.backward_input.total();
  const Seconds weight = cost.backward_weight.total();
  const Seconds backward = input + weight;
  if (backward > Seconds(0)) {
    const Seconds host_backward = host * (framework.host_backward_factor + repeated);
    add_host_gap(cost.backward_input, host_backward, backward, input / backward, of_several);
    add_host_gap(cost.backward_weight, host_backward, backward, weight / backward, of_several);
  }
  add_offload_wait(cost, job);
  if (scenario.spec.strategy.overlap_expert_parallel && role == LayerRole::moe_block) add_merged(cost, job);
  return cost;
}

}  // namespace stepcast
