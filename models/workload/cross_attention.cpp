#include "models/workload/attention_core.hpp"

// Attention of a decoder's tokens over an encoder's result (Vaswani et al. 2017, section 3.2.3), or of a latent's over
// a text: queries from the target, keys and values from the source, which every block projects anew.
namespace stepcast::workload {
namespace {

Linear queries(const Cut& cut) { return {"cross_q", "cross_q_dgrad", "cross_q_wgrad", cut.hidden, cut.query}; }
Linear keys_and_values(const Cut& cut) {
  return {"cross_kv", "cross_kv_dgrad", "cross_kv_wgrad", cut.hidden, cut.key + cut.value};
}
Linear cross_projection(const Cut& cut) {
  return {"cross_proj", "cross_proj_dgrad", "cross_proj_wgrad", cut.attended, cut.hidden};
}

double normed_elements(const Cut& cut, const Cut& source) {
  return cut.tokens * cut.query + source.tokens * source.key;
}

void count(LayerWork& work, const Cut& cut, const Cut& source) {
  const Linear q = queries(cut), kv = keys_and_values(cut), out = cross_projection(cut);
  work.parameters += q.in * q.out + kv.in * kv.out + out.in * out.out;
  if (cut.shape.biases || cut.shape.qkv_bias) work.parameters += q.out + kv.out;
  if (cut.shape.biases) work.parameters += out.out;
  if (cut.shape.qk_norm) work.parameters += 2 * cut.head.key_size;

  // The encoder's result is kept once for all blocks (layer_work.cpp).
  const Bytes input = cut.resident_tensor(), gathered = gathered_and_kept(cut);
  const Bytes before_norms = cut.shape.qk_norm ? kept_by_head_norms(normed_elements(cut, source), cut) : Bytes(0);
  const Bytes heads = before_norms + Bytes((cut.tokens * q.out + source.tokens * kv.out) * operand_element(cut));
  const Bytes output(cut.tokens * cut.attended * cut.element);
  const Bytes core = kept_by_core(cut, source.sequence);
  work.activations += input + gathered + heads + output + core;
  work.freed_attention_core += core;
  work.freed_attention += gathered + heads + output + core;
  work.freed_norm += input;
}

void append(Steps& to, const Steps& from, std::size_t begin) {
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin), from.end());
}

}  // namespace

void add_cross_attention(LayerWork& work, const Cut& cut, const Cut& source) {
  Steps& steps = work.forward;
  add_norm(work, cut);
  const std::size_t begin = steps.size();
  gather_operand(steps, "cast_input", cut);
  steps.push_back(forward_product(queries(cut), cut.tokens, cut.element));
  gather_operand(steps, "cast_input", source);
  steps.push_back(forward_product(keys_and_values(cut), source.tokens, cut.element));
  if (cut.shape.qk_norm) steps.push_back(head_norms("cross_qk_norm", normed_elements(cut, source), false, cut));
  const std::size_t core = steps.size();
  cast_for_attention(steps, "attention_cast", cut.tokens * cut.query + source.tokens * (source.key + source.value),
                     cut);
  steps.push_back(attention_core(cut, {cut.local_sequence, source.sequence, cut.heads}, false));
  append(work.recompute_attention_core, steps, core);
  add_row_parallel_product(steps, cross_projection(cut), cut);
  leave_tensor_region(steps, cut);
  append(work.recompute_attention, steps, begin);
  add_residual(work, cut);
  count(work, cut, source);
}

void add_cross_attention_backward(LayerWork& work, const Cut& cut, const Cut& source) {
  Steps& steps = work.backward_input;
  add_residual_backward(work, cut);
  gather_operand(steps, "cast_gradient", cut);
  steps.push_back(input_gradient(cross_projection(cut), cut.tokens, cut.element));
  cast_for_attention(steps, "attention_cast_gradient", cut.tokens * cut.attended, cut);
  steps.push_back(attention_core(cut, {cut.local_sequence, source.sequence, cut.heads}, true));
  if (cut.shape.qk_norm) steps.push_back(head_norms("cross_qk_norm_backward", normed_elements(cut, source), true, cut));
  const Linear q = queries(cut), kv = keys_and_values(cut);
  add_cast(steps, "cast_gradient", cut.tokens * q.out + source.tokens * kv.out, cut.sharding);
  regather_input(steps, cut, cut.sharding.gathered_bytes);
  steps.push_back(input_gradient(q, cut.tokens, cut.element));
  leave_tensor_region_backward(steps, cut);
  regather_input(steps, source, cut.sharding.gathered_bytes);
  steps.push_back(input_gradient(kv, source.tokens, cut.element));
  leave_tensor_region_backward(steps, source);
  // The gradients that all blocks give the encoder's result are added up: read, read, write.
  steps.push_back(memory("source_gradient", 3 * source.resident_tensor().value(), cut.sharding));
  add_norm_backward(work, cut);
  work.backward_weight.push_back(weight_gradient(cross_projection(cut), cut.tokens, cut.sharding));
  collect_beside_weights(work.backward_weight, cut);
  work.backward_weight.push_back(weight_gradient(q, cut.tokens, cut.sharding));
  collect_beside_weights(work.backward_weight, source);
  work.backward_weight.push_back(weight_gradient(kv, source.tokens, cut.sharding));
}

}  // namespace stepcast::workload
