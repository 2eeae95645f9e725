#include "models/workload/operator_recompute.hpp"

#include <algorithm>

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

/// Whether every second of such products is kept. Grouped products of experts are none of them (torchtitan's
/// _op_sac_save_list names aten.mm).
bool is_kept(const Operator& op) { return op.kind == OperatorKind::gemm; }

/// Whether a collective's result is: the same list has reduce_scatter_tensor and all_to_all_single.
bool is_kept(const LayerStep& collective) {
  return collective.collective == LayerCollective::reduce_scatter ||
         collective.collective == LayerCollective::all_to_all;
}

/// A scattered sum leaves each rank its part.
double parts_of_result(const LayerStep& collective, const LayerSharding& sharding) {
  return collective.collective == LayerCollective::reduce_scatter ? static_cast<double>(sharding.tp) : 1;
}

}  // namespace

Bytes activations_kept_per_operator(const LayerWork& work, const LayerSharding& sharding) {
  double products = 0;
  double attention = 0;  // ring attention's kernels add to one output
  Bytes received;
  for (const LayerStep& step : work.forward) {
    const Operator& op = step.op;
    if (step.communication != LayerCommunication::none) {
      if (is_kept(step)) received += step.payload * step.calls / parts_of_result(step, sharding);
      continue;
    }
    if (is_kept(op)) products += op.batch * op.m * op.n;
    if (op.kind == OperatorKind::attention) attention = std::max(attention, op.batch * op.m * op.k);
  }
  const Bytes made((kProductsKept * products + attention) * sharding.bytes_per_element);
  return work.activation_input + made + received;
}

std::vector<LayerStep> steps_repeated_per_operator(const LayerWork& work) {
  std::vector<LayerStep> repeated;
  for (const LayerStep& step : work.forward) {
    const bool communicates = step.communication != LayerCommunication::none;
    const bool around = communicates && step.collective == LayerCollective::send_recv;  // beside the attention kernels
    if (communicates ? is_kept(step) || around : step.op.kind == OperatorKind::attention) continue;
    repeated.push_back(!communicates && is_kept(step.op) ? part_of(step, 1 - kProductsKept) : step);
  }
  return repeated;
}

}  // namespace stepcast
