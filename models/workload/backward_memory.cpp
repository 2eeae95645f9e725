#include "models/workload/backward_memory.hpp"

#include <algorithm>

#include "models/workload/products.hpp"

namespace stepcast {

namespace {

/// Gradients around one operator of the backward pass: of its result, and of its inputs.
Bytes gradients_around(const Operator& op, double element) {
  if (is_product(op)) return Bytes(op.batch * op.m * (op.k + op.n) * element);
  if (op.kind != OperatorKind::attention) return Bytes(0);
  // Fused: half of the traffic of a backward kernel is dO, dQ, dK and dV. Unfused: the gradient of the scores before
  // and after the softmax.
  return op.fused ? (op.bytes - op.again) / 2.0 : Bytes(2 * op.batch * op.m * op.n * element);
}

}  // namespace

std::vector<WeightShape> weight_shapes(const LayerWork& work) {
  std::vector<WeightShape> shapes;
  for (const LayerStep& step : work.backward_weight) {
    if (!is_product(step.op)) continue;
    const WeightShape shape{step.op.m, step.op.n};
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
  }
  return shapes;
}

Bytes gradients_at_once(const LayerWork& work, const LayerSharding& sharding) {
  Bytes most;
  Bytes gathered;
  for (const LayerStep& step : work.backward_input) {
    if (step.communication != LayerCommunication::none) {
      if (step.overlappable && step.communication == LayerCommunication::tensor) gathered = step.payload;
      continue;
    }
    most = std::max(most, gradients_around(step.op, sharding.bytes_per_element) + gathered);
    gathered = Bytes(0);
  }
  // The scattered gradient of the layer's input, before the whole one is freed.
  const bool scatters = sharding.sequence_parallel && sharding.tp > 1;
  return most + (scatters ? work.activation_input : Bytes(0));
}

}  // namespace stepcast
