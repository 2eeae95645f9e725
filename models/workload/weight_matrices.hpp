#pragma once

#include <vector>

#include "models/workload/operators.hpp"

namespace stepcast {

/// All trained weight matrices of a layer as one device holds them, experts' left out: what compressors of matrices see
/// (PyTorch's powerSGD_hook views a tensor as its first dimension × the others). Vectors (biases, norms) are none.
std::vector<WeightMatrix> weight_matrices(const LayerWork& work);

/// The experts' trained matrices of a layer as one device holds them.
std::vector<WeightMatrix> expert_matrices(const LayerWork& work);

/// Of weight_matrices, those between activations: a transformer's without embeddings and the output layer, which
/// Muon leaves to Adam (Jordan 2024; Megatron-LM's is_embedding_or_output_parameter). Routers are among them.
std::vector<WeightMatrix> hidden_matrices(const LayerWork& work, LayerRole role);

}  // namespace stepcast
