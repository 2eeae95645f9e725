#include "models/memory/memory.hpp"

#include <algorithm>

#include "models/compute/device.hpp"
#include "models/memory/in_flight.hpp"
#include "models/memory/moment.hpp"
#include "models/memory/peak.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "models/parallelism/retained.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/reliability/checkpoint.hpp"
#include "models/reliability/checkpoint_copy.hpp"

namespace stepcast {

namespace {

// CUDA context with a framework's kernels loaded: 0.5 GiB, recalled from nvidia-smi readings on A100 and H100.
constexpr Bytes kDeviceContext = 512_MiB;
// NCCL: 4 MiB a channel and peer (NCCL_BUFFSIZE's default), 16 channels, ring neighbours in both directions, and a
// third more for its small-message buffers; estimated from the documentation.
constexpr Bytes kCommunicator = 16 * 2 * 4_MiB * (4.0 / 3);
// cuBLAS workspace on Hopper, :4096:8 (PyTorch documentation, CUBLAS_WORKSPACE_CONFIG); Transformer Engine keeps
// another of that size (transformer_engine/pytorch/module/base.py).
constexpr Bytes kMatrixWorkspace = 32_MiB;
// What the caching allocator cannot use of dynamic memory. Guo et al. (GMLake, ASPLOS 2024): 15 % on average where
// recomputation, sharded parameters and offloading take and free memory irregularly, hardly any elsewhere; expandable
// segments came since. Estimated as a third of that, and as the rounding to whole blocks.
constexpr double kFragmentationIrregular = 0.05;
constexpr double kFragmentationRegular = 0.01;
// Parameters gathered at once: the unit in use and the one that is prefetched (FSDP; Zhao et al. 2023, section 3.4).
constexpr double kUnitsGathered = 2;
// Gradient buckets alive: one on the wire and one that is filled.
constexpr double kBucketsAlive = 2;
// Error feedback keeps what was not sent, in fp32 (Karimireddy et al. 2019, arXiv 1901.09847).
constexpr double kResidual = 4;
// The outer optimizer keeps the last averaged model and a momentum in fp32 (Douillard et al. 2023, arXiv 2311.08105).
constexpr double kOuterStates = 8;
// The next micro-batch's activation and gradient are received beside the computation.
constexpr double kMessagesAhead = 2;

/// What all stages of a job have in common.
struct Shared {
  SynchronizationPlan plan;
  StateBytes bytes;
  explicit Shared(const Scenario& scenario) : plan(synchronization_plan(scenario)), bytes(state_bytes(scenario)) {}
};

/// Parameters of a stage on one device: trained ones whole and as what it owns of them when they are sharded over the
/// data-parallel ranks.
struct StageParameters {
  double whole;
  OwnedParameters owned;
  double frozen_whole, frozen_share;  ///< held, without gradient or state
};

StageParameters parameters_of(const Job& job, int stage) {
  const auto at = static_cast<std::size_t>(stage);
  const double frozen = job.stage_frozen_parameters[at];
  const double frozen_expert = job.stage_frozen_expert_parameters[at];
  const double ranks = std::max(1, job.groups.shard.size);
  const double expert_ranks = std::max(1, job.groups.expert_data.size);
  return {job.stage_parameters[at] + job.stage_expert_parameters[at], owned_parameters(job, stage),
          frozen + frozen_expert, frozen / ranks + frozen_expert / expert_ranks};
}

/// Of the frozen parameters on a device of a stage, those of blocks, which can be held packed.
double frozen_in_blocks(const Job& job, int stage, double ranks, double expert_ranks) {
  double sum = 0;
  for (auto c = static_cast<std::size_t>(stage); c < job.chunks.size();
       c += static_cast<std::size_t>(job.scenario->degrees.pp))
    for (const int kind : job.chunks[c].layer_kinds) {
      const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
      if (is_block(layer.role)) sum += layer.frozen_parameters / ranks + layer.frozen_expert_parameters / expert_ranks;
    }
  return sum;
}

/// What packing frees of the frozen parameters of a stage.
Bytes freed_by_packing(const Job& job, int stage, bool sharded) {
  const double packed = packed_weight_bytes(job.scenario->spec.workload);
  if (packed <= 0) return Bytes(0);
  const double ranks = sharded ? std::max(1, job.groups.shard.size) : 1;
  const double expert_ranks = sharded ? std::max(1, job.groups.expert_data.size) : 1;
  return Bytes((parameter_bytes(*job.scenario) - packed) * frozen_in_blocks(job, stage, ranks, expert_ranks));
}

/// Bytes of a frozen parameter: 8-bit formats hold what no optimizer updates in 8 bit alone (Transformer Engine's
/// fp8_model_init). Embedding tables have a format of their own, and the state that their sparse update needs.
double frozen_bytes(const Scenario& scenario) {
  if (const auto& tables = scenario.model->recommender) return tables->table_bytes + tables->table_state_bytes;
  return below_16_bit(scenario.precision) ? 1 : parameter_bytes(scenario);
}

void add_states(MemoryFootprint& out, const Job& job, const Shared& shared, const StageParameters& parameters) {
  const Sharding sharding = job.scenario->sharding;
  const StateBytes& bytes = shared.bytes;
  const bool shards_parameters = shared.plan.sharded_parameters;
  const bool shards_gradients = shards_parameters || sharding == Sharding::zero2;
  const double frozen = shards_parameters ? parameters.frozen_share : parameters.frozen_whole;
  const OwnedParameters& owned = parameters.owned;
  out.parameters = Bytes(bytes.parameter * (shards_parameters ? owned.all : parameters.whole) +
                         frozen_bytes(*job.scenario) * frozen);
  out.gradients = Bytes(bytes.gradient * (shards_gradients ? owned.all : parameters.whole));
  out.optimizer = Bytes(bytes.optimizer * (owned.all - owned.in_matrices) + bytes.matrix_optimizer * owned.in_matrices);
}

/// What the way to keep replicas equal holds of a device's trained parameters beside their states. An outer optimizer's
/// are cut as the parameters are (PrimeIntellect-ai/prime, src/zeroband/diloco.py: tensors with the model's own
/// placements), and lie where the inner one's do.
void add_exchange_states(MemoryFootprint& out, const Scenario& scenario, const Shared& shared,
                         const StageParameters& parameters) {
  const CompressionMethod method = scenario.spec.strategy.compression.method;
  const bool loses = method != CompressionMethod::none && method != CompressionMethod::fp16;
  out.optimizer += Bytes((loses ? kResidual : 0) * parameters.whole);
  const double held = shared.plan.sharded_parameters ? parameters.owned.all : parameters.whole;
  (scenario.spec.strategy.offload_optimizer ? out.host : out.optimizer) += Bytes(outer_state_bytes(scenario) * held);
}

/// A unit's gradients on their way: as its backward pass makes them, and in the format in which they are reduced
/// (PyTorch FSDP copies the one into the other: fsdp/_fully_shard/_fsdp_collectives.py, foreach_reduce).
Bytes unit_gradients(const Scenario& scenario, const StageLayers& layers) {
  return Bytes(layers.largest_unit * (parameter_bytes(scenario) + gradient_bytes(scenario)));
}

/// Where a pipeline reduces wrapped layers once a step, gradients add up whole until then, and parameters that a
/// backward pass has gathered stay.
Bytes kept_whole(const Scenario& scenario, const SynchronizationPlan& plan, const StageParameters& parameters) {
  const double summed = scenario.degrees.micro_batches > 1 ? gradient_bytes(scenario) : 0;
  const double gathered = plan.kept_after_backward ? parameter_bytes(scenario) : 0;
  return Bytes(summed * parameters.whole + gathered * (parameters.whole + parameters.frozen_whole));
}

/// Copies of gradients on their way, and gathered parameters.
Bytes synchronization_buffers(const Job& job, const Shared& shared, const StageLayers& layers,
                              const StageParameters& parameters) {
  const Scenario& scenario = *job.scenario;
  const FrameworkProfile& framework = *scenario.framework;
  const SynchronizationPlan& plan = shared.plan;
  if (job.groups.data.size <= 1) return Bytes(0);
  if (plan.wrapped_layers && plan.accumulated == 0)
    return kept_whole(scenario, plan, parameters) + unit_gradients(scenario, layers);
  // Frameworks that wrap units reduce a unit's gradients at once, DeepSpeed's ZeRO-3 goes through buckets as well.
  if (plan.sharded_parameters)
    return Bytes(layers.largest_unit * (kUnitsGathered * parameter_bytes(scenario) + gradient_bytes(scenario))) +
           kBucketsAlive * framework.bucket;
  if (has_unit_gradients(plan)) return unit_gradients(scenario, layers);
  const Bytes gradients(shared.bytes.gradient * parameters.whole);
  // Frameworks that accumulate in one contiguous fp32 buffer send from it; the others copy into buckets.
  if (framework.main_gradients_fp32 && scenario.sharding != Sharding::zero2) return Bytes(0);
  // Under ZeRO-2 a chunk of an interleaved pipeline adds its gradients up whole, while the last one's leave bucket by
  // bucket.
  if (plan.accumulated > 1) {
    const Bytes chunk = gradients / scenario.degrees.vpp;
    return chunk + std::min(kBucketsAlive * framework.bucket, chunk);
  }
  const bool whole = framework.persistent_buckets || framework.bucket <= Bytes(0);
  return whole ? gradients : std::min(kBucketsAlive * framework.bucket, gradients);
}

/// Activations and gradients received from the neighbouring stages.
Bytes message_buffers(const Scenario& scenario, const StageLayers& layers) {
  if (scenario.degrees.pp == 1) return Bytes(0);
  const bool ahead = scenario.framework->overlap_pipeline_messages && scenario.degrees.vpp > 1;
  return layers.message * (1 + (ahead ? kMessagesAhead : 0));
}

/// Fused accumulation adds to the gradients inside the product, but autograd must be handed a gradient: Transformer
/// Engine keeps one 16-bit tensor of every shape of a weight for that (module/base.py, get_dummy_wgrad).
Bytes gradient_placeholders(const Scenario& scenario, const StageLayers& layers) {
  if (!scenario.framework->fused_gradient_accumulation) return Bytes(0);
  double elements = 0;
  for (const WeightShape& shape : layers.weights) elements += shape.in * shape.out;
  return Bytes(elements * parameter_bytes(scenario));
}

Bytes matrix_workspaces(const Job& job) {
  if (job.device.is_cpu) return Bytes(0);
  return kMatrixWorkspace * (job.scenario->framework->fused_gradient_accumulation ? 2 : 1);
}

/// Groups of more than one rank, each with a communicator of its own.
int communicators(const Groups& groups) {
  int count = 0;
  for (const GroupShape* group : {&groups.tensor, &groups.context, &groups.expert, &groups.data, &groups.pipeline})
    count += group->size > 1 ? 1 : 0;
  return count;
}

/// Bytes of an optimizer's state variable.
double state_element(const Scenario& scenario) {
  const double element = parameter_bytes(scenario);
  return scenario.spec.strategy.parameters_in_16_bit ? element : std::max<double>(element, sizeof(float));
}

/// ZeRO-Offload (Ren et al. 2021, arXiv 2101.06840): optimizer states live on the host, and gradients that are sharded
/// go there as they are reduced. Processors update from gradients in the format of the states, which are copies of what
/// is narrower or stays on the device (DeepSpeed runtime/zero/stage3.py: fp32_partitioned_groups_flat has gradients
/// beside grad_partitions_flat_buffer; stage_1_and_2.py: single_partition_of_fp32_groups has).
void offload_optimizer(MemoryFootprint& out, const Scenario& scenario, const Shared& shared,
                       const OwnedParameters& owned) {
  if (!scenario.spec.strategy.offload_optimizer) return;
  const bool to_drives = offloads_to_drives(scenario);
  out.host += to_drives ? swap_buffers(owned.all) : out.optimizer;
  out.optimizer = Bytes(0);
  const bool sharded_gradients = gradients_on_host(scenario, shared.plan);
  const double element = state_element(scenario);
  const bool copied = !sharded_gradients || shared.bytes.gradient < element;
  if (copied && !to_drives) out.host += Bytes(element * owned.all);
  if (!sharded_gradients) return;
  out.host += out.gradients;
  out.gradients = Bytes(0);
}

/// A device's part of the copy in host memory from which an asynchronous checkpoint drains.
Bytes copied_states(const Job& job) {
  const bool copies = job.scenario->spec.run.checkpoint.kind == CheckpointKind::asynchronous;
  return copies ? checkpoint_copy(job).in_memory : Bytes(0);
}

/// What all devices of a node offload is in its memory.
Bytes host_share(const Scenario& scenario) { return scenario.node->memory / std::max(1, scenario.devices_per_node()); }

double fragmentation(const StrategySpec& strategy, const SynchronizationPlan& plan) {
  const bool irregular = repeats_blocks(strategy) || strategy.offload_activations || plan.sharded_parameters;
  return irregular ? kFragmentationIrregular : kFragmentationRegular;
}

/// The fp32 gradients of the parameters that a step updates at once, where their states are on the device.
Bytes gradients_of_update(const Scenario& scenario, const MemoryFootprint& states, const OwnedParameters& owned) {
  if (scenario.sharding != Sharding::zero3 || states.optimizer <= Bytes(0)) return Bytes(0);
  return Bytes(sizeof(float) * std::min(scenario.framework->update_group_parameters, owned.all));
}

const Moment& fuller(const Moment& a, const Moment& b) { return a.total() < b.total() ? b : a; }

MemoryFootprint footprint(const Job& job, int stage, const Shared& shared) {
  const StageLayers layers = stage_layers(job, stage);
  MemoryFootprint out;
  const StageParameters parameters = parameters_of(job, stage);
  add_states(out, job, shared, parameters);
  out.parameters -= freed_by_packing(job, stage, shared.plan.sharded_parameters);
  out.host = layers.offloaded;
  offload_optimizer(out, *job.scenario, shared, parameters.owned);
  add_exchange_states(out, *job.scenario, shared, parameters);
  const Moment fullest =
      fuller(fullest_moment(job, shared.plan, layers, out.gradients),
             {out.gradients, Bytes(0), Bytes(0), gradients_of_update(*job.scenario, out, parameters.owned)});
  out.gradients = fullest.gradients;
  out.activations = fullest.activations;
  out.buffers = synchronization_buffers(job, shared, layers, parameters) + message_buffers(*job.scenario, layers) +
                gradient_placeholders(*job.scenario, layers) + layers.fetched + fullest.casts;
  (job.device.is_cpu ? out.buffers : out.host) += copied_states(job);
  out.workspace = fullest.workspace + matrix_workspaces(job);
  out.libraries = library_memory(job);
  if (!job.device.is_cpu)
    out.slack =
        fragmentation(job.scenario->spec.strategy, shared.plan) * (out.activations + out.buffers + out.workspace);
  return out;
}

/// Whether a stage has the layers of the one before it, chunk for chunk, and no more of their micro-batches in flight:
/// everything in its footprint grows with these or is the same.
bool needs_no_more(const Job& job, int stage) {
  const Scenario& scenario = *job.scenario;
  const Degrees& d = scenario.degrees;
  const auto alive = [&](int at, int chunk) {
    return in_flight_of_chunk(scenario.schedule, chunk, at, d.pp, d.vpp, static_cast<int>(d.micro_batches),
                              scenario.spec.strategy.overlap_expert_parallel);
  };
  for (std::size_t c = 0; c < job.chunks.size(); c += static_cast<std::size_t>(d.pp)) {
    const Chunk& own = job.chunks[c + static_cast<std::size_t>(stage)];
    if (own.layer_kinds != job.chunks[c + static_cast<std::size_t>(stage) - 1].layer_kinds) return false;
    if (alive(stage, own.index) > alive(stage - 1, own.index)) return false;
  }
  return true;
}

}  // namespace

StateBytes state_bytes(const Scenario& scenario) {
  const double element = parameter_bytes(scenario);
  const bool mixed = element < 4, narrow = scenario.spec.strategy.parameters_in_16_bit;
  const double full = state_element(scenario);
  const OptimizerKind kind = optimizer_of(scenario);
  const double states = optimizer_state_bytes(outside_matrices(kind), full);
  const double of_matrices = optimizer_state_bytes(kind, full);
  if (narrow) return {element, element, states, of_matrices};
  const bool keeps_fp32_alone = scenario.sharding == Sharding::fsdp || scenario.sharding == Sharding::hsdp;
  if (mixed && (keeps_fp32_alone || automatic_mixed_precision(scenario))) return {full, full, states, of_matrices};
  const SynchronizationPlan plan = synchronization_plan(scenario);
  // FSDP's shards of gradients are in fp32 as those of parameters, which SHARD_GRAD_OP holds beside the gathered ones.
  const bool gathered = plan.wrapped_layers && !plan.sharded_parameters;
  double gradient = scenario.framework->main_gradients_fp32 || gathered ? full : element;
  if (mixed && scenario.framework->model_gradients_kept) gradient = element + full;
  const double master = mixed ? full : 0;
  return {element, gradient, states + master, of_matrices + master};
}

double outer_state_bytes(const Scenario& scenario) { return scenario.update == UpdateMode::local ? kOuterStates : 0; }

Bytes library_memory(const Job& job) {
  if (job.device.is_cpu) return Bytes(0);
  return kDeviceContext + kCommunicator * communicators(job.groups);
}

Bytes MemoryReport::host() const {
  Bytes most;
  for (const MemoryFootprint& stage : stages) most = std::max(most, stage.host);
  return most;
}

Bytes MemoryReport::over_device() const {
  if (stages.empty()) return Bytes(0);
  return std::max(Bytes(0), stages[static_cast<std::size_t>(worst_stage)].total() - capacity);
}

MemoryReport memory_of(const Job& job) {
  const int stages = job.scenario->degrees.pp;
  MemoryReport report;
  report.capacity = job.device.memory;
  report.host_capacity = host_share(*job.scenario);
  report.stages.reserve(static_cast<std::size_t>(stages));
  const Shared shared(*job.scenario);
  for (int stage = 0; stage < stages; ++stage) {
    report.stages.push_back(footprint(job, stage, shared));
    if (report.stages.back().total() > report.stages[static_cast<std::size_t>(report.worst_stage)].total())
      report.worst_stage = stage;
  }
  report.fits = report.over_device() <= Bytes(0) && report.over_host() <= Bytes(0);
  return report;
}

MemoryPeak peak_memory(const Job& job) {
  MemoryPeak peak{Bytes(0), job.device.memory, true};
  bool host_fits = true;
  const Shared shared(*job.scenario);
  for (int stage = 0; stage < job.scenario->degrees.pp; ++stage) {
    if (stage > 0 && needs_no_more(job, stage)) continue;
    const MemoryFootprint all = footprint(job, stage, shared);
    peak.need = std::max(peak.need, all.total());
    if (all.host > Bytes(0)) host_fits = host_fits && all.host <= host_share(*job.scenario);
  }
  peak.fits = peak.need <= peak.capacity && host_fits;
  return peak;
}

}  // namespace stepcast
