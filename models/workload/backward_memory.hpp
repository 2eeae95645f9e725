#pragma once

#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast {

/// Shape of a weight matrix as one device holds it.
struct WeightShape {
  double in = 0, out = 0;
  friend bool operator==(const WeightShape&, const WeightShape&) = default;
};

/// Weight matrices of the layer that are trained, each shape once; of experts, one's. Read off the weight-gradient
/// products.
std::vector<WeightShape> weight_shapes(const LayerWork& work);

/// Most bytes of gradients that the backward pass through a layer has allocated at once, beside the activations that it
/// was given: what goes into one of its operators and what comes out, with the input that sequence parallelism gathers
/// again. What an operator no longer needs is free by then, so the largest operator decides.
Bytes gradients_at_once(const LayerWork& work, const LayerSharding& sharding);

}  // namespace stepcast
