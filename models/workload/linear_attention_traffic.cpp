#include "models/workload/linear_attention_traffic.hpp"

#include <array>

// What the kernels of flash-linear-attention 0.4 (fla/ops: gated_delta_rule/chunk.py, kda/chunk.py, simple_gla/chunk.py
// and what they call) read, write and multiply, tensor by tensor, for one token.
namespace stepcast::workload {
namespace {

/// Bytes that a multiprocessor moves in a cycle in these kernels, whose products are small. Forward 6.9 to 7.7 on H800
/// (1.81 to 2.00 TB/s; 96 heads of 8,192 tokens and 16 of 2 × 16,384, gated and Kimi delta alike:
/// PaddlePaddle/flash-attention pull request 133), 9.3 to 10.9 on B200 (2.70 to 3.17 TB/s; flashinfer pull requests
/// 2742 and 3902); backward 3.5 on H200 (0.93 TB/s; 32 heads of 4 × 8,192, less the forward's time:
/// flash-linear-attention issue 645), where Kimi's first kernels reached two thirds of that.
constexpr double kForwardBytesPerCycle = 8.5, kBackwardBytesPerCycle = 3.5;

/// Accesses of each tensor: in the format of what products give, but for the wide ones, which are in fp32.
struct Accesses {
  double keys = 0, values = 0, scores = 0, states = 0;
  double wide_keys = 0, wide_scores = 0;
};

double bytes_of(const Accesses& n, const RecurrenceSizes& s) {
  const double in_format = n.keys * s.keys() + n.values * s.values() + n.scores * s.scores() + n.states * s.states();
  const double wide = n.wide_keys * s.keys() + n.wide_scores * s.scores();
  return in_format * s.element + wide * sizeof(float);
}

/// Products of a token: with its chunk, as wide as a key or a value, and with a state.
struct Products {
  double chunk_keys = 0, chunk_values = 0, states = 0;
};

double multiply_adds_of(const Products& n, const RecurrenceSizes& s) {
  return kRecurrenceChunk * (n.chunk_keys * s.keys() + n.chunk_values * s.values()) +
         n.states * s.states() * kRecurrenceChunk;
}

// In the order of the kernels. Gated delta rule: scores of keys, their triangle inverted, keys and values times it,
// states, result.
constexpr Accesses kGatedForward{
    .keys = 1 + 2 + 2 + 2, .values = 2 + 2 + 2, .scores = 1 + 1, .states = 1 + 1, .wide_scores = 1 + 1};
// Keys, values and states again; gradients of values within chunks, of states, of queries and keys, of the inverse's
// factors; and the sum of both gradients of the keys.
constexpr Accesses kGatedBackward{
    .keys = 2 + 2 + 2 + 3 + 6 + 3 + 3, .values = 2 + 2 + 2 + 3 + 3 + 3, .scores = 1 + 1, .states = 1 + 1 + 2};
// Kimi: a decay of each channel of the keys, in fp32, is summed up and read by each of them.
constexpr Accesses kKimiForward{.keys = 1 + 2 + 3 + 2 + 1,
                                .values = 2 + 2 + 2,
                                .scores = 1 + 1 + 1 + 1,
                                .states = 1 + 1,
                                .wide_keys = 1 + 1 + 1 + 1,
                                .wide_scores = 1 + 1};
constexpr Accesses kKimiBackward{.keys = 3 + 2 + 3 + 2 + 2 + 2,
                                 .values = 2 + 2 + 3 + 3 + 5,
                                 .scores = 1 + 1 + 1,
                                 .states = 1 + 1 + 2,
                                 .wide_keys = 1 + 1 + 4 + 7 + 3,
                                 .wide_scores = 1 + 1 + 2};
// Lightning: states and the result; backward states again, their gradients, those of queries and keys, of values.
constexpr Accesses kLightningForward{.keys = 1 + 2, .values = 1 + 2, .states = 1 + 1};
constexpr Accesses kLightningBackward{.keys = 1 + 1 + 4 + 2, .values = 1 + 1 + 2 + 2, .states = 1 + 1 + 2 + 1};

constexpr Products kDeltaForward{.chunk_keys = 1 + 1 + 1, .chunk_values = 1 + 1, .states = 2 + 1};
constexpr Products kDeltaBackward{.chunk_keys = 1 + 1 + 3 + 5, .chunk_values = 1 + 1 + 1 + 2, .states = 2 + 3 + 3};
constexpr Products kSumsForward{.chunk_keys = 1, .chunk_values = 1, .states = 2};
constexpr Products kSumsBackward{.chunk_keys = 3, .chunk_values = 2, .states = 1 + 1 + 3};

/// One direction of a kind.
struct Pass {
  Accesses accesses;
  Products products;
};
/// By LinearAttentionKind.
using Passes = std::array<Pass, EnumNames<LinearAttentionKind>::names.size()>;
constexpr Passes kForward{Pass{kGatedForward, kDeltaForward}, Pass{kKimiForward, kDeltaForward},
                          Pass{kLightningForward, kSumsForward}};
constexpr Passes kBackward{Pass{kGatedBackward, kDeltaBackward}, Pass{kKimiBackward, kDeltaBackward},
                           Pass{kLightningBackward, kSumsBackward}};

Recurrence recurrence_of(const Passes& passes, LinearAttentionKind kind, const RecurrenceSizes& sizes,
                         double bytes_per_cycle) {
  const Pass& pass = passes[static_cast<std::size_t>(kind)];
  return {bytes_of(pass.accesses, sizes), multiply_adds_of(pass.products, sizes), bytes_per_cycle};
}

}  // namespace

Recurrence forward_recurrence(LinearAttentionKind kind, const RecurrenceSizes& sizes) {
  return recurrence_of(kForward, kind, sizes, kForwardBytesPerCycle);
}

Recurrence backward_recurrence(LinearAttentionKind kind, const RecurrenceSizes& sizes) {
  return recurrence_of(kBackward, kind, sizes, kBackwardBytesPerCycle);
}

double kept_scores(LinearAttentionKind kind, const RecurrenceSizes& sizes) {
  switch (kind) {
    case LinearAttentionKind::gated_delta:
      return sizes.scores();  // the triangle's inverse
    case LinearAttentionKind::kimi_delta:
      return 2 * sizes.scores();  // and those of queries with keys
    case LinearAttentionKind::lightning:
      break;
  }
  return 0;
}

}  // namespace stepcast::workload
