#pragma once

#include <optional>

#include "calibration/importers/onnx/onnx_graph.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

/// A product of matrices, convolution or recurrence of an ONNX graph.
struct OnnxProduct {
  double flops = 0;     ///< of the forward pass, a multiply-add counted as two
  double elements = 0;  ///< that it gives and stores
  bool convolves = false;
  ConvolutionKind convolution = ConvolutionKind::window;
  double channels = 0;  ///< of a convolution's results; of grouped ones, of a group of theirs
  int steps = 1;        ///< of a recurrence, one after another
  /// Of a grouped convolution whose groups run one by one: how many, and the elements that are cut out of its input and
  /// put into its result (both read and written).
  int single_groups = 0;
  double sliced = 0;
  bool weighted = true;  ///< false: both sides are activations, as scores of attention
};

/// What an operator multiplies; null where its sizes are not known, or it multiplies nothing.
std::optional<OnnxProduct> product_of(const OnnxGraph& graph, const OnnxNode& node);

}  // namespace stepcast
