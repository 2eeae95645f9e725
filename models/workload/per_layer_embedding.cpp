#include "models/workload/steps.hpp"

// Embeddings that every layer has of its own (Gemma 3n and 4; transformers, modeling_gemma4.py, Gemma4TextModel::
// project_per_layer_inputs and Gemma4TextDecoderLayer): the first layer looks up one row for all layers and adds a
// normed product of the words' embeddings to it; behind its MLP each layer gates its part of the sum by its hidden
// state, widens the result to that state, norms and adds it.
//
// The table is cut by rows of the vocabulary like that of the words. The products, narrow ones, are held whole by every
// tensor-parallel rank, which applies them to the tokens that it has (transformers' plans for both leave them out).
namespace stepcast::workload {
namespace {

/// Width of a layer's part.
double part(const Cut& cut) { return cut.shape.per_layer_embedding; }

Linear gate(const Cut& cut) {
  return {"per_layer_gate", "per_layer_gate_dgrad", "per_layer_gate_wgrad", cut.hidden, part(cut)};
}
Linear projection(const Cut& cut) {
  return {"per_layer_projection", "per_layer_projection_dgrad", "per_layer_projection_wgrad", part(cut), cut.hidden};
}

/// The same device's part where all layers' embeddings stand side by side.
Cut at_all_parts(const Cut& cut) {
  Cut all = cut;
  all.hidden = part(cut) * cut.shape.layers;
  return all;
}

/// Of the words' embeddings.
Linear of_words(const Cut& cut) {
  return {"per_layer_words", "per_layer_words_dgrad", "per_layer_words_wgrad", cut.hidden, at_all_parts(cut).hidden};
}

bool is_frozen(const Cut& cut) { return cut.sharding.adapter_rank > 0; }
bool has_separate_gate(const Cut& cut) { return !cut.sharding.fused_activation; }

/// A gate's activation and its product with the embedding, as an MLP's: three tensors; one by one the activated gate is
/// written and read, too. Backward both factors' gradients.
LayerStep gated(const Cut& cut) {
  const double tensor = cut.resident * part(cut) * cut.element;
  return has_separate_gate(cut) ? counted_memory("per_layer_gated", 5 * tensor)
                                : memory("per_layer_gated", 3 * tensor, cut.sharding);
}
LayerStep gated_backward(const Cut& cut) {
  const double tensor = cut.resident * part(cut) * cut.element;
  return has_separate_gate(cut) ? counted_memory("per_layer_gated_backward", 9 * tensor)
                                : memory("per_layer_gated_backward", 5 * tensor, cut.sharding);
}

/// Under automatic mixed precision the gate's product reads a narrower copy of the hidden state, whose gradient is
/// widened again.
void cast_state(Steps& steps, std::string_view name, const Cut& cut) {
  if (cut.casts_operands())
    steps.push_back(memory(name, cut.resident * cut.hidden * (cut.residual + cut.element), cut.sharding));
}

/// Autograd writes the gradient of a part into zeros of all parts' size, and adds that to the other layers' (PyTorch,
/// derivatives.yaml: select; one pass and three). Compilers write the part alone.
void add_to_gradient_of_all(Steps& steps, const Cut& cut) {
  if (has_separate_gate(cut) && !cut.sharding.compiled && !is_frozen(cut))
    steps.push_back(counted_memory("per_layer_slice_backward", 4 * at_all_parts(cut).resident_tensor().value()));
}

}  // namespace

void add_per_layer_part(LayerWork& work, const Cut& cut) {
  Steps& steps = work.forward;
  cast_state(steps, "per_layer_cast", cut);
  add_cast(steps, "cast_input", cut.resident * gate(cut).in, cut.sharding);
  steps.push_back(forward_product(gate(cut), cut.resident, cut.element));
  steps.push_back(gated(cut));
  add_cast(steps, "cast_input", cut.resident * projection(cut).in, cut.sharding);
  steps.push_back(forward_product(projection(cut), cut.resident, cut.element));
  // The sum reads what this norm gives, and no product: recomputing norms leaves it out.
  const std::size_t norms = work.recompute_norm.size();
  add_norm(work, cut, 0);
  work.recompute_norm.resize(norms);
  add_residual(work, cut);

  for (const Linear& linear : {gate(cut), projection(cut)}) work.parameters += linear.in * linear.out;
  // The gate, and one by one the activated gate; of weights that are trained both products' inputs.
  const double narrow = (has_separate_gate(cut) ? 2 : 1) + (is_frozen(cut) ? 0 : 1);
  const Bytes input = is_frozen(cut) ? Bytes(0) : cut.resident_tensor();
  work.activations += input + Bytes(narrow * cut.resident * part(cut) * cut.element);
}

void add_per_layer_part_backward(LayerWork& work, const Cut& cut) {
  Steps& steps = work.backward_input;
  add_residual_backward(work, cut);
  add_last_norm_backward(work, cut, 0);
  add_cast(steps, "cast_gradient", cut.resident * projection(cut).out, cut.sharding);
  steps.push_back(input_gradient(projection(cut), cut.resident, cut.element));
  steps.push_back(gated_backward(cut));
  add_to_gradient_of_all(steps, cut);
  add_cast(steps, "cast_gradient", cut.resident * gate(cut).out, cut.sharding);
  steps.push_back(input_gradient(gate(cut), cut.resident, cut.element));
  cast_state(steps, "per_layer_cast_backward", cut);
  steps.push_back(memory("per_layer_sum_backward", 3 * cut.residual_tensor().value(), cut.sharding));
  for (const Linear& linear : {projection(cut), gate(cut)})
    work.backward_weight.push_back(weight_gradient(linear, cut.resident, cut.sharding));
}

void add_per_layer_table(LayerWork& work, const Cut& cut) {
  const Cut all = at_all_parts(cut);
  const Linear words = of_words(cut);
  const double elements = all.resident * all.hidden;
  // Rows of the table read and written.
  work.forward.push_back(memory("per_layer_embedding", 2 * all.hidden_tensor().value(), cut.sharding));
  leave_tensor_region(work.forward, all);
  work.forward.push_back(forward_product(words, cut.resident, cut.element));
  work.forward.push_back(head_norms("per_layer_norm", elements, false, cut));
  work.forward.push_back(memory("per_layer_sum", 3 * elements * cut.element, cut.sharding));

  if (!is_frozen(cut)) {
    work.backward_input.push_back(head_norms("per_layer_norm_backward", elements, true, cut));
    work.backward_input.push_back(input_gradient(words, cut.resident, cut.element));
    work.backward_input.push_back(memory("per_layer_words_sum", 3 * cut.resident_tensor().value(), cut.sharding));
    work.backward_weight.push_back(weight_gradient(words, cut.resident, cut.sharding));
    if (cut.sharding.sequence_parallel) enter_tensor_region(work.backward_weight, all);
    // Scattered additions, as into the words' table.
    work.backward_weight.push_back(memory("per_layer_embedding_wgrad", 3 * all.hidden_tensor().value(), cut.sharding));
  }

  const double rows = cut.shape.vocab / cut.tp;
  work.matrices.push_back({rows, all.hidden, 1});
  work.matrices.push_back({words.out, words.in, 1});
  work.parameters += rows * all.hidden + words.in * words.out + part(cut);
  // The sum, of which every layer's backward pass reads its part, and what the norm's backward pass needs.
  work.activations += Bytes(elements * cut.element) + (is_frozen(cut) ? Bytes(0) : kept_by_head_norms(elements, cut));
}

double per_layer_multiply_adds(const TransformerShape& shape) {
  return 3.0 * shape.layers * shape.hidden * shape.per_layer_embedding;
}

}  // namespace stepcast::workload
