#include "models/workload/sparse_attention.hpp"

#include <algorithm>

#include "models/workload/steps.hpp"

// The indexer: products to its queries (from the latent of attention's queries), and to its key and the weights of its
// heads; scores of every token before a query; and the choice of the highest. What it reads is cut off from the model's
// gradient: it learns from what attention gave the tokens that it picked (DeepSeek-V3.2, section 2.1.1).
namespace stepcast {

const FieldTable<SparseAttentionShape>& SparseAttentionShape::fields() {
  using S = SparseAttentionShape;
  static const FieldTable<S> table = [] {
    const Rules size{.required = true, .min = 1, .max = 1e7};
    FieldTable<S> t("sparse attention", "Attention over the tokens that an indexer picks");
    t.field("tokens", &S::tokens, "tokens that a query attends to at most", size)
        .field("indexer_heads", &S::indexer_heads, "heads that score the tokens", size)
        .field("indexer_head_dim", &S::indexer_head_dim, "size of such a head, and of the one key a token", size)
        .field("layers_per_indexer", &S::layers_per_indexer, "layers for which one indexer picks (GLM-5.2: 4)",
               {.min = 1, .max = kMostLayers});
    return t;
  }();
  return table;
}

namespace workload {
namespace {

/// Scores are written in fp32, and read twice to find the highest (a radix selection's passes over them).
constexpr double kIndexScoreBytes = 3 * sizeof(float);
/// Of a token that was picked: its place.
constexpr double kPlaceBytes = sizeof(int);

struct Indexer {
  Linear query, key;
  double heads, size;
  double picked;     ///< tokens, or entries, that a query attends to on average
  double scored;     ///< those before a query on average
  double keys;       ///< of a sequence
  double most;       ///< that are picked
  double key_size;   ///< of attention, of which the indexer learns
  double pooled;     ///< elements of a token that are pooled to its entry's key; 0: a token has a key
  double of_places;  ///< parameters of the pooling's places
  double part = 1;   ///< of an indexer that several layers share
};

/// Widths of an indexer's products: queries from their latent; beside its key (or what is pooled to it) the weights of
/// its heads from the hidden state.
Linear index_query(const TransformerShape& shape, double heads, double size) {
  const double latent = shape.q_lora_rank > 0 ? shape.q_lora_rank : shape.hidden;
  return {"index_query", "index_query_dgrad", "index_query_wgrad", latent, heads * size};
}
Linear index_key(const TransformerShape& shape, double heads, double key) {
  return {"index_key", "index_key_dgrad", "index_key_wgrad", static_cast<double>(shape.hidden), key + heads};
}

/// Contents and weights of two series, since the entries that are indexed overlap.
double pooled_to_key(const CompressedAttentionShape& compressed) { return 4.0 * compressed.indexer_head_dim; }

Indexer indexer_of_entries(const Cut& cut) {
  const CompressedAttentionShape& compressed = *cut.shape.compressed_attention;
  const double heads = compressed.indexer_heads, size = compressed.indexer_head_dim;
  const double pooled = pooled_to_key(compressed), entries = cut.sequence / cut.ratio;
  return {index_query(cut.shape, heads, size),
          index_key(cut.shape, heads, pooled),
          heads,
          size,
          entries_seen(cut),
          entries_before(cut),
          entries,
          std::min<double>(compressed.entries, entries),
          static_cast<double>(cut.head.key_size),
          pooled,
          cut.ratio * pooled / 2};
}

Indexer indexer(const Cut& cut) {
  if (cut.shape.compressed_attention) return indexer_of_entries(cut);
  const SparseAttentionShape& sparse = *cut.shape.sparse_attention;
  const double heads = sparse.indexer_heads, size = sparse.indexer_head_dim;
  const double scored = cut.causal ? cut.sequence / 2 : cut.sequence;
  return {index_query(cut.shape, heads, size),
          index_key(cut.shape, heads, size),
          heads,
          size,
          cut.seen > 0 ? cut.seen : scored,
          scored,
          cut.sequence,
          std::min<double>(sparse.tokens, cut.sequence),
          shared_key(cut.shape),
          0,
          0,
          1.0 / sparse.layers_per_indexer};
}

/// A kernel over pairs of a query and a key, on the matrix unit as attention's.
LayerStep pairs(std::string_view name, double keys, double heads, double size, double products, const Indexer& index,
                const Cut& cut) {
  LayerStep step;
  Operator& op = step.op;
  op.name = name;
  op.kind = OperatorKind::attention;
  op.m = cut.local_sequence * index.part;
  op.n = keys;
  op.k = size;
  op.batch = cut.micro_batch * heads;
  op.flops = Flops(2 * products * op.batch * op.m * op.n * size);
  op.bytes = Bytes(cut.element * cut.micro_batch * size * (op.m * heads + index.keys));
  return step;
}

}  // namespace

void add_indexer(Steps& steps, const Cut& cut) {
  const Indexer index = indexer(cut);
  for (const Linear& linear : {index.query, index.key})
    steps.push_back(forward_product(linear, cut.tokens * index.part, cut.element));
  if (index.pooled > 0) add_pooling(steps, "pool_index", index.pooled, index.size, false, cut);
  steps.push_back(pairs("index_scores", index.scored, index.heads, index.size, 1, index, cut));
  steps.push_back(counted_memory("index_select", kIndexScoreBytes * cut.tokens * index.part * index.scored));
}

void add_indexer_backward(LayerWork& work, const Cut& cut) {
  const Indexer index = indexer(cut);
  // What attention gave the picked tokens, over its heads; gradients of queries and keys of the scores.
  work.backward_weight.push_back(pairs("index_target", index.picked, cut.heads, index.key_size, 1, index, cut));
  work.backward_weight.push_back(pairs("index_scores_backward", index.picked, index.heads, index.size, 2, index, cut));
  if (index.pooled > 0) add_pooling(work.backward_weight, "pool_index_backward", index.pooled, index.size, true, cut);
  for (const Linear& linear : {index.query, index.key})
    work.backward_weight.push_back(weight_gradient(linear, cut.tokens * index.part, cut.sharding));
}

void count_indexer(LayerWork& work, const Cut& cut) {
  const Indexer index = indexer(cut);
  double parameters = 0;
  for (const Linear& linear : {index.query, index.key}) parameters += linear.in * linear.out;
  // Of the key's norm scale and shift, of an entry's the scale.
  parameters += index.pooled > 0 ? index.size + index.of_places : 2 * index.size;
  work.parameters += index.part * parameters;
  const double key = index.pooled > 0 ? index.pooled + index.size / cut.ratio : index.size;
  const double kept = index.heads * index.size + key + index.heads;
  work.activations += Bytes(cut.tokens * index.part * (kept * cut.element + index.most * kPlaceBytes));
}

double shared_key(const TransformerShape& shape) { return shape.kv_lora_rank + shape.qk_rope_head_dim; }

double indexer_products(const TransformerShape& shape) {
  const auto products = [&](double heads, double size, double key) {
    const Linear query = index_query(shape, heads, size), keys = index_key(shape, heads, key);
    return query.in * query.out + keys.in * keys.out;
  };
  if (const auto& compressed = shape.compressed_attention)
    return products(compressed->indexer_heads, compressed->indexer_head_dim, pooled_to_key(*compressed));
  const SparseAttentionShape& sparse = *shape.sparse_attention;
  return products(sparse.indexer_heads, sparse.indexer_head_dim, sparse.indexer_head_dim) / sparse.layers_per_indexer;
}

}  // namespace workload
}  // namespace stepcast
