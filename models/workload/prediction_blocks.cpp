#include "models/workload/steps.hpp"

// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): behind the last block, each further token has a
// block of its own that reads the hidden state and the next token's embedding, both normed and projected to one, and
// shares embedding and output layer with the model.
namespace stepcast::workload {
namespace {

Linear join(const Cut& cut) {
  return {"mtp_join", "mtp_join_dgrad", "mtp_join_wgrad", 2 * cut.hidden, cut.hidden / cut.tp};
}

void append(Steps& steps, const Steps& more) { steps.insert(steps.end(), more.begin(), more.end()); }

/// What one more prediction adds to the work of the output layer alone.
void add_prediction(LayerWork& work, const LayerWork& output, const LayerWork& block, const Cut& cut) {
  const double tensor = cut.resident_tensor().value();
  // Embedding's rows and the hidden state, each normed; both read and written.
  work.forward.push_back(memory("mtp_norms", 6 * tensor, cut.sharding));
  work.forward.push_back(forward_product(join(cut), cut.tokens, cut.element));
  append(work.forward, block.forward);
  append(work.forward, output.forward);

  append(work.backward_input, output.backward_input);
  append(work.backward_input, block.backward_input);
  work.backward_input.push_back(input_gradient(join(cut), cut.tokens, cut.element));
  work.backward_input.push_back(memory("mtp_norms_backward", 6 * tensor, cut.sharding));

  append(work.backward_weight, output.backward_weight);
  append(work.backward_weight, block.backward_weight);
  work.backward_weight.push_back(weight_gradient(join(cut), cut.tokens, cut.sharding));

  work.parameters += block.parameters + join(cut).in * join(cut).out + 3 * norm_parameters(cut.shape);
  work.expert_parameters += block.expert_parameters;
  work.activations += block.activations + output.activations + Bytes(3 * tensor);
}

}  // namespace

void add_prediction_blocks(LayerWork& output, const LayerWork& block, const Cut& cut) {
  const LayerWork alone = output;
  for (int i = 0; i < cut.shape.mtp_layers; ++i) add_prediction(output, alone, block, cut);
  output.activations_selective = output.activations;
}

}  // namespace stepcast::workload
