#include "calibration/importers/onnx/onnx_products.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace stepcast {

namespace {

double product(const std::vector<double>& sizes, std::size_t from = 0) {
  double out = 1;
  for (std::size_t i = from; i < sizes.size(); ++i) out *= sizes[i];
  return out;
}

bool all_ones(const std::vector<double>& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [](double size) { return size == 1; });
}

/// As rows of layer tables are sorted (models/workload/cnn.cpp).
ConvolutionKind kind_of(const OnnxNode& node, const std::vector<double>& window, double groups, double in_channels) {
  if (groups > 1) return groups == in_channels ? ConvolutionKind::depthwise : ConvolutionKind::grouped;
  if (all_ones(window)) return ConvolutionKind::pointwise;
  const bool square = window.size() == 2 && window[0] == window[1] && (window[0] == 3 || window[0] == 5);
  const bool plain = all_ones(node.numbers("strides")) && all_ones(node.numbers("dilations"));
  return square && plain && node.is("Conv") ? ConvolutionKind::three_by_three : ConvolutionKind::window;
}

/// cuDNN's grouped kernels are built for groups as wide as powers of two. Of others each group is a convolution of its
/// own between copies: traces of RegNetX-3.2GF and RegNetY-8GF (48 and 56 channels a group) on one H100.
bool runs_group_by_group(double width) {
  const auto whole = static_cast<long>(width);
  return (whole & (whole - 1)) != 0;
}

/// Weights are [out, in ÷ groups, window…]; of a transposed convolution [in, out ÷ groups, window…], each input
/// position of which meets the whole window.
std::optional<OnnxProduct> convolution(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.inputs.size() < 2) return {};
  const OnnxValue &in = graph.value(node.inputs[0]), &weights = graph.value(node.inputs[1]),
                  &out = graph.value(node.outputs[0]);
  if (!in.known || !weights.known || !out.known || weights.sizes.size() < 3 || in.sizes.size() < 2) return {};
  const bool transposed = node.is("ConvTranspose");
  const double groups = node.number("group", 1);
  const std::vector<double> window(weights.sizes.begin() + 2, weights.sizes.end());
  OnnxProduct result;
  result.flops = 2 * (transposed ? in : out).elements() * weights.sizes[1] * product(window);
  result.elements = out.elements();
  result.convolves = true;
  result.convolution = kind_of(node, window, groups, in.sizes[1]);
  result.channels = (transposed ? weights.sizes[1] * groups : weights.sizes[0]) / groups;
  if (result.convolution == ConvolutionKind::grouped && runs_group_by_group(result.channels)) {
    result.convolution = kind_of(node, window, 1, in.sizes[1]);
    result.single_groups = static_cast<int>(groups);
    result.sliced = 2 * (in.elements() + out.elements());
  }
  return result;
}

/// The last size of the first side is what is summed over; Gemm may transpose it.
std::optional<OnnxProduct> matrices(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.inputs.size() < 2) return {};
  const OnnxValue &a = graph.value(node.inputs[0]), &b = graph.value(node.inputs[1]),
                  &out = graph.value(node.outputs[0]);
  if (!out.known || (!a.known && !b.known)) return {};
  const bool turned_a = node.number("transA", 0) == 1, turned_b = node.number("transB", 0) == 1;
  double depth = 0;
  if (a.known && !a.sizes.empty())
    depth = turned_a ? a.sizes.front() : a.sizes.back();
  else if (b.sizes.size() > 1)
    depth = turned_b ? b.sizes.back() : b.sizes[b.sizes.size() - 2];
  if (depth <= 0) return {};
  OnnxProduct result;
  result.flops = 2 * out.elements() * depth;
  result.elements = node.is(kAttentionScores) ? 0 : out.elements();
  result.weighted = a.weight || b.weight;
  return result;
}

/// Every letter of an equation is a size; one multiply-add for each combination.
std::optional<OnnxProduct> einsum(const OnnxGraph& graph, const OnnxNode& node) {
  const std::string equation = node.attributes.value("equation", "");
  std::map<char, double> sizes;
  std::size_t operand = 0, axis = 0;
  for (const char letter : equation.substr(0, equation.find("->"))) {
    if (letter == ',') {
      ++operand;
      axis = 0;
    } else if (letter != ' ') {
      if (operand >= node.inputs.size()) return {};
      const OnnxValue& value = graph.value(node.inputs[operand]);
      if (letter == '.' || !value.known || axis >= value.sizes.size()) return {};
      sizes[letter] = value.sizes[axis++];
    }
  }
  const OnnxValue& out = graph.value(node.outputs[0]);
  if (sizes.empty() || !out.known) return {};
  OnnxProduct result;
  result.flops = 2;
  for (const auto& [letter, size] : sizes) result.flops *= size;
  result.elements = out.elements();
  result.weighted = std::any_of(node.inputs.begin(), node.inputs.end(),
                                [&](const std::string& name) { return graph.value(name).weight; });
  return result;
}

/// Weights are [directions, gates · hidden, in] and [directions, gates · hidden, hidden]; each meets every step.
std::optional<OnnxProduct> recurrence(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.inputs.size() < 3) return {};
  const OnnxValue &in = graph.value(node.inputs[0]), &of_input = graph.value(node.inputs[1]),
                  &of_state = graph.value(node.inputs[2]);
  if (!in.known || in.sizes.size() != 3 || !of_input.known || !of_state.known || of_state.sizes.size() != 3) return {};
  const double steps = in.sizes[node.number("layout", 0) == 1 ? 1 : 0];
  const double rows = in.sizes[0] * in.sizes[1];
  OnnxProduct result;
  result.flops = 2 * rows * (of_input.elements() + of_state.elements());
  result.elements = rows * of_state.sizes[0] * of_state.sizes[1];
  result.steps = static_cast<int>(steps);
  return result;
}

}  // namespace

std::optional<OnnxProduct> product_of(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.outputs.empty()) return {};
  if (node.is("Conv") || node.is("ConvTranspose")) return convolution(graph, node);
  if (node.is("Gemm") || node.is("MatMul") || node.is(kAttentionScores)) return matrices(graph, node);
  if (node.is("Einsum")) return einsum(graph, node);
  return recurrence(graph, node);
}

}  // namespace stepcast
