#pragma once

#include <optional>

#include "hardware-catalog/operator_profile.hpp"

namespace stepcast {

/// Products of the backward pass over those of the forward one: five against two, for the scores are computed again
/// (Dao 2023, arXiv 2307.08691, section 3.1); four where they are stored.
inline constexpr double kBackwardFused = 2.5, kBackwardUnfused = 2;

enum class AttentionPass { forward, backward, both };

/// softmax(Q·Kᵀ)·V of `batch` sequences.
struct AttentionShape {
  double batch = 1, heads = 1, key_heads = 1;  ///< sequences; heads of queries; heads of keys and values
  double head_size = 128, value_size = 128;    ///< of queries and keys; of values and results
  double queries = 0, keys = 0;                ///< positions of one sequence
  bool causal = false;
  AttentionPass pass = AttentionPass::forward;
  double element_bytes = 2;  ///< of queries, keys, values and results
};

/// What the cost of attention needs of one accelerator.
struct AttentionDevice {
  FlopsPerSecond peak;         ///< of the format that it runs in
  BytesPerSecond memory;       ///< by the data sheet
  double multiprocessors = 1;  ///< each takes a tile of queries at a time
};

/// The device of an accelerator; `peak` of the format.
AttentionDevice attention_device(const Accelerator& accelerator, FlopsPerSecond peak);

/// Time of a fused kernel: launch + tiles of queries over the multiprocessors, each as long as the keys it sees and its
/// start-up, + the tensors' traffic (docs/models/operators.md).
Seconds fused_attention_time(const AttentionShape& shape, const AttentionConstants& kernel,
                             const AttentionDevice& device);

/// Time of products, mask, softmax and products one after another, every score in memory.
Seconds unfused_attention_time(const AttentionShape& shape, const UnfusedAttentionConstants& kernels,
                               const AttentionDevice& device);

/// The measured kernels of one accelerator that 8-bit attention is compared by: the same library's, in both formats.
struct NarrowAttention {
  AttentionConstants half, narrow;
  AttentionDevice half_device, narrow_device;
};

/// What 8-bit attention runs on: cuDNN's kernels, which Transformer Engine calls; nothing where the profile (may be
/// null) or the accelerator does not have both formats, forward and backward.
std::optional<NarrowAttention> narrow_attention(const Accelerator& accelerator, const OperatorProfile* operators);

/// Time of a shape's 8-bit kernel over that of the 16-bit one.
double narrow_over_half(const AttentionShape& shape, const NarrowAttention& kernels);

}  // namespace stepcast
