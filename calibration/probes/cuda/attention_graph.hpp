#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "calibration/probes/cuda/cudnn.hpp"

namespace stepcast::probes {

/// Sizes of the attention of one layer, softmax(Q·Kᵀ / √size)·V, over packed sequences.
struct AttentionShape {
  std::int64_t batch = 0, heads = 0, key_heads = 0, tokens = 0, head_size = 0;
  bool causal = false;
  std::string precision;  ///< fp16 or bf16
};

/// What a plan finds in memory, by the number that its graph knows it by.
enum class AttentionTensor : std::int64_t {
  queries = 1,
  keys,
  values,
  result,
  statistics,  ///< ln Σ exp of the scores of each query, which the backward pass takes
  result_gradient,
  query_gradient,
  key_gradient,
  value_gradient,
  row_sums,    ///< fp32: of each query, the sum of its result times the result's gradient; kernels pass it on in memory
  query_sums,  ///< fp32, set to zero before each run: the query gradient is summed in it
  scale,       ///< 1 / √head size; this and what follows are numbers in host memory
  masked,      ///< what masked scores are
  kept,        ///< 1: the share that dropout keeps, which the row sums are multiplied by
};

/// Operations of fused attention and the graph of them, as the guide of cuDNN 9 composes it: products, scale, mask,
/// softmax with statistics, product; backward these again, and the gradients of each. Data between two operations never
/// reaches memory.
class AttentionGraph {
 public:
  /// Throws Fault (missing) where cuDNN does not take it. A graph of a library that is not started is of no device: it
  /// can be looked at, and not run.
  AttentionGraph(const Cudnn& library, const AttentionShape& shape, bool backward);
  [[nodiscard]] const CudnnDescriptor& graph() const { return descriptors_.back(); }
  /// The tensors that a run needs.
  [[nodiscard]] const std::vector<AttentionTensor>& tensors() const { return tensors_; }

 private:
  using Node = const CudnnDescriptor*;
  using Sizes = std::vector<std::int64_t>;
  Node tensor(std::int64_t number, int type, const Sizes& sizes, const Sizes& strides, bool is_virtual, bool by_value);
  Node in_memory(AttentionTensor which, int type, const Sizes& sizes, const Sizes& strides);
  /// Tensors in memory by their sizes; `turned`: keys or values with tokens and head size exchanged, which is how cuDNN
  /// takes K (and backward V, too) transposed: a matter of sizes and strides alone.
  Node like_queries(AttentionTensor which);
  Node like_keys(AttentionTensor which);
  Node turned_keys(AttentionTensor which);
  Node of_each_query(AttentionTensor which);
  Node constant(AttentionTensor which);
  Node between(int type, const Sizes& sizes, const Sizes& strides);
  /// A score of each query and key; `flipped`: keys by queries.
  Node scores(int type, bool flipped = false);
  Node each_query();

  void pointwise(int mode, Node x, Node b, Node y, Node t = nullptr, std::int64_t axis = -1);
  void reduce(int kind, Node x, Node y);
  void multiply(Node a, Node b, Node c);
  void reshape(Node x, Node y);
  /// Scaled and masked scores of queries and keys.
  Node masked_scores(Node queries, Node keys, Node scale);
  /// Product over the queries, summed over the heads that share a key head.
  void product_of_key_heads(Node scores, Node x, Node y);
  void forward();
  void backward();

  const Cudnn& library_;
  AttentionShape shape_;
  int type_;
  Sizes of_queries_, of_keys_;
  std::int64_t numbers_ = 100;  ///< of tensors between operations
  std::deque<CudnnDescriptor> descriptors_;
  std::vector<Node> operations_;
  std::vector<AttentionTensor> tensors_;
};

}  // namespace stepcast::probes
