#include <algorithm>
#include <array>

#include "models/workload/steps.hpp"

// Fine-tuning of low-rank adapters: w·x + b·(a·x) with w frozen (Hu et al. 2021, arXiv 2106.09685), beside the products
// in front of the attention core and behind it, where the paper puts them (section 4.2).
namespace stepcast::workload {
namespace {

/// Down to the rank and up again beside one frozen product.
struct Adapter {
  Linear down, up;
};

std::array<Adapter, 2> adapters(const Cut& cut) {
  const double rank = cut.sharding.adapter_rank;
  return {Adapter{{"adapter_qkv_down", "adapter_qkv_down_dgrad", "adapter_qkv_down_wgrad", cut.hidden, rank},
                  {"adapter_qkv_up", "adapter_qkv_up_dgrad", "adapter_qkv_up_wgrad", rank, cut.entry}},
          Adapter{{"adapter_proj_down", "adapter_proj_down_dgrad", "adapter_proj_down_wgrad", cut.attended, rank},
                  {"adapter_proj_up", "adapter_proj_up_dgrad", "adapter_proj_up_wgrad", rank, cut.hidden}}};
}

/// Both sums read two tensors and write one.
LayerStep sum(std::string_view name, double width, const Cut& cut) {
  return memory(name, 3 * cut.tokens * width * cut.element, cut.sharding);
}

void add_adapter(LayerWork& work, const Cut& cut, const Adapter& adapter) {
  work.forward.push_back(forward_product(adapter.down, cut.tokens, cut.element));
  work.forward.push_back(forward_product(adapter.up, cut.tokens, cut.element));
  work.forward.push_back(sum("adapter_sum", adapter.up.out, cut));
  work.backward_input.push_back(input_gradient(adapter.up, cut.tokens, cut.element));
  work.backward_input.push_back(input_gradient(adapter.down, cut.tokens, cut.element));
  work.backward_input.push_back(sum("adapter_sum_backward", adapter.down.in, cut));
  work.backward_weight.push_back(weight_gradient(adapter.up, cut.tokens, cut.sharding));
  work.backward_weight.push_back(weight_gradient(adapter.down, cut.tokens, cut.sharding));
  work.parameters += adapter.down.in * adapter.down.out + adapter.up.in * adapter.up.out;
}

}  // namespace

void freeze_under_adapters(LayerWork& work, const Cut& cut, bool block) {
  work.frozen_parameters = work.parameters;
  work.frozen_expert_parameters = work.expert_parameters;
  work.parameters = work.expert_parameters = work.tied_parameters = 0;
  work.backward_weight.clear();
  work.matrices.clear();
  if (!block) return;
  for (const Adapter& adapter : adapters(cut)) add_adapter(work, cut, adapter);
}

}  // namespace stepcast::workload
