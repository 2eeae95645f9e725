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
        .field("indexer_head_dim", &S::indexer_head_dim, "size of such a head, and of the one key a token", size);
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
  double picked;  ///< tokens that a query attends to on average
  double scored;  ///< tokens before a query on average
};

Indexer indexer(const Cut& cut) {
  const SparseAttentionShape& sparse = *cut.shape.sparse_attention;
  const double heads = sparse.indexer_heads, size = sparse.indexer_head_dim;
  const double latent = cut.shape.q_lora_rank > 0 ? cut.shape.q_lora_rank : cut.hidden;
  const double scored = cut.causal ? cut.sequence / 2 : cut.sequence;
  return {{"index_query", "index_query_dgrad", "index_query_wgrad", latent, heads * size},
          {"index_key", "index_key_dgrad", "index_key_wgrad", cut.hidden, size + heads},
          heads,
          size,
          cut.seen > 0 ? cut.seen : scored,
          scored};
}

/// A kernel over pairs of a query and a key, on the matrix unit as attention's.
LayerStep pairs(std::string_view name, double keys, double heads, double size, double products, const Cut& cut) {
  LayerStep step;
  Operator& op = step.op;
  op.name = name;
  op.kind = OperatorKind::attention;
  op.m = cut.local_sequence;
  op.n = keys;
  op.k = size;
  op.batch = cut.micro_batch * heads;
  op.flops = Flops(2 * products * op.batch * op.m * op.n * size);
  op.bytes = Bytes(cut.element * cut.micro_batch * size * (op.m * heads + cut.sequence));
  return step;
}

}  // namespace

void add_indexer(Steps& steps, const Cut& cut) {
  const Indexer index = indexer(cut);
  for (const Linear& linear : {index.query, index.key})
    steps.push_back(forward_product(linear, cut.tokens, cut.element));
  steps.push_back(pairs("index_scores", index.scored, index.heads, index.size, 1, cut));
  steps.push_back(counted_memory("index_select", kIndexScoreBytes * cut.tokens * index.scored));
}

void add_indexer_backward(LayerWork& work, const Cut& cut) {
  const Indexer index = indexer(cut);
  // What attention gave the picked tokens, over its heads; gradients of queries and keys of the scores.
  work.backward_weight.push_back(pairs("index_target", index.picked, cut.heads, shared_key(cut.shape), 1, cut));
  work.backward_weight.push_back(pairs("index_scores_backward", index.picked, index.heads, index.size, 2, cut));
  for (const Linear& linear : {index.query, index.key})
    work.backward_weight.push_back(weight_gradient(linear, cut.tokens, cut.sharding));
}

void count_indexer(LayerWork& work, const Cut& cut) {
  const Indexer index = indexer(cut);
  for (const Linear& linear : {index.query, index.key}) work.parameters += linear.in * linear.out;
  work.parameters += 2 * index.size;  // scale and shift of the key's norm
  const double kept = index.heads * index.size + index.size + index.heads;
  const double picked = std::min<double>(cut.shape.sparse_attention->tokens, cut.sequence);
  work.activations += Bytes(cut.tokens * (kept * cut.element + picked * kPlaceBytes));
}

double shared_key(const TransformerShape& shape) { return shape.kv_lora_rank + shape.qk_rope_head_dim; }

double indexer_products(const TransformerShape& shape) {
  const SparseAttentionShape& sparse = *shape.sparse_attention;
  const double latent = shape.q_lora_rank > 0 ? shape.q_lora_rank : shape.hidden;
  return latent * sparse.indexer_heads * sparse.indexer_head_dim +
         static_cast<double>(shape.hidden) * (sparse.indexer_head_dim + sparse.indexer_heads);
}

}  // namespace workload
}  // namespace stepcast
