#include "models/memory/stage_layers.hpp"

#include <algorithm>

#include "models/memory/in_flight.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/retained.hpp"

namespace stepcast {

namespace {

// Offloaded blocks whose activations are on the device: the one at work and the one on its way.
constexpr double kBlocksAtHand = 2;

void add_weights(StageLayers& stage, const LayerCost& layer) {
  if (stage.weights.empty()) stage.weights.reserve(layer.weight_shapes.size());
  for (const WeightShape& shape : layer.weight_shapes) {
    const double elements = shape.in * shape.out;
    if (!is_block(layer.role)) {
      stage.output_weight = std::max(stage.output_weight, elements);
      continue;
    }
    stage.largest_weight = std::max(stage.largest_weight, elements);
    if (std::find(stage.weights.begin(), stage.weights.end(), shape) == stage.weights.end())
      stage.weights.push_back(shape);
  }
}

/// `count` equal layers. `held_packed`: of packed_over_whole.
void add_layers(StageLayers& stage, const LayerCost& layer, const Retained& kept, int count, int blocks_per_unit,
                double held_packed) {
  stage.recomputed = std::max(stage.recomputed, kept.recomputed);
  const double frozen = layer.frozen_parameters + layer.frozen_expert_parameters;
  const double parameters =
      layer.parameters + layer.expert_parameters + frozen * (is_block(layer.role) ? held_packed : 1);
  const double unit = parameters * (is_block(layer.role) ? blocks_per_unit : 1);
  stage.largest_unit = std::max(stage.largest_unit, unit);
  if (layer.role == LayerRole::embedding)
    stage.embedding = layer.parameters;
  else if (layer.role != LayerRole::output)
    stage.block_weights += count * (layer.parameters + layer.expert_parameters);
  // Every layer's backward pass has the gradient of its output and makes that of its input.
  Bytes& gradients = layer.role == LayerRole::output ? stage.output_gradients : stage.gradients;
  gradients = std::max({gradients, layer.gradients_at_once, 2.0 * layer.output});
}

/// `last_kind`: of the chunk before, whose weights are known.
void add_chunk(StageLayers& stage, int& last_kind, const Chunk& chunk, const Job& job) {
  const Scenario& scenario = *job.scenario;
  const Degrees& degrees = scenario.degrees;
  const int alive =
      in_flight_of_chunk(scenario.schedule, chunk.index, chunk.stage, degrees.pp, degrees.vpp,
                         static_cast<int>(degrees.micro_batches), scenario.spec.strategy.overlap_expert_parallel);
  Bytes waiting;
  Bytes offloaded;
  for (std::size_t i = 0; i < chunk.layer_kinds.size();) {
    // Equal neighbours differ in nothing but that each keeps as much.
    const int kind = chunk.layer_kinds[i];
    const LayerCost& layer = job.layer_kinds[static_cast<std::size_t>(kind)];
    const Retained kept = retained(layer, scenario.spec.strategy);
    const bool away = scenario.spec.strategy.offload_activations && is_block(layer.role);
    int count = 0;
    for (; i < chunk.layer_kinds.size() && chunk.layer_kinds[i] == kind; ++i) ++count;
    (away ? offloaded : waiting) += kept.waiting * count;
    if (away) stage.fetched = std::max(stage.fetched, kBlocksAtHand * kept.waiting);
    add_layers(stage, layer, kept, count, std::max(1, scenario.framework->layers_per_unit),
               packed_over_whole(scenario));
    if (kind != last_kind) add_weights(stage, layer);
    last_kind = kind;
  }
  stage.kept += waiting * alive;
  stage.offloaded += offloaded * alive;
  if (chunk.has_embedding) stage.oldest = waiting;
  stage.message = std::max(stage.message, chunk.send);
  stage.has_output = stage.has_output || chunk.has_output;
}

}  // namespace

StageLayers stage_layers(const Job& job, int stage) {
  StageLayers layers;
  int last_kind = -1;
  const auto stages = static_cast<std::size_t>(job.scenario->degrees.pp);
  for (auto c = static_cast<std::size_t>(stage); c < job.chunks.size(); c += stages)
    add_chunk(layers, last_kind, job.chunks[c], job);
  return layers;
}

}  // namespace stepcast
