#pragma once

#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// Attention over the last tokens (TransformerShape::window) and, beside them, over entries that stand for several
/// tokens each (DeepSeek-V4, arXiv 2606.19348, section 2.3). One head of keys, which are the values, serves all heads
/// of queries. Layers of `indexed_ratio` ("compressed sparse attention") have entries that overlap and an indexer that
/// picks some for each query; in the others ("heavily compressed attention") a query sees all entries before it.
struct CompressedAttentionShape {
  std::vector<int> ratios;                      ///< tokens to an entry, layer by layer; 0: the window alone
  int indexed_ratio = 0;                        ///< 0: no layer has an indexer
  int entries = 0;                              ///< that a query attends to at most where an indexer picks them
  int indexer_heads = 0, indexer_head_dim = 0;  ///< heads that score the entries, of one key an entry
  int output_groups = 1;                        ///< of heads, each projected for itself before all are mixed
  int output_rank = 0;                          ///< width that a group is projected to; 0: heads are mixed at once
  [[nodiscard]] bool indexes(int ratio) const { return ratio > 0 && ratio == indexed_ratio; }
  /// Products to an entry's content, and as many to the weights of its tokens: one, or where entries overlap two.
  [[nodiscard]] int series(int ratio) const { return indexes(ratio) ? 2 : 1; }
  /// Entries before a query on average, in a sequence of `span` tokens.
  [[nodiscard]] double entries_before(int ratio, double span, bool causal) const;
  /// Of them, those that a query attends to.
  [[nodiscard]] double entries_seen(int ratio, double span, bool causal) const;
  static const FieldTable<CompressedAttentionShape>& fields();
};

}  // namespace stepcast
