#include <cmath>

#include "models/workload/steps.hpp"

namespace stepcast::workload {
namespace {

/// Accesses of every score of unfused attention outside of the products, of which FrameworkProfile::score_traffic is
/// the share that is paid: mask and softmax, dropout, each read and written; backward: dropout and softmax, which reads
/// its result too. They fuse in part, and scores meet the cache.
constexpr double kScoreAccessesForward = 4, kScoreAccessesBackward = 5;
/// Backward over forward FLOPs: five products against two where the fused kernel recomputes the scores (Dao 2023,
/// arXiv 2307.08691, section 3.1), four against two where they were stored.
constexpr double kBackwardFused = 2.5, kBackwardUnfused = 2;

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

Linear qkv(const Cut& cut) { return {"qkv", "qkv_dgrad", "qkv_wgrad", cut.hidden, cut.query + 2 * cut.key}; }
Linear projection(const Cut& cut) { return {"proj", "proj_dgrad", "proj_wgrad", cut.query, cut.hidden}; }

/// One attention kernel: `queries` × `keys` positions of `heads` heads of every sequence.
struct Core {
  double queries, keys, heads;
};

Operator attention(const Cut& cut, const Core& core, bool backward) {
  const bool fused = cut.sharding.fused_attention;
  const double head = cut.shape.head_size();
  Operator op;
  op.name = backward ? "attention_backward" : "attention";
  op.kind = OperatorKind::attention;
  op.m = core.queries;
  op.n = core.keys;
  op.k = head;
  op.batch = cut.micro_batch * core.heads;
  op.causal = cut.causal;
  op.backward = backward;
  op.fused = fused;
  const double scores = op.batch * op.m * op.n;
  // Stored scores are computed whole and masked; a fused kernel skips what the mask hides.
  const double executed = cut.causal && fused ? 0.5 : 1.0;
  const double ratio = backward ? (fused ? kBackwardFused : kBackwardUnfused) : 1.0;
  op.flops = Flops(4 * scores * head * executed * ratio);
  const double key_heads = core.heads * cut.key / cut.query;
  const double tensors = cut.element * cut.micro_batch * head * 2 * (op.m * core.heads + op.n * key_heads);
  if (fused) {
    // Forward: Q, K, V in, O out. Backward: those and dO in, dQ, dK and dV out.
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

LayerStep step_of(const Operator& op) {
  LayerStep step;
  step.op = op;
  return step;
}

/// Ring attention (Liu et al. 2023, arXiv 2310.01889): cp kernels over one chunk of keys each; the next chunk travels
/// beside each but the last. With the balanced order of chunks every one costs half its square under a causal mask.
void ring(Steps& steps, const Cut& cut, Bytes chunk, bool backward) {
  const Operator op = attention(cut, {cut.local_sequence, cut.local_sequence, cut.heads}, backward);
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
  steps.push_back(step_of(attention(cut, {cut.local_sequence, cut.sequence, cut.heads}, backward)));
  if (backward)
    steps.push_back(
        communicate("cp_reduce_scatter", LayerCommunication::context, LayerCollective::reduce_scatter, whole));
}

/// DeepSpeed-Ulysses (Jacobs et al. 2023, arXiv 2309.14509): four all-to-alls turn a cut of the sequence into one of
/// the heads and back; the backward pass does the same to the gradients.
void ulysses(Steps& steps, const Cut& cut, bool backward) {
  const auto exchange = [&](std::string_view name, double width) {
    steps.push_back(communicate(name, LayerCommunication::context, LayerCollective::all_to_all,
                                Bytes(cut.tokens * width * cut.element)));
  };
  const Operator op = attention(cut, {cut.sequence, cut.sequence, cut.heads / cut.sharding.cp}, backward);
  if (backward) exchange("cp_all_to_all_output", cut.query);
  if (backward) steps.push_back(step_of(op));
  exchange("cp_all_to_all_query", cut.query);
  exchange("cp_all_to_all_key", cut.key);
  exchange("cp_all_to_all_value", cut.key);
  if (!backward) steps.push_back(step_of(op));
  if (!backward) exchange("cp_all_to_all_output", cut.query);
}

void core_steps(Steps& steps, const Cut& cut, bool backward) {
  const Bytes chunk(cut.tokens * 2 * cut.key * cut.element);
  if (cut.sharding.cp == 1) {
    steps.push_back(step_of(attention(cut, {cut.sequence, cut.sequence, cut.heads}, backward)));
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
  return cut.tokens * cut.query * cut.element;
}

void count_attention(LayerWork& work, const Cut& cut) {
  const Linear in = qkv(cut), out = projection(cut);
  work.parameters += in.in * in.out + out.in * out.out;
  if (cut.shape.biases || cut.shape.qkv_bias) work.parameters += in.out;
  if (cut.shape.biases) work.parameters += out.out;

  const Bytes input = cut.resident_tensor();
  const Bytes heads(cut.tokens * (cut.query + 2 * cut.key) * cut.element);
  const Bytes output(cut.tokens * cut.query * cut.element);
  const Bytes core(core_bytes(cut) + exchanged_bytes(cut));
  work.activations += input + heads + output + core;
  // A fused kernel's statistic goes with it; the output is the projection's input and stays.
  work.freed_attention_core = core;
  work.freed_attention = heads + output + core;
  work.freed_norm += input;
}

}  // namespace

void add_attention_half(LayerWork& work, const Cut& cut) {
  Steps& steps = work.forward;
  add_norm(work, cut);
  const std::size_t begin = steps.size();
  enter_tensor_region(steps, cut);
  add_forward_product(steps, qkv(cut), cut);
  if (cut.shape.positions == PositionKind::rotary)
    steps.push_back(memory("rope", 2 * cut.tokens * (cut.query + cut.key) * cut.element, cut.sharding));
  const auto core = static_cast<std::ptrdiff_t>(steps.size());
  core_steps(steps, cut, false);
  work.recompute_attention_core.assign(steps.begin() + core, steps.end());
  add_forward_product(steps, projection(cut), cut);
  leave_tensor_region(steps, cut);
  work.recompute_attention.assign(steps.begin() + static_cast<std::ptrdiff_t>(begin), steps.end());
  add_residual(work, cut);
  count_attention(work, cut);
}

void add_attention_backward(LayerWork& work, const Cut& cut) {
  Steps& steps = work.backward_input;
  add_residual_backward(work, cut);
  enter_tensor_region_backward(steps, cut);
  add_input_gradient(steps, projection(cut), cut);
  core_steps(steps, cut, true);
  if (cut.shape.positions == PositionKind::rotary)
    steps.push_back(memory("rope_backward", 2 * cut.tokens * (cut.query + cut.key) * cut.element, cut.sharding));
  regather_input(steps, cut);
  add_input_gradient(steps, qkv(cut), cut);
  leave_tensor_region_backward(steps, cut);
  add_norm_backward(work, cut);
  work.backward_weight.push_back(weight_gradient(projection(cut), cut.tokens, cut.sharding));
  work.backward_weight.push_back(weight_gradient(qkv(cut), cut.tokens, cut.sharding));
}

}  // namespace stepcast::workload
