#include "models/workload/operator_recompute.hpp"

#include <algorithm>

#include "models/workload/products.hpp"

namespace stepcast {

namespace {

constexpr double kProductsKept = 0.5;

/// A product of part of the columns.
LayerStep part_of(LayerStep product, double share) {
  product.op.n *= share;
  product.op.flops *= share;
  product.op.bytes *= share;
  return product;
}

}  // namespace

Bytes activations_kept_per_operator(const LayerWork& work, double bytes_per_element) {
  double products = 0;
  double attention = 0;  // ring attention's kernels add to one output
  for (const LayerStep& step : work.forward) {
    const Operator& op = step.op;
    if (step.communication != LayerCommunication::none) continue;
    if (is_product(op)) products += op.batch * op.m * op.n;
    if (op.kind == OperatorKind::attention) attention = std::max(attention, op.batch * op.m * op.k);
  }
  return work.activation_input + Bytes((kProductsKept * products + attention) * bytes_per_element);
}

std::vector<LayerStep> steps_repeated_per_operator(const LayerWork& work) {
  std::vector<LayerStep> repeated;
  for (const LayerStep& step : work.forward) {
    // What a collective has summed is kept; what it has gathered is gathered again.
    const bool communicates = step.communication != LayerCommunication::none;
    if (communicates ? step.collective != LayerCollective::all_gather : step.op.kind == OperatorKind::attention)
      continue;
    repeated.push_back(!communicates && is_product(step.op) ? part_of(step, 1 - kProductsKept) : step);
  }
  return repeated;
}

}  // namespace stepcast
