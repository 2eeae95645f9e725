#include "models/workload/linear_attention.hpp"

#include <utility>
#include <vector>

#include "models/workload/linear_attention_traffic.hpp"
#include "models/workload/steps.hpp"

// Layers of linear attention as Megatron-Core (core/ssm/gated_delta_net.py) and the checkpoints' modelling code have
// them: products to queries, keys, values, gates and decays, a short causal convolution with its activation, the
// recurrence in chunks, a norm of each head times the gate, and the product back. Heads are cut by tensor parallelism,
// and dealt out by context parallelism.
namespace stepcast {

const FieldTable<LinearAttentionShape>& LinearAttentionShape::fields() {
  using S = LinearAttentionShape;
  static const FieldTable<S> table = [] {
    constexpr double kMost = 1e7, kLongest = 1000;
    const Rules size{.required = true, .min = 1, .max = kMost};
    FieldTable<S> t("linear attention", "Sizes of layers of linear attention, letter G of a layer_pattern");
    t.field("kind", &S::kind,
            "how the state of a head changes: gated delta rule, the same with a decay a channel, "
            "or sums with a fixed decay")
        .field("key_heads", &S::key_heads, "heads of queries and keys", size)
        .field("value_heads", &S::value_heads, "heads of values, each with a state", size)
        .field("key_head_dim", &S::key_head_dim, "size of a head's query and key", size)
        .field("value_head_dim", &S::value_head_dim, "size of a head's value", size)
        .field("convolution", &S::convolution,
               "tokens that the convolution in front sees; 0: none; default: 4, of lightning 0",
               {.min = 0, .max = kLongest})
        .field("gate_rank", &S::gate_rank,
               "kimi_delta: width by way of which decays and the output's gate come; 0: as key_head_dim",
               {.min = 0, .max = kMost});
    return t;
  }();
  return table;
}

namespace workload {
namespace {

/// The mixer on the device.
struct LinearMixer {
  const LinearAttentionShape& shape;
  Linear in, out;
  /// kimi_delta: decays and gate from their latents, alike in width: one product on each. Other kinds: none.
  std::vector<Linear> by_latents;
  double queries;  ///< width of the queries, and of the keys, as products give them
  double values;
  RecurrenceSizes sizes;
  /// Channels that the convolution sees.
  [[nodiscard]] double convolved() const { return shape.convolved_tokens() > 0 ? 2 * queries + values : 0; }
  [[nodiscard]] double convolution_weights() const { return convolved() * shape.convolved_tokens(); }
  /// Weights of the products on the first one's result.
  [[nodiscard]] double weights_on_latents() const {
    double sum = 0;
    for (const Linear& linear : by_latents) sum += linear.in * linear.out;
    return sum;
  }
  /// Whether each head of queries and keys is copied for several of values.
  [[nodiscard]] bool repeats() const { return shape.value_heads > shape.key_heads; }
};

/// What the first product gives: queries, keys and values; gated_delta: the gate, and two figures a head, its decay and
/// the strength of its writes; kimi_delta: the latents of decays and gate, and the strength; lightning: the gate.
double linear_entry_width(const LinearAttentionShape& shape, double queries, double values, double heads) {
  switch (shape.kind) {
    case LinearAttentionKind::gated_delta:
      return 2 * queries + 2 * values + 2 * heads;
    case LinearAttentionKind::kimi_delta:
      return 2 * queries + values + heads + 2.0 * shape.latent();
    case LinearAttentionKind::lightning:
      break;
  }
  return 2 * queries + 2 * values;
}

LinearMixer linear_mixer(const LinearAttentionShape& shape, double hidden, double tp, double element) {
  const double heads = shape.value_heads / tp;
  const double queries = shape.key_heads / tp * shape.key_head_dim, values = heads * shape.value_head_dim;
  std::vector<Linear> by_latents;
  if (shape.kind == LinearAttentionKind::kimi_delta) {
    const double latent = shape.latent();
    by_latents = {{"linear_decay", "linear_decay_dgrad", "linear_decay_wgrad", latent, queries},
                  {"linear_gate", "linear_gate_dgrad", "linear_gate_wgrad", latent, values}};
  }
  return {
      shape,
      {"linear_in", "linear_in_dgrad", "linear_in_wgrad", hidden, linear_entry_width(shape, queries, values, heads)},
      {"linear_out", "linear_out_dgrad", "linear_out_wgrad", values, hidden},
      std::move(by_latents),
      queries,
      values,
      {heads, static_cast<double>(shape.key_head_dim), static_cast<double>(shape.value_head_dim), element}};
}

LinearMixer linear_mixer(const Cut& cut) {
  return linear_mixer(*cut.shape.linear_attention, cut.hidden, cut.tp, cut.element);
}

/// Queries and keys are normalised, which stands for lightning's activation of both, too, and copied for the heads of
/// values that share them.
double normed_and_copied(const LinearMixer& m) {
  const double normed = 2 * 2 * m.queries;
  return normed + (m.repeats() ? 2 * m.queries + 2 * m.sizes.keys() : 0);
}

/// Width of decays and gate in place of the latents that they come from.
double gates_by_latents(const LinearMixer& m) {
  double wider = 0;
  for (const Linear& linear : m.by_latents) wider += linear.out - linear.in;
  return wider;
}

void short_convolution(Steps& steps, const Cut& cut, const LinearMixer& m) {
  if (m.convolved() > 0)
    steps.push_back(streamed("linear_convolution", 2 * m.convolved() * cut.element, m.convolution_weights(), cut));
}

LayerStep recurrence(std::string_view name, const Recurrence& of_token, const Cut& cut) {
  return chunked(name, of_token.bytes, of_token.multiply_adds, of_token.bytes_per_cycle, cut);
}

void linear_forward(Steps& steps, const Cut& cut, const LinearMixer& m) {
  gather_operand(steps, "cast_input", cut);
  steps.push_back(forward_product(m.in, cut.tokens, cut.element));
  for (const Linear& linear : m.by_latents) steps.push_back(forward_product(linear, cut.tokens, cut.element));
  exchange_heads(steps, "cp_all_to_all_mixer", m.in.out + gates_by_latents(m), cut);
  short_convolution(steps, cut, m);
  steps.push_back(streamed("linear_qk_norm", normed_and_copied(m) * cut.element, 0, cut));
  steps.push_back(recurrence("linear_attention", forward_recurrence(m.shape.kind, m.sizes), cut));
  steps.push_back(streamed("linear_norm", 3 * m.values * cut.element, 0, cut));
  exchange_heads(steps, "cp_all_to_all_mixed", m.values, cut);
  add_row_parallel_product(steps, m.out, cut);
}

void linear_backward(Steps& steps, const Cut& cut, const LinearMixer& m) {
  gather_operand(steps, "cast_gradient", cut);
  steps.push_back(input_gradient(m.out, cut.tokens, cut.element));
  exchange_heads(steps, "cp_all_to_all_mixed", m.values, cut);
  steps.push_back(streamed("linear_norm_backward", 5 * m.values * cut.element, 0, cut));
  steps.push_back(recurrence("linear_attention_backward", backward_recurrence(m.shape.kind, m.sizes), cut));
  steps.push_back(streamed("linear_qk_norm_backward", 1.5 * normed_and_copied(m) * cut.element, 0, cut));
  if (m.convolved() > 0)
    steps.push_back(
        streamed("linear_convolution_backward", 3 * m.convolved() * cut.element, 2 * m.convolution_weights(), cut));
  exchange_heads(steps, "cp_all_to_all_mixer", m.in.out + gates_by_latents(m), cut);
  for (const Linear& linear : m.by_latents) steps.push_back(input_gradient(linear, cut.tokens, cut.element));
  add_cast(steps, "cast_gradient", cut.tokens * m.in.out, cut.sharding);
  regather_input(steps, cut, cut.sharding.gathered_bytes);
  steps.push_back(input_gradient(m.in, cut.tokens, cut.element));
}

/// Weights of all products.
double products_of(const LinearMixer& m) { return m.in.in * m.in.out + m.out.in * m.out.out + m.weights_on_latents(); }

double linear_parameters(const LinearMixer& m) {
  double total = products_of(m) + m.convolution_weights();
  switch (m.shape.kind) {
    case LinearAttentionKind::gated_delta:
      total += 2 * m.sizes.heads;  // base and bias of a head's decay
      break;
    case LinearAttentionKind::kimi_delta:
      total += m.sizes.heads + m.queries;  // the base of a head's, the bias of a channel's
      break;
    case LinearAttentionKind::lightning:
      return total + m.values;  // the norm is of all heads
  }
  return total + m.shape.value_head_dim;
}

/// Elements of a token that the backward pass needs: what the products gave, normed queries and keys as the recurrence
/// read them, its values and scores, and its result before the norm.
double kept_by_linear(const LinearMixer& m) {
  double kept = m.in.out + 2 * m.sizes.keys() + m.values + kept_scores(m.shape.kind, m.sizes) + m.values;
  for (const Linear& linear : m.by_latents) kept += linear.out;
  return kept;
}

}  // namespace

void add_linear_attention_half(LayerWork& work, const Cut& cut) {
  const LinearMixer m = linear_mixer(cut);
  add_norm(work, cut);
  linear_forward(work.forward, cut, m);
  finish_mixer_half(work, cut, {linear_parameters(m), kept_by_linear(m), m.values});
}

void add_linear_attention_backward(LayerWork& work, const Cut& cut) {
  const LinearMixer m = linear_mixer(cut);
  add_residual_backward(work, cut);
  linear_backward(work.backward_input, cut, m);
  std::vector<Linear> others = m.by_latents;
  others.push_back(m.in);
  finish_mixer_backward(work, cut, m.out, others);
}

double linear_attention_multiply_adds(const TransformerShape& shape) {
  const LinearMixer m = linear_mixer(*shape.linear_attention, shape.hidden, 1, 1);
  return products_of(m) + forward_recurrence(m.shape.kind, m.sizes).multiply_adds + m.convolution_weights();
}

}  // namespace workload
}  // namespace stepcast
