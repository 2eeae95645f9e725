#include <array>
#include <cmath>

#include "models/workload/attention_core.hpp"

namespace stepcast::workload {
namespace {

Linear projection(const Cut& cut) {
  const double in = cut.shape.compressed_attention ? mixed_width(cut) : cut.attended;
  return {"proj", "proj_dgrad", "proj_wgrad", in, cut.hidden};
}

/// A product in front of the core. Those down to a latent work on the tokens at hand and are held whole by every
/// tensor-parallel rank (Megatron-Core, multi_latent_attention.py); the others are cut by heads.
struct Entry {
  Linear linear;
  bool latent = false;
  [[nodiscard]] double rows(const Cut& cut) const { return latent ? cut.resident : cut.tokens; }
};

/// The products in front of the core, in order.
struct Entries {
  std::array<Entry, 4> list;
  std::size_t count = 0;
  void add(const Linear& linear, bool latent = false) { list[count++] = {linear, latent}; }
  [[nodiscard]] const Entry* begin() const { return list.data(); }
  [[nodiscard]] const Entry* end() const { return list.data() + count; }
};

Entries entries(const Cut& cut) {
  const TransformerShape& shape = cut.shape;
  Entries out;
  if (!shape.has_latents()) {
    out.add({"qkv", "qkv_dgrad", "qkv_wgrad", cut.hidden, cut.entry});
    return out;
  }
  const double queries = shape.q_lora_rank, keys = shape.kv_lora_rank;
  if (shape.q_lora_rank > 0) {
    out.add({"q_down", "q_down_dgrad", "q_down_wgrad", cut.hidden, queries}, true);
    out.add({"q_up", "q_up_dgrad", "q_up_wgrad", queries, cut.query});
  } else {
    out.add({"q", "q_dgrad", "q_wgrad", cut.hidden, cut.query});
  }
  if (shape.compressed_attention) {
    out.add({"kv", "kv_dgrad", "kv_wgrad", cut.hidden, cut.key}, true);
    if (cut.ratio > 0) out.add(compressor(cut), true);
    return out;
  }
  // The rotary part of the keys is one head for all, computed beside the latent.
  out.add({"kv_down", "kv_down_dgrad", "kv_down_wgrad", cut.hidden, keys + shape.qk_rope_head_dim}, true);
  out.add({"kv_up", "kv_up_dgrad", "kv_up_wgrad", keys, cut.heads * (shape.qk_nope_head_dim + shape.v_head_dim)});
  return out;
}

/// Widths of the latents that a norm follows; of compressed attention the keys are one.
double latent_width(const Cut& cut) {
  const double keys = cut.shape.compressed_attention ? cut.key : cut.shape.kv_lora_rank;
  return cut.shape.q_lora_rank + keys;
}

/// Width of Q and of the keys that the layer itself makes.
double made_width(const Cut& cut) { return cut.query + (cut.borrows_keys() ? 0 : cut.key); }

/// Elements of a token that rotary positions turn.
double rotary_width(const Cut& cut) {
  if (!cut.shape.has_latents()) return made_width(cut);
  // Values that are keys are turned, and heads' results turned back.
  if (cut.shape.compressed_attention) return (2 * cut.heads + 1) * cut.shape.qk_rope_head_dim;
  return (cut.heads + 1) * cut.shape.qk_rope_head_dim;
}

/// Rotary positions of queries and keys: read and written by one kernel, or by those of x·cos + turned(x)·sin.
LayerStep rotary(std::string_view name, const Cut& cut) {
  const double tensor = cut.tokens * rotary_width(cut) * cut.element;
  const double separate = cut.sharding.rotary_passes;
  if (separate <= 0) return memory(name, 2 * tensor, cut.sharding);
  LayerStep step = counted_memory(name, separate * tensor);
  step.op.separate_rotary = true;
  return step;
}

/// Whether heads are normalised: of compressed attention the queries', without a scale.
bool has_head_norms(const Cut& cut) { return cut.shape.qk_norm || cut.shape.compressed_attention; }
double normed_elements(const Cut& cut) {
  return cut.tokens * (cut.shape.compressed_attention ? cut.query : made_width(cut));
}

/// Keys and values of the device's tokens.
Bytes keys_and_values(const Cut& cut, double element) { return Bytes(cut.tokens * (cut.key + cut.value) * element); }

/// Of those, as the core reads them, what the layer keeps: an earlier layer's it has from there, but for a cast.
Bytes kept_keys(const Cut& cut) {
  if (cut.borrows_keys() && !cut.sharding.eight_bit_attention) return Bytes(0);
  return keys_and_values(cut, operand_element(cut));
}

/// A rank's queries over all keys that they see.
Core whole_core(const Cut& cut) {
  if (cut.shape.compressed_attention) return compressed_core(cut);
  const double picked = cut.shape.sparse_attention ? cut.seen : 0;
  return {cut.local_sequence, cut.sequence, cut.heads, cut.seen, cut.causal, picked};
}

/// Ring attention (Liu et al. 2023, arXiv 2310.01889): cp kernels over one chunk of keys each; the next chunk travels
/// beside each but the last. With the balanced order of chunks every one costs half its square under a causal mask.
void ring(Steps& steps, const Cut& cut, Bytes chunk, bool backward) {
  const double seen = cut.seen / static_cast<double>(cut.sharding.cp);
  const LayerStep step =
      attention_core(cut, {cut.local_sequence, cut.local_sequence, cut.heads, seen, cut.causal}, backward);
  for (int i = 0; i < cut.sharding.cp; ++i) {
    if (i + 1 < cut.sharding.cp)
      steps.push_back(communicate("cp_send_recv", LayerCommunication::context, LayerCollective::send_recv,
                                  chunk * (backward ? 2.0 : 1.0), true));
    steps.push_back(step);
  }
}

/// Where entries pool tokens and windows end at a neighbour's, its last tokens come over (Megatron-Core,
/// csa_utils/cp_utils.py: exchange_cp_boundary_hidden).
void exchange_boundary(Steps& steps, const Cut& cut) {
  if (!cut.shape.compressed_attention) return;
  steps.push_back(communicate("cp_send_recv", LayerCommunication::context, LayerCollective::send_recv,
                              Bytes(cut.micro_batch * cut.shape.window * cut.hidden * cut.element)));
}

/// Keys and values of all ranks gathered before one kernel (Llama 3, arXiv 2407.21783, section 3.3.2); the backward
/// pass gathers them again and reduces their gradients back.
void gathered(Steps& steps, const Cut& cut, Bytes chunk, bool backward) {
  exchange_boundary(steps, cut);
  if (chunk.value() == 0) return steps.push_back(attention_core(cut, whole_core(cut), backward));
  const Bytes whole = chunk * static_cast<double>(cut.sharding.cp);
  steps.push_back(communicate("cp_all_gather", LayerCommunication::context, LayerCollective::all_gather, whole));
  steps.push_back(attention_core(cut, whole_core(cut), backward));
  if (backward)
    steps.push_back(
        communicate("cp_reduce_scatter", LayerCommunication::context, LayerCollective::reduce_scatter, whole));
}

/// DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv 2309.14509): four all-to-alls turn a cut of the sequence into one of
/// the heads and back; the backward pass does the same to the gradients.
void ulysses(Steps& steps, const Cut& cut, bool backward) {
  // Before and after 8-bit products 8 bit travel (Transformer Engine, AttnFuncWithCPAndQKVOA2A).
  const auto exchange = [&](std::string_view name, double width) {
    steps.push_back(communicate(name, LayerCommunication::context, LayerCollective::all_to_all,
                                Bytes(cut.tokens * width * operand_element(cut))));
  };
  const LayerStep step =
      attention_core(cut, {cut.sequence, cut.sequence, cut.heads / cut.sharding.cp, cut.seen, cut.causal}, backward);
  if (backward) exchange("cp_all_to_all_output", cut.attended);
  if (backward) steps.push_back(step);
  exchange("cp_all_to_all_query", cut.query);
  exchange("cp_all_to_all_key", cut.key);
  exchange("cp_all_to_all_value", cut.value);
  if (!backward) steps.push_back(step);
  if (!backward) exchange("cp_all_to_all_output", cut.attended);
}

/// Width of what context-parallel ranks hand one another of a token: keys and values; of picked tokens the latent that
/// stands for both, and the indexer's key; of compressed attention what entries hold.
double exchanged_width(const Cut& cut) {
  if (cut.shape.compressed_attention) return exchanged_of_entries(cut);
  if (!cut.shape.sparse_attention) return cut.key + cut.value;
  return shared_key(cut.shape) + cut.shape.sparse_attention->indexer_head_dim;
}

void core_steps(Steps& steps, const Cut& cut, bool backward) {
  const Bytes chunk(cut.tokens * exchanged_width(cut) * cut.element);
  if (backward)
    cast_for_attention(steps, "attention_cast_gradient", cut.tokens * cut.attended, cut);
  else
    cast_for_attention(steps, "attention_cast", cut.tokens * (cut.query + cut.key + cut.value), cut);
  if (cut.sharding.cp == 1) return steps.push_back(attention_core(cut, whole_core(cut), backward));
  switch (cut.sharding.context_method) {
    case ContextMethod::ring:
      return ring(steps, cut, chunk, backward);
    case ContextMethod::all_gather:
      return gathered(steps, cut, chunk, backward);
    case ContextMethod::ulysses:
      return ulysses(steps, cut, backward);
  }
}

/// The result times its gate's sigmoid: two tensors read and one written; backward their gradients, too.
void add_output_gate(Steps& steps, const Cut& cut, bool backward) {
  if (!cut.shape.attention_output_gate) return;
  const double tensor = cut.tokens * cut.attended * cut.element;
  steps.push_back(
      memory(backward ? "attention_gate_backward" : "attention_gate", (backward ? 5 : 3) * tensor, cut.sharding));
}

/// What context parallelism keeps beside. Ulysses: the output before the exchange, which the kernel's backward pass
/// needs, and after it, which the projection needs. Ring: a second tensor of the queries' width; inferred from peaks of
/// Transformer Engine on eight B200 (MooreThreads/SimuMax docs/b200: 64 MiB a layer at 64 MiB of queries, two models,
/// two cuts, two lengths).
double exchanged_bytes(const Cut& cut) {
  if (cut.sharding.cp == 1 || cut.sharding.context_method == ContextMethod::all_gather) return 0;
  return cut.tokens * cut.query * operand_element(cut);
}

/// Queries and keys before rotary positions run operator by operator, on which no gradient depends: the product's
/// result stays whole for V, a part of it, where the three are one product. They are in code as own-runs', which trains
/// with automatic mixed precision; Hugging Face's and torchtitan's are three.
Bytes kept_before_rotary(const Cut& cut) {
  const bool separate = cut.shape.positions == PositionKind::rotary && cut.sharding.rotary_passes > 0;
  return separate && cut.casts_operands() ? Bytes(cut.tokens * rotary_width(cut) * cut.element) : Bytes(0);
}

/// The gradient of keys and values that layers share, to which each but the first adds its own.
void add_to_shared_gradient(Steps& steps, const Cut& cut) {
  if (cut.borrows_keys())
    steps.push_back(memory("shared_kv_gradient", 3 * keys_and_values(cut, cut.element).value(), cut.sharding));
}

void count_attention(LayerWork& work, const Cut& cut) {
  const Linear out = projection(cut);
  for (const Entry& entry : entries(cut)) {
    work.parameters += entry.linear.in * entry.linear.out;
    if (cut.shape.biases || cut.shape.qkv_bias) work.parameters += entry.linear.out;
  }
  work.parameters += out.in * out.out + latent_width(cut);
  if (cut.shape.biases) work.parameters += out.out;
  if (cut.shape.qk_norm) work.parameters += (cut.borrows_keys() ? 1 : 2) * cut.head.key_size;
  if (cut.indexes()) count_indexer(work, cut);
  if (cut.shape.compressed_attention) count_compressed(work, cut);

  const Bytes input = cut.resident_tensor();
  // A latent is kept before and after its norm.
  const Bytes latents(2 * cut.resident * latent_width(cut) * cut.element);
  const Bytes before_norms = has_head_norms(cut) ? kept_by_head_norms(normed_elements(cut), cut) : Bytes(0);
  // Q, K and V are kept as the core reads them.
  const Bytes heads = latents + before_norms + Bytes(cut.tokens * cut.query * operand_element(cut)) + kept_keys(cut) +
                      kept_before_rotary(cut);
  // Layers behind read them, whatever is computed again.
  const Bytes lent = cut.head.keys == KeyHolding::lent ? kept_keys(cut) : Bytes(0);
  // Beside the projection's input the result before its gate, and the gate.
  const Bytes output((cut.shape.attention_output_gate ? 3 : 1) * cut.tokens * cut.attended * cut.element);
  const Bytes core = kept_by_core(cut, cut.sequence) + Bytes(exchanged_bytes(cut));
  const Bytes gathered = gathered_and_kept(cut);
  work.activations += input + gathered + heads + output + core;
  // A fused kernel's statistic goes with it; the output is the projection's input and stays.
  work.freed_attention_core = core;
  work.freed_attention = gathered + heads - lent + output + core;
  work.activation_input += lent;
  work.freed_norm += input;
}

/// The products in front of the core. Latents are normalised, and gathered, in 16 bit before they are cast.
void enter_core(Steps& steps, const Cut& cut) {
  if (!cut.shape.has_latents()) {
    gather_operand(steps, "cast_input", cut);
    steps.push_back(forward_product(entries(cut).begin()->linear, cut.tokens, cut.element));
    return;
  }
  enter_tensor_region(steps, cut);
  for (const Entry& entry : entries(cut)) {
    add_cast(steps, "cast_input", entry.rows(cut) * entry.linear.in, cut.sharding);
    steps.push_back(forward_product(entry.linear, entry.rows(cut), cut.element));
  }
}

}  // namespace

void add_attention_half(LayerWork& work, const Cut& cut) {
  Steps& steps = work.forward;
  add_norm(work, cut);
  const std::size_t begin = steps.size();
  enter_core(steps, cut);
  if (cut.shape.has_latents())
    steps.push_back(memory("latent_norm", 2 * cut.resident * latent_width(cut) * cut.element, cut.sharding));
  if (has_head_norms(cut)) steps.push_back(head_norms("qk_norm", normed_elements(cut), false, cut));
  if (cut.shape.positions == PositionKind::rotary) steps.push_back(rotary("rope", cut));
  add_compression(steps, false, cut);
  if (cut.indexes()) add_indexer(steps, cut);
  const auto core = static_cast<std::ptrdiff_t>(steps.size());
  core_steps(steps, cut, false);
  work.recompute_attention_core.assign(steps.begin() + core, steps.end());
  add_output_gate(steps, cut, false);
  if (cut.shape.compressed_attention) add_output_groups(steps, false, cut);
  add_row_parallel_product(steps, projection(cut), cut);
  leave_tensor_region(steps, cut);
  work.recompute_attention.assign(steps.begin() + static_cast<std::ptrdiff_t>(begin), steps.end());
  add_residual(work, cut);
  count_attention(work, cut);
}

void add_attention_backward(LayerWork& work, const Cut& cut) {
  Steps& steps = work.backward_input;
  add_residual_backward(work, cut);
  gather_operand(steps, "cast_gradient", cut);
  steps.push_back(input_gradient(projection(cut), cut.tokens, cut.element));
  if (cut.shape.compressed_attention) add_output_groups(steps, true, cut);
  add_output_gate(steps, cut, true);
  core_steps(steps, cut, true);
  add_to_shared_gradient(steps, cut);
  add_compression(steps, true, cut);
  if (cut.shape.positions == PositionKind::rotary) steps.push_back(rotary("rope_backward", cut));
  if (has_head_norms(cut)) steps.push_back(head_norms("qk_norm_backward", normed_elements(cut), true, cut));
  if (cut.shape.has_latents())
    steps.push_back(memory("latent_norm_backward", 3 * cut.resident * latent_width(cut) * cut.element, cut.sharding));
  for (const Entry& entry : entries(cut))
    add_cast(steps, "cast_gradient", entry.rows(cut) * entry.linear.out, cut.sharding);
  regather_input(steps, cut, cut.shape.has_latents() ? cut.element : cut.sharding.gathered_bytes);
  for (const Entry& entry : entries(cut)) steps.push_back(input_gradient(entry.linear, entry.rows(cut), cut.element));
  leave_tensor_region_backward(steps, cut);
  add_norm_backward(work, cut);
  work.backward_weight.push_back(weight_gradient(projection(cut), cut.tokens, cut.sharding));
  if (cut.shape.compressed_attention) add_output_groups_weights(work.backward_weight, cut);
  collect_beside_weights(work.backward_weight, cut);
  for (const Entry& entry : entries(cut))
    work.backward_weight.push_back(weight_gradient(entry.linear, entry.rows(cut), cut.sharding));
  if (cut.indexes()) add_indexer_backward(work, cut);
}

}  // namespace stepcast::workload
