#include "models/parallelism/decoding.hpp"

#include "models/storage/input_pipeline.hpp"

namespace stepcast {

bool decodes_on_training_cores(const Scenario& scenario) {
  return !scenario.node->has_accelerators() && scenario.spec.workload.input.decode && cores_per_node(scenario) > 0;
}

void add_decoding(Job& job) {
  const Scenario& scenario = *job.scenario;
  if (!decodes_on_training_cores(scenario) || job.chunks.empty()) return;
  const double cores = cores_per_node(scenario) / scenario.devices_per_node() * scenario.degrees.tp;
  Piece piece;
  piece.name = "decode";
  piece.duration = *scenario.spec.workload.input.decode * (static_cast<double>(scenario.degrees.micro_batch) / cores);
  Chunk& chunk = job.chunks.front();
  LayerCost first = job.layer_kinds[static_cast<std::size_t>(chunk.layer_kinds.front())];
  first.forward.pieces.insert(first.forward.pieces.begin(), piece);
  first.forward.compute += piece.duration;
  chunk.forward += piece.duration;
  chunk.layer_kinds.front() = static_cast<int>(job.layer_kinds.size());
  job.layer_kinds.push_back(std::move(first));
}

}  // namespace stepcast
