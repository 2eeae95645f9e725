#pragma once

#include "fields/field_table.hpp"

namespace stepcast {

/// Attention over the tokens that an indexer picks (DeepSeek Sparse Attention; DeepSeek-V3.2, arXiv 2512.02556, section
/// 2.1; GLM-5): light heads score every token before a query, and latent attention sees those that score highest.
struct SparseAttentionShape {
  int tokens = 0;         ///< that a query attends to at most
  int indexer_heads = 0;  ///< that score, all of one key a token
  int indexer_head_dim = 0;
  /// Layers for which one indexer picks (IndexShare, arXiv 2603.12201; GLM-5.2: 4). Each of them counts its part of it.
  int layers_per_indexer = 1;
  static const FieldTable<SparseAttentionShape>& fields();
};

}  // namespace stepcast
