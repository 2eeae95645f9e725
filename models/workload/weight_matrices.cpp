#include "models/workload/weight_matrices.hpp"

namespace stepcast {

std::vector<WeightMatrix> weight_matrices(const LayerWork& work) {
  if (!work.matrices.empty()) return work.matrices;
  std::vector<WeightMatrix> matrices;
  double left = work.parameters;
  for (const LayerStep& step : work.backward_weight) {
    const Operator& op = step.op;
    if (op.kind != OperatorKind::gemm && op.kind != OperatorKind::convolution) continue;
    // The groups of a convolution are rows of one tensor.
    const double groups = op.kind == OperatorKind::convolution ? op.batch : 1;
    const WeightMatrix matrix{op.n * groups, op.m, 1};
    // The product of a tied output layer adds to the gradient of a table that another layer holds.
    if (matrix.rows * matrix.columns > left) continue;
    left -= matrix.rows * matrix.columns;
    matrices.push_back(matrix);
  }
  return matrices;
}

}  // namespace stepcast
