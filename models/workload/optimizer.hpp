#pragma once

#include <array>

#include "models/workload/model.hpp"

namespace stepcast {

/// What updates the parameters: Adam (Kingma & Ba 2015; AdamW and LAMB keep the same), with its moments in 16 bit
/// (DeepSeek-V3, arXiv 2412.19437, section 3.3.3) or in 8 (Dettmers et al. 2022, arXiv 2110.02861); gradient descent
/// with momentum; Lion, with one (Chen et al. 2023, arXiv 2302.06675); Adafactor without one, whose second moments are
/// sums over rows and columns (Shazeer & Stern 2018, arXiv 1804.04235); Muon, which orthogonalises the momentum of
/// hidden matrices, beside Adam for the rest (Jordan 2024; Liu et al. 2025, arXiv 2502.16982).
enum class OptimizerKind { adam, adam_16bit, adam_8bit, sgd, lion, adafactor, muon };
template <>
struct EnumNames<OptimizerKind> {
  static constexpr std::array names{"adam", "adam-16bit", "adam-8bit", "sgd", "lion", "adafactor", "muon"};
};

/// Adam for transformers and diffusion models, SGD with momentum for other networks.
OptimizerKind usual_optimizer(const Model& model);

/// What updates parameters outside of hidden matrices: Adam beside Muon, else the optimizer itself.
OptimizerKind outside_matrices(OptimizerKind kind);

/// Bytes of one parameter's states (Muon: of a hidden matrix's), beside the parameter and its gradient. `element`:
/// bytes of a state that has no format of its own (4; 2 where parameters are in 16 bit alone).
double optimizer_state_bytes(OptimizerKind kind, double element);

/// Formats of one parameter while it is updated, in bytes.
struct UpdatedParameter {
  double gradient = 4;   ///< read
  double parameter = 4;  ///< read and written
  double copy = 0;       ///< written beside it, which products read
};
/// Memory traffic of one parameter's update, in bytes: what UpdatedParameter says, and each state read and written.
/// Muon's of a hidden matrix's parameter without that of Newton–Schulz's products.
double least_update_bytes(OptimizerKind kind, const UpdatedParameter& formats);

}  // namespace stepcast
