#include "models/memory/memory.hpp"

#include <algorithm>

#include "models/memory/in_flight.hpp"
#include "models/parallelism/synchronization.hpp"

namespace stepcast {

namespace {

// CUDA context with a framework's kernels loaded: 0.5 GiB, recalled from nvidia-smi readings on A100 and H100.
constexpr Bytes kDeviceContext = 512_MiB;
// NCCL: 4 MiB a channel and peer (NCCL_BUFFSIZE's default), 16 channels, ring neighbours in both directions, and a
// third more for its small-message buffers; estimated from the documentation.
constexpr Bytes kCommunicator = 16 * 2 * 4_MiB * (4.0 / 3);
// cuBLAS workspace on Hopper, :4096:8 (PyTorch documentation, CUBLAS_WORKSPACE_CONFIG).
constexpr Bytes kMatrixWorkspace = 32_MiB;
// What the caching allocator cannot use of dynamic memory. Estimated: Guo et al. (GMLake, ASPLOS 2024) report 15 % on
// average with ZeRO-3, recomputation and offloading together, hardly any without; expandable segments came since.
constexpr double kFragmentation = 0.05;
// Parameters gathered at once: the unit in use and the one that is prefetched (FSDP; Zhao et al. 2023, section 3.4).
constexpr double kUnitsGathered = 2;
// Gradient buckets alive: one on the wire and one that is filled.
constexpr double kBucketsAlive = 2;

bool is_block(LayerRole role) { return role == LayerRole::dense_block || role == LayerRole::moe_block; }

/// Activations of one layer for one micro-batch: what waits for the backward pass, and what recomputation brings back
/// while the backward pass is in this layer.
struct Kept {
  Bytes waiting, recomputed;
};

/// Modules are recomputed one at a time. The attention core is part of attention.
Kept kept_by_modules(const LayerCost& layer, const std::vector<RecomputeModule>& modules) {
  const bool attention = std::find(modules.begin(), modules.end(), RecomputeModule::attention) != modules.end();
  Kept kept{layer.activations, Bytes(0)};
  for (const RecomputeModule module : modules) {
    if (module == RecomputeModule::attention_core && attention) continue;
    const Bytes freed = layer.freed_by_module[static_cast<std::size_t>(module)];
    kept.waiting -= freed;
    kept.recomputed = std::max(kept.recomputed, freed);
  }
  return kept;
}

Kept kept_by(const LayerCost& layer, const StrategySpec& strategy) {
  if (!is_block(layer.role)) return {layer.activations, Bytes(0)};
  switch (strategy.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      return {layer.activations_selective, layer.activations - layer.activations_selective};
    case Recompute::full:
      return {layer.activation_input, layer.activations - layer.activation_input};
    case Recompute::modules:
      return kept_by_modules(layer, strategy.recompute_modules);
  }
  return {layer.activations, Bytes(0)};
}

/// The walk over one stage's layers, as far as memory is concerned.
struct StageLayers {
  Bytes activations;        ///< of every micro-batch in flight
  Bytes recomputed;         ///< largest working set of a recomputed layer
  double largest_unit = 0;  ///< parameters that are gathered together (sharded parameters)
  Bytes largest_tensor;     ///< that one layer hands to the next
  Bytes sends;
};

void add_chunk(StageLayers& stage, const Chunk& chunk, const Job& job) {
  const Scenario& scenario = *job.scenario;
  const Degrees& degrees = scenario.degrees;
  const int alive = in_flight_of_chunk(scenario.schedule, chunk.index, chunk.stage, degrees.pp, degrees.vpp,
                                       static_cast<int>(degrees.micro_batches));
  const int blocks_per_unit = std::max(1, scenario.framework->layers_per_unit);
  Bytes waiting;
  for (const int kind : chunk.layer_kinds) {
    const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
    const Kept kept = kept_by(layer, scenario.spec.strategy);
    waiting += kept.waiting;
    stage.recomputed = std::max(stage.recomputed, kept.recomputed);
    const double unit = (layer.parameters + layer.expert_parameters) * (is_block(layer.role) ? blocks_per_unit : 1);
    stage.largest_unit = std::max(stage.largest_unit, unit);
    stage.largest_tensor = std::max(stage.largest_tensor, layer.output);
  }
  stage.activations += waiting * alive;
  stage.sends += chunk.send;
}

/// Parameters of a stage on one device, whole and as its share when they are sharded over the data-parallel ranks.
struct StageParameters {
  double whole, share;
};

StageParameters parameters_of(const Job& job, int stage) {
  const double dense = job.stage_parameters[static_cast<std::size_t>(stage)];
  const double expert = job.stage_expert_parameters[static_cast<std::size_t>(stage)];
  return {dense + expert,
          dense / std::max(1, job.groups.shard.size) + expert / std::max(1, job.groups.expert_data.size)};
}

void add_states(MemoryFootprint& out, const Job& job, const StageParameters& parameters) {
  const Sharding sharding = job.scenario->sharding;
  const StateBytes bytes = state_bytes(*job.scenario);
  const bool shards_parameters = synchronization_plan(*job.scenario).sharded_parameters;
  const bool shards_gradients = shards_parameters || sharding == Sharding::zero2;
  const bool shards_optimizer = sharding != Sharding::none;
  out.parameters = Bytes(bytes.parameter * (shards_parameters ? parameters.share : parameters.whole));
  out.gradients = Bytes(bytes.gradient * (shards_gradients ? parameters.share : parameters.whole));
  out.optimizer = Bytes(bytes.optimizer * (shards_optimizer ? parameters.share : parameters.whole));
}

Bytes synchronization_buffers(const Job& job, const StageLayers& layers, Bytes gradients) {
  const Scenario& scenario = *job.scenario;
  if (job.groups.data.size <= 1) return Bytes(0);
  if (synchronization_plan(scenario).sharded_parameters)
    return Bytes(layers.largest_unit * (kUnitsGathered * parameter_bytes(scenario) + gradient_bytes(scenario)));
  // Frameworks that accumulate in one contiguous fp32 buffer send from it; the others copy into buckets.
  if (scenario.framework->main_gradients_fp32) return Bytes(0);
  const Bytes bucket = scenario.framework->bucket;
  return bucket > Bytes(0) ? std::min(kBucketsAlive * bucket, gradients) : gradients;
}

Bytes activation_buffers(const Job& job, const StageLayers& layers) {
  const Scenario& scenario = *job.scenario;
  Bytes buffers;
  if (scenario.degrees.pp > 1) buffers += 2 * layers.sends;
  // Sequence parallelism gathers a layer's input over the tensor-parallel group (Korthikanti et al. 2022,
  // section 4.2.2).
  if (scenario.spec.strategy.sequence_parallel && scenario.degrees.tp > 1)
    buffers += layers.largest_tensor * scenario.degrees.tp;
  return buffers;
}

/// Logits in the training format and their gradient; the fp32 copy counts among the activations.
Bytes logit_workspace(const Scenario& scenario) {
  if (!scenario.model->is_transformer()) return Bytes(0);
  const TransformerShape& shape = *scenario.model->transformer;
  const Degrees& degrees = scenario.degrees;
  const double rows = static_cast<double>(degrees.micro_batch) * scenario.seq_len / degrees.cp * shape.predicted_share;
  return Bytes(rows * shape.vocab / degrees.tp * 2 * parameter_bytes(scenario));
}

/// Groups of more than one rank, each with a communicator of its own.
int communicators(const Groups& groups) {
  int count = 0;
  for (const GroupShape* group : {&groups.tensor, &groups.context, &groups.expert, &groups.data, &groups.pipeline})
    count += group->size > 1 ? 1 : 0;
  return count;
}

MemoryFootprint footprint(const Job& job, int stage, const StageLayers& layers, bool has_output) {
  MemoryFootprint out;
  add_states(out, job, parameters_of(job, stage));
  out.activations = layers.activations;
  out.buffers = synchronization_buffers(job, layers, out.gradients) + activation_buffers(job, layers);
  // A backward pass holds the gradient of a layer's output and of its input beside the recomputed activations; the
  // logits are gone when it reaches the blocks.
  const Bytes in_layer = layers.recomputed + 2 * layers.largest_tensor;
  const Bytes at_end = has_output ? logit_workspace(*job.scenario) : Bytes(0);
  const Bytes working = std::max(in_layer, at_end);
  const Bytes slack = job.device.is_cpu ? Bytes(0) : kFragmentation * (out.activations + out.buffers + working);
  out.workspace = working + slack + library_memory(job);
  return out;
}

}  // namespace

StateBytes state_bytes(const Scenario& scenario) {
  const double element = parameter_bytes(scenario);
  const bool mixed = element < 4;
  const double full = mixed ? 4 : element;                         // of an optimizer's state variable
  const double states = scenario.model->is_transformer() ? 2 : 1;  // Adam's moments, or SGD's momentum
  StateBytes bytes;
  bytes.parameter = element;
  bytes.gradient = scenario.framework->main_gradients_fp32 ? full : element;
  bytes.optimizer = states * full + (mixed ? full : 0);
  if (mixed && (scenario.sharding == Sharding::fsdp || scenario.sharding == Sharding::hsdp))
    return {full, full, states * full};
  return bytes;
}

Bytes library_memory(const Job& job) {
  if (job.device.is_cpu) return Bytes(0);
  return kDeviceContext + kMatrixWorkspace + kCommunicator * communicators(job.groups);
}

MemoryReport memory_of(const Job& job) {
  const int stages = job.scenario->degrees.pp;
  MemoryReport report;
  report.capacity = job.device.memory;
  report.stages.reserve(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    StageLayers layers;
    bool has_output = false;
    for (auto c = static_cast<std::size_t>(stage); c < job.chunks.size(); c += static_cast<std::size_t>(stages)) {
      add_chunk(layers, job.chunks[c], job);
      has_output = has_output || job.chunks[c].has_output;
    }
    report.stages.push_back(footprint(job, stage, layers, has_output));
    if (report.stages.back().total() > report.stages[static_cast<std::size_t>(report.worst_stage)].total())
      report.worst_stage = stage;
  }
  report.fits = report.stages[static_cast<std::size_t>(report.worst_stage)].total() <= report.capacity;
  return report;
}

}  // namespace stepcast
