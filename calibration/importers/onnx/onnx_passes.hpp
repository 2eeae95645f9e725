#pragma once

#include <optional>

#include "calibration/importers/onnx/onnx_graph.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

/// Elements that an operator without a product of matrices reads and writes, and in how many kernels.
struct OnnxTraffic {
  double forward = 0, backward = 0;  ///< elements, of 16 bit where widths count
  int kernels = 0;                   ///< of the forward pass
  bool known = true;                 ///< false: an operator that has no rule here
  /// Beside these: what a kernel that finds each element's place for itself reads and writes forward, and as much
  /// backward.
  std::optional<ElementKernelKind> kind;
  double by_element = 0;
};

/// How many 16-bit elements one element of each value is worth under PyTorch's automatic mixed precision: 2 where it is
/// in fp32, behind norms (but batch norms), softmax, powers and sums, and what these meet; 1 behind products.
std::map<std::string, double> mixed_precision_widths(const OnnxGraph& graph);

/// Whether an operator multiplies matrices, convolves or steps through a recurrence.
bool is_product(const OnnxNode& node);

/// The traffic of an operator in eager PyTorch, one kernel each; `widths` empty: every element counts one. Of products:
/// the casts of what they take in fp32.
OnnxTraffic traffic_of(const OnnxGraph& graph, const OnnxNode& node, const std::map<std::string, double>& widths);

/// Elements that are added up backward where several operators take a value: three for each beyond the first.
double branch_gradients(const OnnxGraph& graph, const std::map<std::string, double>& widths);

}  // namespace stepcast
