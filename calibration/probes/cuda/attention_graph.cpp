#include "calibration/probes/cuda/attention_graph.hpp"

#include "calibration/probes/cuda/cudnn_numbers.hpp"

namespace stepcast::probes {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Strides of sizes whose elements lie without gaps, the last the densest.
Sizes packed(const Sizes& sizes) {
  Sizes strides(sizes.size(), 1);
  for (std::size_t i = sizes.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

}  // namespace

AttentionGraph::AttentionGraph(const Cudnn& library, const AttentionShape& shape, bool backward)
    : library_(library),
      shape_(shape),
      type_(shape.precision == "fp16" ? cudnn::kFloat16 : cudnn::kBfloat16),
      of_queries_{shape.batch, shape.heads, shape.tokens, shape.head_size},
      of_keys_{shape.batch, shape.key_heads, shape.tokens, shape.head_size} {
  if (backward)
    this->backward();
  else
    forward();
  CudnnDescriptor& graph = descriptors_.emplace_back(library_, cudnn::kGraph);
  if (library_.handle()) graph.set_pointers(cudnn::kGraphHandle, cudnn::kHandleValue, {library_.handle()});
  graph.set_descriptors(cudnn::kGraphOperations, operations_);
  graph.finish("a graph of fused attention");
}

AttentionGraph::Node AttentionGraph::tensor(std::int64_t number, int type, const Sizes& sizes, const Sizes& strides,
                                            bool is_virtual, bool by_value) {
  CudnnDescriptor& made = descriptors_.emplace_back(library_, cudnn::kTensor);
  made.set_choice(cudnn::kTensorType, cudnn::kDataTypeValue, type);
  made.set_integers(cudnn::kTensorSizes, sizes);
  made.set_integers(cudnn::kTensorStrides, strides);
  made.set_integers(cudnn::kTensorNumber, {number});
  made.set_integers(cudnn::kTensorAlignment, {16});
  made.set_flag(cudnn::kTensorVirtual, is_virtual);
  made.set_flag(cudnn::kTensorByValue, by_value);
  made.finish("describing a tensor");
  return &made;
}

AttentionGraph::Node AttentionGraph::in_memory(AttentionTensor which, int type, const Sizes& sizes,
                                               const Sizes& strides) {
  tensors_.push_back(which);
  return tensor(static_cast<std::int64_t>(which), type, sizes, strides, false, false);
}

AttentionGraph::Node AttentionGraph::like_queries(AttentionTensor which) {
  return in_memory(which, type_, of_queries_, packed(of_queries_));
}

AttentionGraph::Node AttentionGraph::like_keys(AttentionTensor which) {
  return in_memory(which, type_, of_keys_, packed(of_keys_));
}

AttentionGraph::Node AttentionGraph::turned_keys(AttentionTensor which) {
  Sizes sizes = of_keys_, strides = packed(of_keys_);
  std::swap(sizes[2], sizes[3]);
  std::swap(strides[2], strides[3]);
  return in_memory(which, type_, sizes, strides);
}

AttentionGraph::Node AttentionGraph::of_each_query(AttentionTensor which) {
  const Sizes sizes{shape_.batch, shape_.heads, shape_.tokens, 1};
  return in_memory(which, cudnn::kFloat32, sizes, packed(sizes));
}

AttentionGraph::Node AttentionGraph::constant(AttentionTensor which) {
  tensors_.push_back(which);
  return tensor(static_cast<std::int64_t>(which), cudnn::kFloat32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}

AttentionGraph::Node AttentionGraph::between(int type, const Sizes& sizes, const Sizes& strides) {
  return tensor(++numbers_, type, sizes, strides, true, false);
}

AttentionGraph::Node AttentionGraph::scores(int type, bool flipped) {
  const Sizes sizes{shape_.batch, shape_.heads, shape_.tokens, shape_.tokens};
  Sizes strides = packed(sizes);
  if (flipped) std::swap(strides[2], strides[3]);
  return between(type, sizes, strides);
}

AttentionGraph::Node AttentionGraph::each_query() {
  const Sizes sizes{shape_.batch, shape_.heads, shape_.tokens, 1};
  return between(cudnn::kFloat32, sizes, packed(sizes));
}

void AttentionGraph::pointwise(int mode, Node x, Node b, Node y, Node t, std::int64_t axis) {
  CudnnDescriptor& kind = descriptors_.emplace_back(library_, cudnn::kPointwise);
  kind.set_choice(cudnn::kPointwiseMode, cudnn::kPointwiseModeValue, mode);
  kind.set_choice(cudnn::kPointwisePrecision, cudnn::kDataTypeValue, cudnn::kFloat32);
  if (axis >= 0) kind.set_integers(cudnn::kPointwiseAxis, {axis});
  kind.finish("describing pointwise work");
  CudnnDescriptor& made = descriptors_.emplace_back(library_, cudnn::kPointwiseOperation);
  made.set_descriptors(cudnn::kPointwiseOf, {&kind});
  made.set_descriptors(cudnn::kPointwiseX, {x});
  if (b) made.set_descriptors(cudnn::kPointwiseB, {b});
  if (t) made.set_descriptors(cudnn::kPointwiseT, {t});
  made.set_descriptors(cudnn::kPointwiseY, {y});
  made.finish("describing pointwise work");
  operations_.push_back(&made);
}

void AttentionGraph::reduce(int kind, Node x, Node y) {
  CudnnDescriptor& described = descriptors_.emplace_back(library_, cudnn::kReduction);
  described.set_choice(cudnn::kReductionKind, cudnn::kReductionValue, kind);
  described.set_choice(cudnn::kReductionPrecision, cudnn::kDataTypeValue, cudnn::kFloat32);
  described.finish("describing a sum");
  CudnnDescriptor& made = descriptors_.emplace_back(library_, cudnn::kReductionOperation);
  made.set_descriptors(cudnn::kReductionOf, {&described});
  made.set_descriptors(cudnn::kReductionX, {x});
  made.set_descriptors(cudnn::kReductionY, {y});
  made.finish("describing a sum");
  operations_.push_back(&made);
}

void AttentionGraph::multiply(Node a, Node b, Node c) {
  CudnnDescriptor& kind = descriptors_.emplace_back(library_, cudnn::kProduct);
  kind.set_choice(cudnn::kProductPrecision, cudnn::kDataTypeValue, cudnn::kFloat32);
  kind.finish("describing a product");
  CudnnDescriptor& made = descriptors_.emplace_back(library_, cudnn::kProductOperation);
  made.set_descriptors(cudnn::kProductA, {a});
  made.set_descriptors(cudnn::kProductB, {b});
  made.set_descriptors(cudnn::kProductC, {c});
  made.set_descriptors(cudnn::kProductOf, {&kind});
  made.finish("describing a product");
  operations_.push_back(&made);
}

void AttentionGraph::reshape(Node x, Node y) {
  CudnnDescriptor& made = descriptors_.emplace_back(library_, cudnn::kReshapeOperation);
  made.set_descriptors(cudnn::kReshapeX, {x});
  made.set_descriptors(cudnn::kReshapeY, {y});
  made.finish("describing a transposition");
  operations_.push_back(&made);
}

AttentionGraph::Node AttentionGraph::masked_scores(Node queries, Node keys, Node scale) {
  Node products = scores(cudnn::kFloat32), scaled = scores(cudnn::kFloat32);
  multiply(queries, keys, products);
  pointwise(cudnn::kMultiply, products, scale, scaled);
  if (!shape_.causal) return scaled;
  Node row = scores(cudnn::kInt32), column = scores(cudnn::kInt32), seen = scores(cudnn::kBoolean),
       masked = scores(cudnn::kFloat32);
  pointwise(cudnn::kIndex, scaled, nullptr, row, nullptr, 2);
  pointwise(cudnn::kIndex, scaled, nullptr, column, nullptr, 3);
  pointwise(cudnn::kNotLess, row, column, seen);
  pointwise(cudnn::kSelect, scaled, constant(AttentionTensor::masked), masked, seen);
  return masked;
}

void AttentionGraph::product_of_key_heads(Node scores, Node x, Node y) {
  if (shape_.heads == shape_.key_heads) return multiply(scores, x, y);
  Node each = between(type_, of_queries_, packed(of_queries_));
  multiply(scores, x, each);
  reduce(cudnn::kSum, each, y);
}

void AttentionGraph::forward() {
  Node queries = like_queries(AttentionTensor::queries), keys = turned_keys(AttentionTensor::keys);
  Node values = like_keys(AttentionTensor::values), result = like_queries(AttentionTensor::result);
  Node statistics = of_each_query(AttentionTensor::statistics);
  Node score = masked_scores(queries, keys, constant(AttentionTensor::scale));
  Node largest = each_query(), sum = each_query(), logarithm = each_query();
  Node less = scores(cudnn::kFloat32), power = scores(cudnn::kFloat32), probability = scores(type_);
  reduce(cudnn::kLargest, score, largest);
  pointwise(cudnn::kSubtract, score, largest, less);
  pointwise(cudnn::kExponential, less, nullptr, power);
  reduce(cudnn::kSum, power, sum);
  pointwise(cudnn::kLogarithm, sum, nullptr, logarithm);
  pointwise(cudnn::kAdd, largest, logarithm, statistics);
  pointwise(cudnn::kDivide, power, sum, probability);
  multiply(probability, values, result);
}

void AttentionGraph::backward() {
  Node queries = like_queries(AttentionTensor::queries), keys = turned_keys(AttentionTensor::keys);
  Node values = turned_keys(AttentionTensor::values), result = like_queries(AttentionTensor::result);
  Node gradient = like_queries(AttentionTensor::result_gradient);
  Node statistics = of_each_query(AttentionTensor::statistics);
  Node query_gradient = like_queries(AttentionTensor::query_gradient);
  Node key_gradient = like_keys(AttentionTensor::key_gradient),
       value_gradient = like_keys(AttentionTensor::value_gradient);
  Node sums = in_memory(AttentionTensor::query_sums, cudnn::kFloat32, of_queries_, packed(of_queries_));
  Node scale = constant(AttentionTensor::scale);

  // Of each query, the sum of its result times the result's gradient.
  Node both = between(cudnn::kFloat32, of_queries_, packed(of_queries_)), sum = each_query(),
       of_query = of_each_query(AttentionTensor::row_sums);
  pointwise(cudnn::kMultiply, gradient, result, both);
  reduce(cudnn::kSum, both, sum);
  pointwise(cudnn::kMultiply, sum, constant(AttentionTensor::kept), of_query);

  // The probabilities again, and dV = Pᵀ·dO.
  Node score = masked_scores(queries, keys, scale);
  Node less = scores(cudnn::kFloat32), probability = scores(cudnn::kFloat32), turned = scores(type_, true);
  pointwise(cudnn::kSubtract, score, statistics, less);
  pointwise(cudnn::kExponential, less, nullptr, probability);
  reshape(probability, turned);
  product_of_key_heads(turned, gradient, value_gradient);

  // dS = P·(dO·Vᵀ − Σ)/√size, dK = dSᵀ·Q, dQ = dS·K.
  Node of_value = scores(cudnn::kFloat32), apart = scores(cudnn::kFloat32), of_score = scores(cudnn::kFloat32),
       scaled = scores(type_), scaled_turned = scores(type_, true);
  multiply(gradient, values, of_value);
  pointwise(cudnn::kSubtract, of_value, of_query, apart);
  pointwise(cudnn::kMultiply, apart, probability, of_score);
  pointwise(cudnn::kMultiply, of_score, scale, scaled);
  reshape(scaled, scaled_turned);
  product_of_key_heads(scaled_turned, queries, key_gradient);
  Node keys_again = between(type_, of_keys_, packed(of_keys_));
  reshape(keys, keys_again);
  multiply(scaled, keys_again, sums);
  pointwise(cudnn::kIdentity, sums, nullptr, query_gradient);
}

}  // namespace stepcast::probes
