#pragma once

#include "models/workload/steps.hpp"

namespace stepcast::workload {

/// One attention kernel: `queries` × `keys` positions of `heads` heads of every sequence.
struct Core {
  double queries, keys, heads;
  double seen = 0;      ///< of the keys by a query on average where less than a causal mask leaves (0: not less)
  bool causal = false;  ///< a query sees the keys before it
  double gathered = 0;  ///< of those seen, that an indexer picked: each query reads its own, wherever they lie
};

/// Its kernel, or of unfused attention its kernels, forward or backward.
LayerStep attention_core(const Cut& cut, const Core& core, bool backward);
/// Of compressed attention: a rank's queries over the window and the entries that they see.
Core compressed_core(const Cut& cut);
/// Casts the core's operands to 8 bit where its products are, with the scale of the tensor as it is: read for its
/// largest value, read again and written (Transformer Engine, current scaling).
void cast_for_attention(Steps& steps, std::string_view name, double elements, const Cut& cut);
/// Bytes of an element of the core's operands, which are cast before it.
double operand_element(const Cut& cut);
/// What the core keeps besides Q, K, V and its output, of queries over `keys` positions. Unfused: softmax output, and
/// with dropout its mask and the dropped scores (5·a·s²·b bytes in 16 bit, Korthikanti et al. 2022, eq. 1). Fused: one
/// fp32 statistic a row.
Bytes kept_by_core(const Cut& cut, double keys);

}  // namespace stepcast::workload
