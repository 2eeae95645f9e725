#pragma once

#include "models/parallelism/job.hpp"

namespace stepcast {

/// Matrices with the time that Newton–Schulz's products take on one of each.
std::vector<MuonMatrices> muon_matrices(const std::vector<WeightMatrix>& matrices, const Device& device);

/// Trained parameters of a stage whose states one device keeps and which it updates; where devices differ, of the one
/// with most.
struct OwnedParameters {
  double all = 0;
  double in_matrices = 0;  ///< of them, those of hidden matrices that Muon updates; none under other optimizers
};
/// Of all devices where states are not sharded. Where they are, each owns an even share; under Muon an even share of
/// what Adam updates, and whole matrices, as a device holds them after tensor and expert cuts (Megatron-LM,
/// layer_wise_optimizer.py: the largest first, each to the rank that has least).
OwnedParameters owned_parameters(const Job& job, int stage);

/// Time of a stage's slowest device to update what it owns: the traffic of parameters and states, and under Muon
/// Newton–Schulz's products on every matrix, one by one and without a tensor-parallel exchange (Megatron-LM,
/// --muon-tp-mode blockwise, its default). On the hosts where they update (offload_optimizer).
Seconds update_time(const Job& job, int stage);

}  // namespace stepcast
