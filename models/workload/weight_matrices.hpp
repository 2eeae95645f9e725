#pragma once

#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast {

/// All trained weight matrices of a layer as one device holds them, experts' left out: what compressors of matrices see
/// (PyTorch's powerSGD_hook views a tensor as its first dimension × the others). Vectors (biases, norms) are none.
std::vector<WeightMatrix> weight_matrices(const LayerWork& work);

}  // namespace stepcast
