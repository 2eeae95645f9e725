#include <array>
#include <cmath>

#include "models/workload/steps.hpp"

namespace stepcast::workload {
namespace {

/// The two products of an MLP of `width` (of one gate) on the device.
struct Mlp {
  Linear up, down;
  double width;
};

Mlp dense_mlp(const Cut& cut) {
  const double width = cut.shape.mlp_width(cut.head.keys) / cut.tp;
  return {{"mlp_up", "mlp_up_dgrad", "mlp_up_wgrad", cut.hidden, gates(cut.shape) * width},
          {"mlp_down", "mlp_down_dgrad", "mlp_down_wgrad", width, cut.hidden},
          width};
}

Mlp shared_expert(const Cut& cut) {
  const double width = cut.shape.shared_expert_ffn / cut.tp;
  return {{"shared_up", "shared_up_dgrad", "shared_up_wgrad", cut.hidden, gates(cut.shape) * width},
          {"shared_down", "shared_down_dgrad", "shared_down_wgrad", width, cut.hidden},
          width};
}

/// A gated activation as two kernels: one activates the gate, the other multiplies.
bool separate_gate(const Cut& cut) { return cut.shape.gated_mlp && !cut.sharding.fused_activation; }

/// Tensors of the MLP's width through memory. GELU: in, out (backward: in, gradient, result); gated: gate and up in,
/// out (backward: gate, up and gradient in, two gradients out). Separate: the activated gate is written and read, too;
/// backward both factors' gradients (2 · 3) and the activation's (3).
LayerStep activation(const Cut& cut, double elements) {
  if (separate_gate(cut)) return counted_memory("activation", 5 * elements * cut.element);
  return memory("activation", (gates(cut.shape) + 1) * elements * cut.element, cut.sharding);
}
LayerStep activation_backward(const Cut& cut, double elements) {
  if (separate_gate(cut)) return counted_memory("activation_backward", 9 * elements * cut.element);
  return memory("activation_backward", (2 * gates(cut.shape) + 1) * elements * cut.element, cut.sharding);
}

void mlp_forward(Steps& steps, const Cut& cut, const Mlp& mlp) {
  gather_operand(steps, "cast_input", cut);
  steps.push_back(forward_product(mlp.up, cut.tokens, cut.element));
  steps.push_back(activation(cut, cut.tokens * mlp.width));
  add_row_parallel_product(steps, mlp.down, cut);
}

void mlp_backward(Steps& steps, const Cut& cut, const Mlp& mlp) {
  gather_operand(steps, "cast_gradient", cut);
  steps.push_back(input_gradient(mlp.down, cut.tokens, cut.element));
  steps.push_back(activation_backward(cut, cut.tokens * mlp.width));
  add_cast(steps, "cast_gradient", cut.tokens * mlp.up.out, cut.sharding);
  regather_input(steps, cut, cut.sharding.gathered_bytes);
  steps.push_back(input_gradient(mlp.up, cut.tokens, cut.element));
}

void mlp_weights(Steps& steps, const Cut& cut, const Mlp& mlp) {
  steps.push_back(weight_gradient(mlp.down, cut.tokens, cut.sharding));
  collect_beside_weights(steps, cut);
  steps.push_back(weight_gradient(mlp.up, cut.tokens, cut.sharding));
}

/// Weights; biases of the column-parallel product are cut with it, those of the row-parallel one are held by all.
double mlp_parameters(const Cut& cut, const Mlp& mlp) {
  const double weights = mlp.up.in * mlp.up.out + mlp.down.in * mlp.down.out;
  return weights + (cut.shape.biases ? mlp.up.out + mlp.down.out : 0);
}

/// Tensors of an MLP's width that its activation keeps besides its inputs: the result, and in eager mode the activated
/// gate, which the product with the other gate needs.
double activated(const Cut& cut) { return separate_gate(cut) ? 2 : 1; }

/// What an MLP keeps beside its input, as the device holds it: that of all tensor ranks, where it is kept, and the
/// activation's input and output.
/// A frozen product needs no input again: the activation's result goes, but not the activated gate beside it.
Bytes mlp_inside(const Cut& cut, const Mlp& mlp) {
  const double inputs = cut.sharding.keeps_inputs_of_all() ? 1 : 0;
  const double output = (activated(cut) - 1 + inputs) * mlp.width;
  return gathered_and_kept(cut) + Bytes(cut.tokens * (mlp.up.out + output) * cut.element);
}

// --- Mixture of experts (Lepikhin et al. 2020, arXiv 2006.16668; Fedus et al. 2021, arXiv 2101.03961), with the load
// even over the experts of a rank. All wait for the rank whose experts get most. Each expert-parallel rank holds
// experts/ep of them, each cut by etp: tp, or 1 (whole experts, over which expert parallelism extends to the tensor
// ranks with their own tokens).

struct Experts {
  double on_device;  ///< experts held
  double width;      ///< of one, on the device
  double rows;       ///< tokens that reach the device's experts, all together
  double sent;       ///< of its own tokens that the device routes
  double received;   ///< from the ranks of its expert-parallel group, its own among them
  double hidden;     ///< of a token as they see it
  double chosen;     ///< of those held, the ones that any token reaches: of the others nothing is read
  [[nodiscard]] double rows_each() const { return rows / on_device; }
};

/// Share of experts that at least one of the tokens chooses, each of which takes top_k different ones of all.
double chosen_share(const TransformerShape& shape, double tokens) {
  return 1 - std::pow(1 - static_cast<double>(shape.top_k) / shape.experts, tokens);
}

Experts experts_of(const Cut& cut) {
  const TransformerShape& shape = cut.shape;
  const double width = shape.moe_ffn_hidden > 0 ? shape.moe_ffn_hidden : shape.ffn_hidden;
  const double sent = cut.resident * shape.top_k;
  const double imbalance = cut.sharding.expert_imbalance;
  const double rows = (cut.sharding.etp > 1 ? cut.tokens * shape.top_k : sent) * imbalance;
  const double hidden = shape.moe_latent > 0 ? shape.moe_latent : cut.hidden;
  const double on_device = static_cast<double>(shape.experts) / cut.sharding.ep;
  const double tokens = rows / on_device * shape.experts / shape.top_k;
  return {on_device,
          width / cut.sharding.etp,
          rows,
          sent,
          sent * imbalance,
          hidden,
          on_device * chosen_share(shape, tokens)};
}

void exchange_tokens(Steps& steps, const Cut& cut, const Experts& experts, std::string_view name) {
  if (cut.sharding.ep == 1) return;
  steps.push_back(communicate(name, LayerCommunication::expert, LayerCollective::all_to_all,
                              Bytes(experts.received * experts.hidden * cut.element)));
}

/// Experts cut by tensor parallelism need every rank's tokens (only with sequence parallelism do ranks hold different
/// ones).
void over_tensor_ranks(Steps& steps, const Cut& cut, const Experts& experts, std::string_view name,
                       LayerCollective collective) {
  if (cut.sharding.etp > 1 && cut.sharding.sequence_parallel)
    steps.push_back(
        communicate(name, LayerCommunication::tensor, collective, Bytes(experts.rows * experts.hidden * cut.element)));
}

/// A product of the router, which chooses experts in 16 bit or wider in every recipe.
LayerStep router(std::string_view name, double m, double n, double k, const Cut& cut) {
  LayerStep step = gemm(name, m, n, k, cut.element);
  step.op.sixteen_bit = true;
  return step;
}

/// Routed tokens through memory, with the passes that the framework adds to the least.
LayerStep routed(std::string_view name, double bytes, const Cut& cut) {
  return memory(name, bytes * cut.sharding.expert_passes, cut.sharding);
}

/// Tokens copied into the order of their experts, or back: h once and top_k times.
LayerStep permute(std::string_view name, const Cut& cut, const Experts& experts) {
  return routed(name, cut.resident * (1.0 + cut.shape.top_k) * experts.hidden * cut.element, cut);
}

/// To the width that the experts see and back, on the tokens that a rank holds, by weights that all of them hold
/// (Megatron-Core: moe_latent_size).
std::array<Linear, 2> latent(const Cut& cut) {
  const double width = cut.shape.moe_latent;
  return {Linear{"latent_down", "latent_down_dgrad", "latent_down_wgrad", cut.hidden, width},
          Linear{"latent_up", "latent_up_dgrad", "latent_up_wgrad", width, cut.hidden}};
}
void add_latent(Steps& steps, const Cut& cut, const Linear& linear) {
  if (cut.shape.moe_latent == 0) return;
  add_cast(steps, "cast_input", cut.resident * linear.in, cut.sharding);
  steps.push_back(forward_product(linear, cut.resident, cut.element));
}
void add_latent_backward(Steps& steps, const Cut& cut, const Linear& linear) {
  if (cut.shape.moe_latent == 0) return;
  add_cast(steps, "cast_gradient", cut.resident * linear.out, cut.sharding);
  steps.push_back(input_gradient(linear, cut.resident, cut.element));
}

/// Received tokens come by sender and are put in order of expert: one more copy.
void sort_received(Steps& steps, const Cut& cut, const Experts& experts, std::string_view name) {
  if (cut.sharding.ep > 1 && experts.on_device > 1)
    steps.push_back(routed(name, 2 * experts.received * experts.hidden * cut.element, cut));
}

LayerStep grouped(std::string_view name, const Cut& cut, const Experts& experts, double n, double k) {
  const double rows = experts.rows / experts.chosen;
  LayerStep step = gemm(name, rows, n, k, cut.element, experts.chosen, OperatorKind::grouped_gemm);
  step.op.rows = rows;
  return step;
}

LayerStep grouped_weights(std::string_view name, const Cut& cut, const Experts& experts, double in, double out) {
  LayerStep step =
      weight_gradient(name, in, out, experts.rows_each(), cut.sharding, experts.on_device, OperatorKind::grouped_gemm);
  step.op.rows = experts.rows_each();
  return step;
}

/// The second products' biases, one an expert, weighted as its tokens are: in fp32, a product written, the sum, the
/// experts' parts put together again, and the cast back. Backward: that cast, the experts' results' and the parts'
/// gradients, and for the bias and the weights one product each, written and summed (Megatron-Core, moe/experts.py,
/// TEGroupedMLP._apply_bias, by its operators).
void add_expert_biases(Steps& steps, const Cut& cut, const Experts& experts, std::string_view name, bool backward) {
  if (!cut.shape.biases || cut.sharding.fused_expert_biases) return;
  const double wide = sizeof(float), narrow = cut.element;
  const double bytes = backward ? 8 * wide + 4 * narrow : 6 * wide + 2 * narrow;
  steps.push_back(memory(name, bytes * experts.rows * experts.hidden, cut.sharding));
}

void moe_forward(Steps& steps, const Cut& cut, const Experts& experts) {
  const double up = gates(cut.shape) * experts.width;
  steps.push_back(router("router", cut.resident, cut.shape.experts, cut.hidden, cut));
  steps.push_back(memory("router_top_k", 2 * cut.resident * cut.shape.experts * sizeof(float), cut.sharding));
  add_latent(steps, cut, latent(cut)[0]);
  steps.push_back(permute("permute", cut, experts));
  exchange_tokens(steps, cut, experts, "ep_dispatch");
  over_tensor_ranks(steps, cut, experts, "tp_all_gather", LayerCollective::all_gather);
  sort_received(steps, cut, experts, "expert_sort");
  add_cast(steps, "cast_expert_input", experts.rows * experts.hidden, cut.sharding);
  steps.push_back(grouped("expert_up", cut, experts, up, experts.hidden));
  steps.push_back(activation(cut, experts.rows * experts.width));
  add_cast(steps, "cast_expert_input", experts.rows * experts.width, cut.sharding);
  steps.push_back(grouped("expert_down", cut, experts, experts.hidden, experts.width));
  add_expert_biases(steps, cut, experts, "expert_bias", false);
  sort_received(steps, cut, experts, "expert_unsort");
  over_tensor_ranks(steps, cut, experts, "tp_reduce_scatter", LayerCollective::reduce_scatter);
  exchange_tokens(steps, cut, experts, "ep_combine");
  steps.push_back(permute("unpermute", cut, experts));
  add_latent(steps, cut, latent(cut)[1]);
}

void moe_backward(Steps& steps, const Cut& cut, const Experts& experts) {
  const double up = gates(cut.shape) * experts.width;
  add_latent_backward(steps, cut, latent(cut)[1]);
  steps.push_back(permute("unpermute_backward", cut, experts));
  exchange_tokens(steps, cut, experts, "ep_combine_backward");
  over_tensor_ranks(steps, cut, experts, "tp_all_gather", LayerCollective::all_gather);
  sort_received(steps, cut, experts, "expert_unsort_backward");
  add_expert_biases(steps, cut, experts, "expert_bias_backward", true);
  add_cast(steps, "cast_expert_gradient", experts.rows * experts.hidden, cut.sharding);
  steps.push_back(grouped("expert_down_dgrad", cut, experts, experts.width, experts.hidden));
  steps.push_back(activation_backward(cut, experts.rows * experts.width));
  add_cast(steps, "cast_expert_gradient", experts.rows * up, cut.sharding);
  steps.push_back(grouped("expert_up_dgrad", cut, experts, experts.hidden, up));
  sort_received(steps, cut, experts, "expert_sort_backward");
  over_tensor_ranks(steps, cut, experts, "tp_reduce_scatter", LayerCollective::reduce_scatter);
  exchange_tokens(steps, cut, experts, "ep_dispatch_backward");
  steps.push_back(permute("permute_backward", cut, experts));
  add_latent_backward(steps, cut, latent(cut)[0]);
  steps.push_back(memory("router_backward", 2 * cut.resident * cut.shape.experts * sizeof(float), cut.sharding));
  steps.push_back(router("router_dgrad", cut.resident, cut.hidden, cut.shape.experts, cut));
}

void count_experts(LayerWork& work, const Cut& cut, const Experts& experts) {
  const double up = gates(cut.shape) * experts.width;
  work.parameters += cut.hidden * (cut.shape.experts + 2.0 * cut.shape.moe_latent);
  work.expert_parameters += experts.on_device * experts.hidden * (up + experts.width);
  if (cut.shape.biases) work.expert_parameters += experts.on_device * (up + experts.hidden);
  const double routed = cut.resident * cut.shape.experts * sizeof(float);
  // Inputs of the experts, activation's input and output, and the experts' results, which the gates' gradient needs; of
  // a latent what is projected back.
  const double rows = experts.rows * (experts.hidden + up + activated(cut) * experts.width) +
                      experts.sent * experts.hidden + cut.resident * cut.shape.moe_latent;
  const Bytes kept(routed + rows * cut.element);
  work.activations += kept;
  work.freed_moe += kept;
}

}  // namespace

void add_mlp_half(LayerWork& work, const Cut& cut) {
  const Mlp mlp = dense_mlp(cut);
  add_norm(work, cut, gates(cut.shape));
  const auto begin = static_cast<std::ptrdiff_t>(work.forward.size());
  mlp_forward(work.forward, cut, mlp);
  leave_tensor_region(work.forward, cut);
  work.recompute_mlp.assign(work.forward.begin() + begin, work.forward.end());
  add_residual(work, cut);

  work.parameters += mlp_parameters(cut, mlp);
  const double copies = cut.casts_operands() ? gates(cut.shape) : 1;
  const Bytes input = cut.sharding.keeps_inputs_of_all() ? copies * cut.resident_tensor() : Bytes(0);
  work.activations += input + mlp_inside(cut, mlp);
  work.freed_mlp = mlp_inside(cut, mlp);
  work.freed_norm += input;
}

void add_mlp_backward(LayerWork& work, const Cut& cut) {
  const Mlp mlp = dense_mlp(cut);
  add_residual_backward(work, cut);
  mlp_backward(work.backward_input, cut, mlp);
  leave_tensor_region_backward(work.backward_input, cut);
  add_norm_backward(work, cut, gates(cut.shape));
  mlp_weights(work.backward_weight, cut, mlp);
}

void add_moe_half(LayerWork& work, const Cut& cut) {
  const Experts experts = experts_of(cut);
  add_norm(work, cut);
  const auto begin = static_cast<std::ptrdiff_t>(work.forward.size());
  moe_forward(work.forward, cut, experts);
  if (cut.shape.shared_expert_ffn > 0) {
    const Mlp shared = shared_expert(cut);
    mlp_forward(work.forward, cut, shared);
    if (cut.sharding.sequence_parallel) leave_tensor_region(work.forward, cut);
    work.parameters += mlp_parameters(cut, shared);
    work.activations += mlp_inside(cut, shared);
    work.freed_moe += mlp_inside(cut, shared);
  }
  // Without sequence parallelism one all-reduce sums the partial results of routed and shared experts.
  if (!cut.sharding.sequence_parallel) leave_tensor_region(work.forward, cut);
  work.recompute_moe.assign(work.forward.begin() + begin, work.forward.end());
  add_residual(work, cut);

  count_experts(work, cut, experts);
  work.activations += cut.resident_tensor();
  work.freed_norm += cut.resident_tensor();
}

void add_moe_backward(LayerWork& work, const Cut& cut) {
  const Experts experts = experts_of(cut);
  const double up = gates(cut.shape) * experts.width;
  add_residual_backward(work, cut);
  if (cut.shape.shared_expert_ffn > 0) {
    const Mlp shared = shared_expert(cut);
    mlp_backward(work.backward_input, cut, shared);
    if (cut.sharding.sequence_parallel) leave_tensor_region_backward(work.backward_input, cut);
    mlp_weights(work.backward_weight, cut, shared);
  }
  moe_backward(work.backward_input, cut, experts);
  if (!cut.sharding.sequence_parallel) leave_tensor_region_backward(work.backward_input, cut);
  add_norm_backward(work, cut);

  Steps& weights = work.backward_weight;
  weights.push_back(grouped_weights("expert_down_wgrad", cut, experts, experts.width, experts.hidden));
  weights.push_back(grouped_weights("expert_up_wgrad", cut, experts, experts.hidden, up));
  if (cut.shape.moe_latent > 0)
    for (const Linear& linear : latent(cut)) weights.push_back(weight_gradient(linear, cut.resident, cut.sharding));
  weights.push_back(weight_gradient("router_wgrad", cut.hidden, cut.shape.experts, cut.resident, cut.sharding));
}

}  // namespace stepcast::workload
