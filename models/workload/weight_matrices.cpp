#include "models/workload/weight_matrices.hpp"

namespace stepcast {

namespace {

/// Of the products of weight gradients that `counts` takes, the matrices; `parameters`: all that the layer trains.
template <class Counts>
std::vector<WeightMatrix> of_products(const LayerWork& work, double parameters, Counts counts) {
  std::vector<WeightMatrix> matrices;
  for (const LayerStep& step : work.backward_weight) {
    const Operator& op = step.op;
    if (!counts(op)) continue;
    // Groups of a convolution, or of heads, are rows of one tensor; experts have a tensor each.
    const bool experts = op.kind == OperatorKind::grouped_gemm;
    const double groups = experts ? 1 : op.batch;
    const double count = experts ? op.batch : 1;
    const WeightMatrix matrix{op.n * groups, op.m, count};
    // The product of a tied output layer adds to the gradient of a table that another layer holds.
    if (matrix.rows * matrix.columns * matrix.count > parameters) continue;
    parameters -= matrix.rows * matrix.columns * matrix.count;
    matrices.push_back(matrix);
  }
  return matrices;
}

}  // namespace

std::vector<WeightMatrix> weight_matrices(const LayerWork& work) {
  if (!work.matrices.empty()) return work.matrices;
  return of_products(work, work.parameters, [](const Operator& op) {
    return op.kind == OperatorKind::gemm || op.kind == OperatorKind::convolution;
  });
}

std::vector<WeightMatrix> expert_matrices(const LayerWork& work) {
  return of_products(work, work.expert_parameters,
                     [](const Operator& op) { return op.kind == OperatorKind::grouped_gemm; });
}

std::vector<WeightMatrix> hidden_matrices(const LayerWork& work, LayerRole role) {
  if (role == LayerRole::embedding) return {};
  return of_products(work, work.parameters,
                     [](const Operator& op) { return op.kind == OperatorKind::gemm && !op.output_layer; });
}

}  // namespace stepcast
