#include "models/workload/attention_core.hpp"

#include <cmath>

#include "models/compute/attention_time.hpp"

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

/// Mean bytes of an element that the core reads or writes: what it writes has 16 bit, and forward and backward that is
/// about half of what it moves.
double attention_element(const Cut& cut) { return (operand_element(cut) + cut.element) / 2; }

/// What an indexer picked lies anywhere: a query reads its own, and backward adds their gradients up in fp32.
Bytes gathered_keys(const Cut& cut, const Core& core, bool backward) {
  const double element = backward ? cut.element + 2 * sizeof(float) : cut.element;
  const double key = cut.shape.sparse_attention ? shared_key(cut.shape) : cut.head.key_size;
  return Bytes(cut.micro_batch * core.queries * core.gathered * key * element);
}

}  // namespace

LayerStep attention_core(const Cut& cut, const Core& core, bool backward) {
  const bool fused = cut.sharding.fused_attention;
  const bool local = fused && core.seen > 0;
  const bool sparse = fused && cut.shape.sparse_attention;
  // Picked tokens are gathered for each query, so that all heads share what they see: the latent is key and value.
  const double latent = cut.shape.kv_lora_rank;
  const double sizes = sparse ? shared_key(cut.shape) + latent : cut.head.key_size + cut.head.value_size;
  LayerStep step;
  Operator& op = step.op;
  op.name = backward ? "attention_backward" : "attention";
  op.kind = OperatorKind::attention;
  op.m = core.queries;
  op.n = local ? core.seen : core.keys;
  op.k = sizes / 2;
  op.batch = cut.micro_batch * core.heads;
  op.causal = core.causal && !local;
  op.backward = backward;
  op.fused = fused;
  op.eight_bit = cut.sharding.eight_bit_attention;
  const double scores = op.batch * op.m * op.n;
  // Stored scores are computed whole and masked; a fused kernel skips what the mask hides.
  const double executed = op.causal && fused ? 0.5 : 1.0;
  const double ratio = backward ? (fused ? kBackwardFused : kBackwardUnfused) : 1.0;
  op.flops = Flops(2 * scores * sizes * executed * ratio);
  const double key_heads = sparse ? 1 : core.heads * cut.key / cut.query;
  const double tensors = attention_element(cut) * cut.micro_batch * sizes * (op.m * core.heads + core.keys * key_heads);
  if (fused) {
    // Forward: Q, K, V in, O out. Backward: those and dO in, dQ, dK and dV out. In 8 bit what goes in has one byte.
    op.bytes = Bytes(backward ? 2 * tensors : tensors);
    if (core.gathered > 0) op.again = gathered_keys(cut, core, backward);
    op.bytes += op.again;
  } else {
    const bool separate = softmax_in_pieces(cut, op.batch);
    const double accesses = (backward ? kScoreAccessesBackward : kScoreAccessesForward) * cut.sharding.score_traffic +
                            (separate ? (backward ? kPieceAccessesBackward : kPieceAccessesForward) : 0);
    op.bytes = Bytes(accesses * cut.element * scores);
    op.kernels = (backward ? kCoreKernelsBackward : kCoreKernelsForward) +
                 (separate ? (backward ? kPiecesBackward : kPiecesForward) : 0);
  }
  return step;
}

void cast_for_attention(Steps& steps, std::string_view name, double elements, const Cut& cut) {
  if (cut.sharding.eight_bit_attention) steps.push_back(memory(name, elements * (2 * cut.element + 1), cut.sharding));
}

double operand_element(const Cut& cut) { return cut.sharding.eight_bit_attention ? 1 : cut.element; }

Bytes kept_by_core(const Cut& cut, double keys) {
  const double rows = cut.micro_batch * cut.heads * cut.local_sequence;
  if (cut.sharding.fused_attention) return Bytes(rows * sizeof(float));
  const double scores = rows * keys;
  return Bytes(scores * cut.element + (cut.shape.dropout > 0 ? scores * (1 + cut.element) : 0));
}

}  // namespace stepcast::workload
