#pragma once

#include <array>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// Embedding tables of one size.
struct EmbeddingTables {
  int count = 1;
  double rows = 0;     ///< of each
  double lookups = 1;  ///< of one sample in each table; their rows are added up to one vector
  static const FieldTable<EmbeddingTables>& fields();
};

/// How dense features and embeddings meet: `dot`, products of all pairs (Naumov et al. 2019, arXiv 1906.00091);
/// `cross`, low-rank cross layers (DCN-V2, Wang et al. 2020, arXiv 2008.13535).
enum class Interaction { dot, cross };
template <>
struct EnumNames<Interaction> {
  static constexpr std::array names{"dot", "cross"};
};

/// A recommender with embedding tables: the tables are dealt out over all devices, everything else is replicated.
struct RecommenderShape {
  int dense_features = 0;
  int embedding_dim = 0;
  std::vector<EmbeddingTables> tables;
  std::vector<int> bottom_mlp;  ///< widths of its layers; the last is embedding_dim
  std::vector<int> top_mlp;     ///< widths of its layers
  Interaction interaction = Interaction::dot;
  int cross_layers = 0, cross_rank = 0;           ///< cross
  double table_bytes = 4, table_state_bytes = 0;  ///< of a table's parameter, and of its optimizer state
  [[nodiscard]] double table_count() const;
  [[nodiscard]] double lookups() const;  ///< of one sample, in all tables
  [[nodiscard]] double table_parameters() const;
  /// Width of what the interaction hands to the top MLP.
  [[nodiscard]] double interaction_width() const;
  static const FieldTable<RecommenderShape>& fields();
};

}  // namespace stepcast
