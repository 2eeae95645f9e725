#include <algorithm>
#include <vector>

#include "models/workload/steps.hpp"

// Fine-tuning of low-rank adapters: w·x + b·(a·x) with w frozen (Hu et al. 2021, arXiv 2106.09685), beside the products
// in front of the attention core and behind it, where the paper puts them (section 4.2), or beside all.
namespace stepcast::workload {
namespace {

/// Down to the rank and up again beside one frozen product.
struct Adapter {
  Linear down, up;
  double rows;  ///< tokens that the product takes
};

Adapter beside(double in, double out, double rows, const Cut& cut) {
  const double rank = cut.sharding.adapter_rank;
  return {{"adapter_down", "adapter_down_dgrad", "adapter_down_wgrad", in, rank},
          {"adapter_up", "adapter_up_dgrad", "adapter_up_wgrad", rank, out},
          rows};
}

/// Of a frozen layer's weight gradients, those of its matrices: which, and over what rows. A router stays as it is, and
/// so do experts.
std::vector<Adapter> beside_all(const LayerWork& work, const Cut& cut) {
  std::vector<Adapter> out;
  for (const LayerStep& step : work.backward_weight) {
    const Operator& op = step.op;
    const bool matrix = step.communication == LayerCommunication::none && op.kind == OperatorKind::gemm;
    if (matrix && op.batch == 1 && op.name != "router_wgrad") out.push_back(beside(op.m, op.n, op.k, cut));
  }
  return out;
}

std::vector<Adapter> adapters(const LayerWork& work, const Cut& cut, bool attends) {
  if (cut.sharding.adapter_targets == AdapterTargets::all_linear) return beside_all(work, cut);
  if (!attends) return {};
  std::vector<Adapter> out{beside(cut.hidden, cut.entry, cut.tokens, cut)};
  if (cut.sharding.adapter_targets == AdapterTargets::attention)
    out.push_back(beside(cut.attended, cut.hidden, cut.tokens, cut));
  return out;
}

/// Both sums read two tensors and write one.
LayerStep sum(std::string_view name, double elements, const Cut& cut) {
  return memory(name, 3 * elements * cut.element, cut.sharding);
}

void add_adapter(LayerWork& work, const Cut& cut, const Adapter& adapter) {
  const double rows = adapter.rows;
  work.forward.push_back(forward_product(adapter.down, rows, cut.element));
  work.forward.push_back(forward_product(adapter.up, rows, cut.element));
  work.forward.push_back(sum("adapter_sum", rows * adapter.up.out, cut));
  work.backward_input.push_back(input_gradient(adapter.up, rows, cut.element));
  work.backward_input.push_back(input_gradient(adapter.down, rows, cut.element));
  work.backward_input.push_back(sum("adapter_sum_backward", rows * adapter.down.in, cut));
  work.backward_weight.push_back(weight_gradient(adapter.up, rows, cut.sharding));
  work.backward_weight.push_back(weight_gradient(adapter.down, rows, cut.sharding));
  work.parameters += adapter.down.in * adapter.down.out + adapter.up.in * adapter.up.out;
  // What the second product reads.
  work.activations += Bytes(rows * adapter.down.out * cut.element);
}

/// Packed weights are unpacked into the products' format before each product that reads them: read packed, written
/// whole (Dettmers et al. 2023, arXiv 2305.14314, section 3).
void unpack_weights(LayerWork& work, const Cut& cut) {
  const double packed = cut.sharding.packed_weight_bytes;
  if (packed <= 0) return;
  const double weights = work.frozen_parameters + work.frozen_expert_parameters;
  const LayerStep step = counted_memory("unpack_weights", weights * (packed + cut.element));
  work.forward.insert(work.forward.begin(), step);
  work.backward_input.insert(work.backward_input.begin(), step);
}

}  // namespace

void freeze_under_adapters(LayerWork& work, const Cut& cut, bool block, bool attends) {
  work.frozen_parameters = work.parameters;
  work.frozen_expert_parameters = work.expert_parameters;
  work.parameters = work.expert_parameters = work.tied_parameters = 0;
  const std::vector<Adapter> trained = block ? adapters(work, cut, attends) : std::vector<Adapter>();
  work.backward_weight.clear();
  work.matrices.clear();
  if (!block) return;
  unpack_weights(work, cut);
  for (const Adapter& adapter : trained) add_adapter(work, cut, adapter);
}

}  // namespace stepcast::workload
