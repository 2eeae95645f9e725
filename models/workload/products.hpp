#pragma once

#include "models/workload/operators.hpp"

namespace stepcast {

/// Products of matrices, those of experts among them.
inline bool is_product(const Operator& op) {
  return op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
}

}  // namespace stepcast
