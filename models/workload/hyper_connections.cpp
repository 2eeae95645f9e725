#include "models/workload/hyper_connections.hpp"

// Traffic in elements of the hidden state of a token, with kernels fused as in arXiv 2512.24880, section 4.3.1: one for
// the weights, one for the sum, one for mixing and adding; backward two, and the weight gradient of the product.
namespace stepcast::workload {
namespace {

double streams(const Cut& cut) { return cut.shape.residual_streams; }

/// A streaming kernel over so many hidden states of a token.
LayerStep over_states(std::string_view name, double states, const Cut& cut) {
  return memory(name, states * cut.residual_tensor().value(), cut.sharding);
}

/// The product of all streams of a token that gives its weights, which is as narrow as a reduction.
LayerStep mappings(std::string_view name, double states, double outputs, const Cut& cut) {
  LayerStep step = over_states(name, states, cut);
  step.op.flops = Flops(2 * cut.resident * streams(cut) * cut.hidden * outputs);
  return step;
}

LayerStep mapping_weights(std::string_view name, double outputs, const Cut& cut) {
  LayerStep step = weight_gradient(name, streams(cut) * cut.hidden, outputs, cut.resident, cut.sharding);
  step.op.sixteen_bit = true;
  return step;
}

}  // namespace

double stream_mappings(const TransformerShape& shape) {
  const double n = shape.residual_streams;
  return 2 * n + n * n;
}

double stream_mapping_products(const TransformerShape& shape) {
  return shape.residual_streams * static_cast<double>(shape.hidden) * stream_mappings(shape);
}

void add_stream_input(LayerWork& work, const Cut& cut) {
  const double n = streams(cut), outputs = stream_mappings(cut.shape);
  work.forward.push_back(mappings("stream_mappings", n, outputs, cut));
  work.forward.push_back(over_states("stream_input", n + 1, cut));
  // The product, a bias of each weight, and a scale of each of the three kinds.
  work.parameters += stream_mapping_products(cut.shape) + outputs + 3;
  // The streams, the weights in fp32, and the half's result, on which the gradient of its weights depends.
  work.activations += n * cut.residual_tensor() + cut.resident_tensor() + Bytes(cut.resident * outputs * sizeof(float));
}

void add_stream_output(LayerWork& work, const Cut& cut, double mask) {
  // Streams and result read, streams written.
  const double states = (2 * streams(cut) + 1) * cut.residual_tensor().value();
  work.forward.push_back(memory("stream_output", states + mask, cut.sharding));
}

void add_stream_output_backward(LayerWork& work, const Cut& cut) {
  // Gradients of the streams, streams and result read; gradients of both written.
  work.backward_input.push_back(over_states("stream_output_backward", 3 * streams(cut) + 2, cut));
}

void add_stream_input_backward(LayerWork& work, const Cut& cut) {
  const double n = streams(cut), outputs = stream_mappings(cut.shape);
  // The input's gradient, streams and their gradients read, those written.
  work.backward_input.push_back(mappings("stream_input_backward", 3 * n + 1, outputs, cut));
  work.backward_weight.push_back(mapping_weights("stream_mappings_wgrad", outputs, cut));
}

void add_stream_copies(LayerWork& work, const Cut& cut) {
  work.forward.push_back(over_states("stream_copies", streams(cut) + 1, cut));
  work.backward_input.push_back(over_states("stream_copies_backward", streams(cut) + 1, cut));
}

void add_stream_head(LayerWork& work, const Cut& cut) {
  const double n = streams(cut);
  work.forward.push_back(mappings("stream_head", 2 * n + 1, n, cut));
  work.parameters += stream_head_parameters(cut.shape);
  work.activations += n * cut.residual_tensor();
}

void add_stream_head_backward(LayerWork& work, const Cut& cut) {
  work.backward_input.push_back(mappings("stream_head_backward", 3 * streams(cut) + 1, streams(cut), cut));
  work.backward_weight.push_back(mapping_weights("stream_head_wgrad", streams(cut), cut));
}

double stream_head_parameters(const TransformerShape& shape) {
  const double n = shape.residual_streams;  // a weight of each, its bias, and one scale
  return n * shape.hidden * n + n + 1;
}

}  // namespace stepcast::workload
