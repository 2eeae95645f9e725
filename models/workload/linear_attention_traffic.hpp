#pragma once

#include "models/workload/linear_attention.hpp"

namespace stepcast::workload {

/// Tokens that the kernels of linear attention take at once (chunk_size of flash-linear-attention).
inline constexpr double kRecurrenceChunk = 64;

/// The recurrence as its kernels see it: each head of values with queries and keys of its own.
struct RecurrenceSizes {
  double heads = 0, key_size = 0, value_size = 0;
  double element = 2;  ///< bytes of what products give
  [[nodiscard]] double keys() const { return heads * key_size; }
  [[nodiscard]] double values() const { return heads * value_size; }
  [[nodiscard]] double scores() const { return heads * kRecurrenceChunk; }  ///< of a token with those of its chunk
  /// Elements of a chunk's states, for each of its tokens.
  [[nodiscard]] double states() const { return heads * key_size * value_size / kRecurrenceChunk; }
};

/// Work of one token, over all heads.
struct Recurrence {
  double bytes = 0, multiply_adds = 0;
  double bytes_per_cycle = 0;  ///< that a multiprocessor moves in these kernels
};

Recurrence forward_recurrence(LinearAttentionKind kind, const RecurrenceSizes& sizes);
Recurrence backward_recurrence(LinearAttentionKind kind, const RecurrenceSizes& sizes);
/// Elements of a token's scores that stay for the backward pass.
double kept_scores(LinearAttentionKind kind, const RecurrenceSizes& sizes);

}  // namespace stepcast::workload
