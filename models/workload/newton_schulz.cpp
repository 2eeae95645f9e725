#include "models/workload/newton_schulz.hpp"

#include <algorithm>

#include "models/workload/steps.hpp"

namespace stepcast {

namespace {

Operator in_16_bit(std::string_view name, double m, double n, double k) {
  Operator op = workload::gemm(name, m, n, k, 2).op;
  op.sixteen_bit = true;
  return op;
}

}  // namespace

std::array<Operator, 3> newton_schulz_step(const WeightMatrix& matrix) {
  const double m = std::min(matrix.rows, matrix.columns), n = std::max(matrix.rows, matrix.columns);
  return {in_16_bit("newton_schulz_gram", m, m, n), in_16_bit("newton_schulz_square", m, m, m),
          in_16_bit("newton_schulz_apply", m, n, m)};
}

Flops newton_schulz_flops(const WeightMatrix& matrix) {
  Flops step;
  for (const Operator& op : newton_schulz_step(matrix)) step += op.flops;
  return static_cast<double>(kNewtonSchulzSteps) * step;
}

}  // namespace stepcast
