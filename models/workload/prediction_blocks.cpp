#include "models/workload/hyper_connections.hpp"

// Multi-token prediction (DeepSeek-V3, arXiv 2412.19437, section 2.2): behind the last block, each further token has a
// block of its own that reads the hidden state and the next token's embedding, both normed and projected to one, and
// shares embedding and output layer with the model.
namespace stepcast::workload {
namespace {

/// A product that brings embedding and hidden state to one: of both side by side, or of several streams one of the
/// embedding and one of each stream (DeepSeek-V4: e_proj and h_proj).
struct Join {
  Linear linear;
  double rows;
  [[nodiscard]] double parameters() const { return linear.in * linear.out; }
};

std::vector<Join> joins(const Cut& cut) {
  const double streams = cut.shape.residual_streams, out = cut.hidden / cut.tp;
  if (streams == 1) return {{{"mtp_join", "mtp_join_dgrad", "mtp_join_wgrad", 2 * cut.hidden, out}, cut.tokens}};
  return {{{"mtp_join_embedding", "mtp_join_embedding_dgrad", "mtp_join_embedding_wgrad", cut.hidden, out}, cut.tokens},
          {{"mtp_join_streams", "mtp_join_streams_dgrad", "mtp_join_streams_wgrad", cut.hidden, out},
           streams * cut.tokens}};
}

void append(Steps& steps, const Steps& more) { steps.insert(steps.end(), more.begin(), more.end()); }

/// What one more prediction adds to the work of the output layer alone.
void add_prediction(LayerWork& work, const LayerWork& output, const LayerWork& block, const Cut& cut) {
  const double tensor = cut.resident_tensor().value(), streams = cut.shape.residual_streams;
  const std::vector<Join> joined = joins(cut);
  // Embedding's rows and the hidden state, each normed; both read and written.
  const double normed = (4 + 2 * streams) * tensor;
  work.forward.push_back(memory("mtp_norms", normed, cut.sharding));
  for (const Join& join : joined) work.forward.push_back(forward_product(join.linear, join.rows, cut.element));
  append(work.forward, block.forward);
  append(work.forward, output.forward);

  append(work.backward_input, output.backward_input);
  append(work.backward_input, block.backward_input);
  for (const Join& join : joined) work.backward_input.push_back(input_gradient(join.linear, join.rows, cut.element));
  work.backward_input.push_back(memory("mtp_norms_backward", normed, cut.sharding));

  append(work.backward_weight, output.backward_weight);
  append(work.backward_weight, block.backward_weight);
  for (const Join& join : joined) work.backward_weight.push_back(weight_gradient(join.linear, join.rows, cut.sharding));

  work.parameters += block.parameters + 3 * norm_parameters(cut.shape);
  for (const Join& join : joined) work.parameters += join.parameters();
  if (streams > 1) work.parameters += stream_head_parameters(cut.shape);
  work.expert_parameters += block.expert_parameters;
  work.activations += block.activations + output.activations + Bytes((2 + streams) * tensor);
}

}  // namespace

void add_prediction_blocks(LayerWork& output, const LayerWork& block, const Cut& cut) {
  const LayerWork alone = output;
  for (int i = 0; i < cut.shape.mtp_layers; ++i) add_prediction(output, alone, block, cut);
  output.activations_selective = output.activations;
}

}  // namespace stepcast::workload
