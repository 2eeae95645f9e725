#include "models/estimate/layer_sums.hpp"

namespace stepcast {

namespace {

/// What one layer does for one micro-batch, summed by kind of time.
struct LayerSums {
  Seconds matrix, memory, host, peers;
  Flops flops;
  decltype(StepBreakdown::communication) communication{};
};

void add(LayerSums& sums, const Segment& segment) {
  for (const Piece& piece : segment.pieces) {
    if (piece.communication) {
      auto& share =
          sums.communication[static_cast<std::size_t>(piece.collective)][static_cast<std::size_t>(piece.dimension)];
      share.total += piece.duration + piece.hidden;
      share.exposed += piece.duration;
    } else if (piece.waits_for_host()) {
      sums.host += piece.duration;
    } else if (piece.wait == Wait::peers) {
      sums.peers += piece.duration;
    } else if (piece.kind == OperatorKind::memory) {
      sums.memory += piece.duration;
    } else {
      sums.matrix += piece.duration;
    }
    sums.flops += piece.flops;
  }
}

/// What a layer does, `times` for each stage.
void add_times(StepBreakdown& step, const LayerSums& sums, double times) {
  step.matrix_time += sums.matrix * times;
  step.memory_time += sums.memory * times;
  step.host += sums.host * times;
  step.synchronization_wait += sums.peers * times;
  step.executed_flops += sums.flops * times;
  for (std::size_t k = 0; k < kCollectiveKinds; ++k)
    for (std::size_t d = 0; d < kDimensions; ++d) {
      step.communication[k][d].total += sums.communication[k][d].total * times;
      step.communication[k][d].exposed += sums.communication[k][d].exposed * times;
    }
}

/// Merged passes do the same as separate ones and expose less of what they communicate.
void merge_times(StepBreakdown& step, const LayerCost& layer, const LayerSums& separate, double times) {
  LayerSums merged;
  add(merged, layer.merged);
  for (std::size_t k = 0; k < kCollectiveKinds; ++k)
    for (std::size_t d = 0; d < kDimensions; ++d)
      step.communication[k][d].exposed +=
          (merged.communication[k][d].exposed - separate.communication[k][d].exposed) * times;
}

/// Those of stages whose nodes are in a state.
void add_layers_in(int state, StepBreakdown& step, const ReplicaStages& stages) {
  const Job& job = stages.job();
  std::vector<double> count(job.layer_kinds.size(), 0);
  std::vector<double> merged(job.layer_kinds.size(), 0);
  for (const Chunk& chunk : job.chunks) {
    if (stages.state(static_cast<std::size_t>(chunk.stage)) != state) continue;
    const double pairs = stages.merged_of_chunk(chunk.stage);
    for (const int kind : chunk.layer_kinds) {
      count[static_cast<std::size_t>(kind)] += stages.micro_batches();
      merged[static_cast<std::size_t>(kind)] += pairs;
    }
  }
  const auto of_stages = static_cast<double>(stages.count());
  for (std::size_t kind = 0; kind < count.size(); ++kind) {
    if (count[kind] <= 0) continue;
    const LayerCost& layer = job.in_state(state).layer_kinds[kind];
    LayerSums sums;
    add(sums, layer.forward);
    add(sums, layer.backward_input);
    add(sums, layer.backward_weight);
    add_times(step, sums, count[kind] / of_stages);
    if (merged[kind] > 0 && !layer.merged.pieces.empty()) merge_times(step, layer, sums, merged[kind] / of_stages);
  }
}

}  // namespace

void add_layers(StepBreakdown& step, const ReplicaStages& stages) {
  const auto states = static_cast<int>(stages.job().fold.states.size());
  for (int state = 0; state < states; ++state) add_layers_in(state, step, stages);
  step.compute = step.matrix_time + step.memory_time;
}

}  // namespace stepcast
