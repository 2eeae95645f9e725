#pragma once

#include <array>

#include "models/workload/operators.hpp"

namespace stepcast {

/// Steps of the iteration that brings a matrix near its orthogonal factor (Jordan 2024; Liu et al. 2025, arXiv
/// 2502.16982, section 2.1; Megatron-LM, --muon-num-ns-steps).
constexpr int kNewtonSchulzSteps = 5;

/// Products of one step X ← a·X + (b·A + c·A²)·X with A = X·Xᵀ in 16 bit, where X is the matrix or its transpose,
/// m × n with m ≤ n: A of m × m over n, A² of m × m over m, and m × n over m. Sums and factors ride on the products.
/// In steps of a wider format the products are at its rate (Operator::sixteen_bit).
std::array<Operator, 3> newton_schulz_step(const WeightMatrix& matrix);

/// FLOPs of all steps on one matrix, 5·(4·m²·n + 2·m³).
Flops newton_schulz_flops(const WeightMatrix& matrix);

}  // namespace stepcast
