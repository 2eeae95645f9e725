#include "models/workload/steps.hpp"

// State-space layers of Mamba-2 (Dao & Gu 2024, arXiv 2405.21060) as Megatron-Core has them (core/ssm/mamba_mixer.py):
// one product to gate, input, B, C and step sizes, a causal convolution of a few tokens, the chunked scan, a gated
// norm, and the product back. Heads are cut by tensor parallelism, and dealt out by context parallelism, with the gate,
// which the norm multiplies by.
namespace stepcast::workload {
namespace {

/// The mixer on the device.
struct Mixer {
  Linear in, out;
  double inner;      ///< width of its input: heads · head size
  double shared;     ///< width of B, and of C: groups · states
  double convolved;  ///< input, B and C
  double heads;
  double states;  ///< elements of a chunk's states, for each of its tokens
  double scores;  ///< of a token with its chunk, of all groups
};

Mixer mixer(const Cut& cut) {
  const TransformerShape& shape = cut.shape;
  const double heads = shape.ssm_heads / cut.tp, groups = shape.ssm_groups / cut.tp;
  const double inner = heads * shape.ssm_head_dim, shared = groups * shape.ssm_state;
  return {{"ssm_in", "ssm_in_dgrad", "ssm_in_wgrad", cut.hidden, 2 * inner + 2 * shared + heads},
          {"ssm_out", "ssm_out_dgrad", "ssm_out_wgrad", inner, cut.hidden},
          inner,
          shared,
          inner + 2 * shared,
          heads,
          inner * shape.ssm_state / kScanChunk,
          groups * kScanChunk};
}

/// Multiply-adds of a token in the scan: scores of its chunk and these times values, states written and read. `shared`
/// is the width of B, over all groups.
double scan_multiply_adds(double inner, double shared, int states) {
  return (shared + inner) * kScanChunk + 2 * inner * states;
}

/// Scores and states once more, then the gradients of both factors of each product.
double scan_backward_multiply_adds(const Mixer& m, int states) {
  const double again = m.shared * kScanChunk + m.inner * states;
  return again + 2 * scan_multiply_adds(m.inner, m.shared, states);
}

LayerStep convolution(const Cut& cut, const Mixer& m) {
  return streamed("ssm_convolution", 2 * m.convolved * cut.element, m.convolved * cut.shape.ssm_conv, cut);
}

/// Bytes that a multiprocessor moves in a cycle in the scan's kernels, whose products are small. Nemotron 3 Nano's nine
/// published runs on GB200 and B300 come out level with it.
constexpr double kScanBytesPerCycle = 3.6;

// Bytes of a token in the scan's kernels (mamba_ssm 2.2, ops/triton/ssd_combined.py and what it calls), tensor by
// tensor as they read and write: states, scores and cumulated step sizes in fp32, states that were passed on in 16 bit.
// Their products are counted as hidden: some 26 FLOP a byte.

double scan_bytes(const Mixer& m, const Cut& cut) {
  const double in_format = 3 * m.inner + 4 * m.shared;  // states: x, B; scores: C, B; scan: x, C and the result
  const double states = 4 + (4 + 2) + 2;                // written, passed on, read
  const double scores = 4 + 4;
  const double steps = 2 + 4 + 4;  // of a head: its size read, and written with its cumulated sum
  return in_format * cut.element + states * m.states + scores * m.scores + steps * m.heads;
}

/// States and scores once more, then the gradients of states, input, B, C and scores.
double scan_backward_bytes(const Mixer& m, const Cut& cut) {
  const double again = m.inner + 3 * m.shared, of_states = m.inner + m.shared, of_input = 3 * m.inner + m.shared;
  const double of_b = m.inner + m.shared, of_c = m.inner + m.shared, of_scores = 2 * m.inner + 4 * m.shared;
  const double in_format = again + of_states + of_input + of_b + of_c + of_scores;
  const double states = (4 + 4 + 2) + 4 + (2 + 4 + 2) + 2 + 2 + 2;
  const double scores = 4 + 4 + 4 + 8;
  return in_format * cut.element + states * m.states + scores * m.scores;
}

void mixer_forward(Steps& steps, const Cut& cut, const Mixer& m) {
  gather_operand(steps, "cast_input", cut);
  steps.push_back(forward_product(m.in, cut.tokens, cut.element));
  exchange_heads(steps, "cp_all_to_all_mixer", m.in.out, cut);
  steps.push_back(convolution(cut, m));
  const double scan = scan_multiply_adds(m.inner, m.shared, cut.shape.ssm_state);
  steps.push_back(chunked("ssm_scan", scan_bytes(m, cut), scan, kScanBytesPerCycle, cut));
  exchange_heads(steps, "cp_all_to_all_scanned", 2 * m.inner, cut);
  steps.push_back(streamed("ssm_norm", 3 * m.inner * cut.element, 0, cut));
  add_row_parallel_product(steps, m.out, cut);
}

void mixer_backward(Steps& steps, const Cut& cut, const Mixer& m) {
  gather_operand(steps, "cast_gradient", cut);
  steps.push_back(input_gradient(m.out, cut.tokens, cut.element));
  steps.push_back(streamed("ssm_norm_backward", 5 * m.inner * cut.element, 0, cut));
  exchange_heads(steps, "cp_all_to_all_scanned", 2 * m.inner, cut);
  // The kernels keep what the convolution read, and convolve again.
  steps.push_back(convolution(cut, m));
  const double scan = scan_backward_multiply_adds(m, cut.shape.ssm_state);
  steps.push_back(chunked("ssm_scan_backward", scan_backward_bytes(m, cut), scan, kScanBytesPerCycle, cut));
  const double gradients = 2 * m.convolved * cut.shape.ssm_conv;
  steps.push_back(streamed("ssm_convolution_backward", 3 * m.convolved * cut.element, gradients, cut));
  exchange_heads(steps, "cp_all_to_all_mixer", m.in.out, cut);
  add_cast(steps, "cast_gradient", cut.tokens * m.in.out, cut.sharding);
  regather_input(steps, cut, cut.sharding.gathered_bytes);
  steps.push_back(input_gradient(m.in, cut.tokens, cut.element));
}

double mixer_parameters(const Cut& cut, const Mixer& m) {
  const double products = m.in.in * m.in.out + m.out.in * m.out.out;
  const double convolution = m.convolved * (cut.shape.ssm_conv + 1);  // and its bias
  const double of_heads = 3 * m.heads;                                // A, D and the step size's bias
  return products + convolution + of_heads + m.inner;
}

}  // namespace

void add_mamba_half(LayerWork& work, const Cut& cut) {
  const Mixer m = mixer(cut);
  add_norm(work, cut);
  mixer_forward(work.forward, cut, m);
  // What the first product gives, the scan's result, and the second product's input.
  finish_mixer_half(work, cut, {mixer_parameters(cut, m), m.in.out + m.inner, m.inner});
}

void add_mamba_backward(LayerWork& work, const Cut& cut) {
  const Mixer m = mixer(cut);
  add_residual_backward(work, cut);
  mixer_backward(work.backward_input, cut, m);
  finish_mixer_backward(work, cut, m.out, {&m.in, 1});
}

double mamba_multiply_adds(const TransformerShape& shape) {
  const double inner = static_cast<double>(shape.ssm_heads) * shape.ssm_head_dim;
  const double shared = static_cast<double>(shape.ssm_groups) * shape.ssm_state;
  const double products = shape.hidden * (2 * inner + 2 * shared + shape.ssm_heads) + inner * shape.hidden;
  return products + scan_multiply_adds(inner, shared, shape.ssm_state) + (inner + 2 * shared) * shape.ssm_conv;
}

}  // namespace stepcast::workload
