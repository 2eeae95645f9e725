#include <array>
#include <cmath>

#include "models/compute/attention_time.hpp"
#include "models/workload/steps.hpp"

namespace stepcast::workload {
namespace {

/// Accesses of every score of unfused attention outside of the products, of which FrameworkProfile::score_traffic is
/// the share that is paid: mask and softmax, dropout, each read and written; backward: dropout and softmax, which reads
/// its result too. They fuse in part, and scores meet the cache.
constexpr double kScoreAccessesForward = 4, kScoreAccessesBackward = 5;

/// Where Megatron's fused masked softmax does not apply (its thread blocks take 4 rows of sequences × heads:
/// fused_softmax.py, is_kernel_available), scores are widened, scaled, filled with the mask, and narrowed again by
/// kernels of their own; backward the same but for the scale. Accesses in elements of 16 bit.
constexpr double kPieceAccessesForward = 3 + 4 + 4 + 3, kPieceAccessesBackward = 3 + 4 + 3;
constexpr int kPiecesForward = 4, kPiecesBackward = 3;

/// Forward: mask and scale, softmax, dropout, beside two products; backward the same beside four.
constexpr int kCoreKernelsForward = 3, kCoreKernelsBackward = 3;

bool softmax_in_pieces(const Cut& cut, double sequences_and_heads) {
  const int multiple = cut.sharding.fused_softmax_multiple;
  return multiple > 0 && std::fmod(sequences_and_heads, multiple) != 0;
}

Linear projection(const Cut& cut) { return {"proj", "proj_dgrad", "proj_wgrad", cut.attended, cut.hidden}; }

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
  if (!shape.is_latent()) {
    out.add({"qkv", "qkv_dgrad", "qkv_wgrad", cut.hidden, cut.query + cut.key + cut.value});
    return out;
  }
  const double queries = shape.q_lora_rank, keys = shape.kv_lora_rank;
  if (shape.q_lora_rank > 0) {
    out.add({"q_down", "q_down_dgrad", "q_down_wgrad", cut.hidden, queries}, true);
    out.add({"q_up", "q_up_dgrad", "q_up_wgrad", queries, cut.query});
  } else {
    out.add({"q", "q_dgrad", "q_wgrad", cut.hidden, cut.query});
  }
  // The rotary part of the keys is one head for all, computed beside the latent.
  out.add({"kv_down", "kv_down_dgrad", "kv_down_wgrad", cut.hidden, keys + shape.qk_rope_head_dim}, true);
  out.add({"kv_up", "kv_up_dgrad", "kv_up_wgrad", keys, cut.heads * (shape.qk_nope_head_dim + shape.v_head_dim)});
  return out;
}

/// Widths of the latents that a norm follows.
double latent_width(const TransformerShape& shape) { return shape.q_lora_rank + shape.kv_lora_rank; }

/// Elements of a token that rotary positions turn.
double rotary_width(const Cut& cut) {
  if (!cut.shape.is_latent()) return cut.query + cut.key;
  return (cut.heads + 1) * cut.shape.qk_rope_head_dim;
}

/// Bytes of an element of the core's operands, which are cast before it.
double operand_element(const Cut& cut) { return cut.sharding.eight_bit_attention ? 1 : cut.element; }

/// Mean bytes of an element that the core reads or writes: what it writes has 16 bit, and forward and backward that is
/// about half of what it moves.
double attention_element(const Cut& cut) { return (operand_element(cut) + cut.element) / 2; }

/// One attention kernel: `queries` × `keys` positions of `heads` heads of every sequence; `seen` of the keys by a
/// query on average where less than a causal mask leaves (0: not less).
struct Core {
  double queries, keys, heads;
  double seen = 0;
};

Operator attention(const Cut& cut, const Core& core, bool backward) {
  const bool fused = cut.sharding.fused_attention;
  const bool local = fused && core.seen > 0;
  const double sizes = cut.shape.key_size() + cut.shape.value_size();
  Operator op;
  op.name = backward ? "attention_backward" : "attention";
  op.kind = OperatorKind::attention;
  op.m = core.queries;
  op.n = local ? core.seen : core.keys;
  op.k = sizes / 2;
  op.batch = cut.micro_batch * core.heads;
  op.causal = cut.causal && !local;
  op.backward = backward;
  op.fused = fused;
  op.eight_bit = cut.sharding.eight_bit_attention;
  const double scores = op.batch * op.m * op.n;
  // Stored scores are computed whole and masked; a fused kernel skips what the mask hides.
  const double executed = op.causal && fused ? 0.5 : 1.0;
  const double ratio = backward ? (fused ? kBackwardFused : kBackwardUnfused) : 1.0;
  op.flops = Flops(2 * scores * sizes * executed * ratio);
  const double key_heads = core.heads * cut.key / cut.query;
  const double tensors = attention_element(cut) * cut.micro_batch * sizes * (op.m * core.heads + core.keys * key_heads);
  if (fused) {
    // Forward: Q, K, V in, O out. Backward: those and dO in, dQ, dK and dV out. In 8 bit what goes in has one byte.
    op.bytes = Bytes(backward ? 2 * tensors : tensors);
  } else {
    const bool separate = softmax_in_pieces(cut, op.batch);
    const double accesses = (backward ? kScoreAccessesBackward : kScoreAccessesForward) * cut.sharding.score_traffic +
                            (separate ? (backward ? kPieceAccessesBackward : kPieceAccessesForward) : 0);
    op.bytes = Bytes(accesses * cut.element * scores);
    op.kernels = (backward ? kCoreKernelsBackward : kCoreKernelsForward) +
                 (separate ? (backward ? kPiecesBackward : kPiecesForward) : 0);
  }
  return op;
}

/// To 8 bit, with the scale of the tensor as it is: read for its largest value, read again and written (Transformer
/// Engine, current scaling).
void cast_for_attention(Steps& steps, std::string_view name, double elements, const Cut& cut) {
  if (cut.sharding.eight_bit_attention) steps.push_back(memory(name, elements * (2 * cut.element + 1), cut.sharding));
}

LayerStep step_of(const Operator& op) {
  LayerStep step;
  step.op = op;
  return step;
}

/// Ring attention (Liu et al. 2023, arXiv 2310.01889): cp kernels over one chunk of keys each; the next chunk travels
/// beside each but the last. With the balanced order of chunks every one costs half its square under a causal mask.
void ring(Steps& steps, const Cut& cut, Bytes chunk, bool backward) {
  const Operator op = attention(
      cut, {cut.local_sequence, cut.local_sequence, cut.heads, cut.seen / static_cast<double>(cut.sharding.cp)},
      backward);
  for (int i = 0; i < cut.sharding.cp; ++i) {
    if (i + 1 < cut.sharding.cp)
      steps.push_back(communicate("cp_send_recv", LayerCommunication::context, LayerCollective::send_recv,
                                  chunk * (backward ? 2.0 : 1.0), true));
    steps.push_back(step_of(op));
  }
}

/// Keys and values of all ranks gathered before one kernel (Llama 3, arXiv 2407.21783, section 3.3.2); the backward
/// pass gathers them again and reduces their gradients back.
void gathered(Steps& steps, const Cut& cut, Bytes chunk, bool backward) {
  const Bytes whole = chunk * static_cast<double>(cut.sharding.cp);
  steps.push_back(communicate("cp_all_gather", LayerCommunication::context, LayerCollective::all_gather, whole));
  steps.push_back(step_of(attention(cut, {cut.local_sequence, cut.sequence, cut.heads, cut.seen}, backward)));
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
  const Operator op = attention(cut, {cut.sequence, cut.sequence, cut.heads / cut.sharding.cp, cut.seen}, backward);
  if (backward) exchange("cp_all_to_all_output", cut.attended);
  if (backward) steps.push_back(step_of(op));
  exchange("cp_all_to_all_query", cut.query);
  exchange("cp_all_to_all_key", cut.key);
  exchange("cp_all_to_all_value", cut.value);
  if (!backward) steps.push_back(step_of(op));
  if (!backward) exchange("cp_all_to_all_output", cut.attended);
}

void core_steps(Steps& steps, const Cut& cut, bool backward) {
  const Bytes chunk(cut.tokens * (cut.key + cut.value) * cut.element);
  if (backward)
    cast_for_attention(steps, "attention_cast_gradient", cut.tokens * cut.attended, cut);
  else
    cast_for_attention(steps, "attention_cast", cut.tokens * (cut.query + cut.key + cut.value), cut);
  if (cut.sharding.cp == 1) {
    steps.push_back(step_of(attention(cut, {cut.sequence, cut.sequence, cut.heads, cut.seen}, backward)));
    return;
  }
  switch (cut.sharding.context_method) {
    case ContextMethod::ring:
      return ring(steps, cut, chunk, backward);
    case ContextMethod::all_gather:
      return gathered(steps, cut, chunk, backward);
    case ContextMethod::ulysses:
      return ulysses(steps, cut, backward);
  }
}

/// What the attention core keeps besides Q, K, V and its output. Unfused: softmax output, and with dropout its mask and
/// the dropped scores (5·a·s²·b bytes in 16 bit, Korthikanti et al. 2022, eq. 1). Fused: one fp32 statistic a row.
double core_bytes(const Cut& cut) {
  const double rows = cut.micro_batch * cut.heads * cut.local_sequence;
  if (cut.sharding.fused_attention) return rows * sizeof(float);
  const double scores = rows * cut.sequence;
  return scores * cut.element + (cut.shape.dropout > 0 ? scores * (1 + cut.element) : 0);
}

/// What context parallelism keeps beside. Ulysses: the output before the exchange, which the kernel's backward pass
/// needs, and after it, which the projection needs. Ring: a second tensor of the queries' width; inferred from peaks of
/// Transformer Engine on eight B200 (MooreThreads/SimuMax docs/b200: 64 MiB a layer at 64 MiB of queries, two models,
/// two cuts, two lengths).
double exchanged_bytes(const Cut& cut) {
  if (cut.sharding.cp == 1 || cut.sharding.context_method == ContextMethod::all_gather) return 0;
  return cut.tokens * cut.query * operand_element(cut);
}

void count_attention(LayerWork& work, const Cut& cut) {
  const Linear out = projection(cut);
  for (const Entry& entry : entries(cut)) {
    work.parameters += entry.linear.in * entry.linear.out;
    if (cut.shape.biases || cut.shape.qkv_bias) work.parameters += entry.linear.out;
  }
  work.parameters += out.in * out.out + latent_width(cut.shape);
  if (cut.shape.biases) work.parameters += out.out;

  const Bytes input = cut.resident_tensor();
  // A latent is kept before and after its norm.
  const Bytes latents(2 * cut.resident * latent_width(cut.shape) * cut.element);
  // Q, K and V are kept as the core reads them.
  const Bytes heads = latents + Bytes(cut.tokens * (cut.query + cut.key + cut.value) * operand_element(cut));
  const Bytes output(cut.tokens * cut.attended * cut.element);
  const Bytes core(core_bytes(cut) + exchanged_bytes(cut));
  const Bytes gathered = gathered_and_kept(cut);
  work.activations += input + gathered + heads + output + core;
  // A fused kernel's statistic goes with it; the output is the projection's input and stays.
  work.freed_attention_core = core;
  work.freed_attention = gathered + heads + output + core;
  work.freed_norm += input;
}

/// The products in front of the core. Latents are normalised, and gathered, in 16 bit before they are cast.
void enter_core(Steps& steps, const Cut& cut) {
  if (!cut.shape.is_latent()) {
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
  if (cut.shape.is_latent())
    steps.push_back(memory("latent_norm", 2 * cut.resident * latent_width(cut.shape) * cut.element, cut.sharding));
  if (cut.shape.positions == PositionKind::rotary)
    steps.push_back(memory("rope", 2 * cut.tokens * rotary_width(cut) * cut.element, cut.sharding));
  const auto core = static_cast<std::ptrdiff_t>(steps.size());
  core_steps(steps, cut, false);
  work.recompute_attention_core.assign(steps.begin() + core, steps.end());
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
  core_steps(steps, cut, true);
  if (cut.shape.positions == PositionKind::rotary)
    steps.push_back(memory("rope_backward", 2 * cut.tokens * rotary_width(cut) * cut.element, cut.sharding));
  if (cut.shape.is_latent())
    steps.push_back(
        memory("latent_norm_backward", 3 * cut.resident * latent_width(cut.shape) * cut.element, cut.sharding));
  for (const Entry& entry : entries(cut))
    add_cast(steps, "cast_gradient", entry.rows(cut) * entry.linear.out, cut.sharding);
  regather_input(steps, cut, cut.shape.is_latent() ? cut.element : cut.sharding.gathered_bytes);
  for (const Entry& entry : entries(cut)) steps.push_back(input_gradient(entry.linear, entry.rows(cut), cut.element));
  leave_tensor_region_backward(steps, cut);
  add_norm_backward(work, cut);
  work.backward_weight.push_back(weight_gradient(projection(cut), cut.tokens, cut.sharding));
  collect_beside_weights(work.backward_weight, cut);
  for (const Entry& entry : entries(cut))
    work.backward_weight.push_back(weight_gradient(entry.linear, entry.rows(cut), cut.sharding));
}

}  // namespace stepcast::workload
