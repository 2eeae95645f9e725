#pragma once

#include "models/workload/steps.hpp"

// Hyper-connections (Zhu et al. 2024, arXiv 2409.19606; constrained to a manifold, Xie et al. 2025, arXiv 2512.24880,
// as DeepSeek-V4 has them): the residual stream is TransformerShape::residual_streams streams. Before a half its input
// is a weighted sum of them; behind it they are mixed with one another, and its result is added to each. All weights of
// a token come from its streams, by one product for n + n + n² of them (the rounds that make the n² doubly stochastic
// stay in registers).
namespace stepcast::workload {

/// Weights of a token, and the product of all streams that gives them.
double stream_mappings(const TransformerShape& shape);
double stream_mapping_products(const TransformerShape& shape);

/// A half's input from the streams, in front of its norm, and what its backward pass keeps.
void add_stream_input(LayerWork& work, const Cut& cut);
void add_stream_input_backward(LayerWork& work, const Cut& cut);
/// The streams behind a half, in place of a sum; `mask`: bytes of the dropout mask that the kernel writes.
void add_stream_output(LayerWork& work, const Cut& cut, double mask);
void add_stream_output_backward(LayerWork& work, const Cut& cut);

/// The first stream copied to the others behind the embedding, and what comes back summed.
void add_stream_copies(LayerWork& work, const Cut& cut);
/// One hidden state from the streams in front of the last norm: a weighted sum whose weights are of its own product.
void add_stream_head(LayerWork& work, const Cut& cut);
void add_stream_head_backward(LayerWork& work, const Cut& cut);
double stream_head_parameters(const TransformerShape& shape);

}  // namespace stepcast::workload
