#include "calibration/importers/onnx/onnx_passes.hpp"

#include <algorithm>
#include <array>

namespace stepcast {

namespace {

using Widths = std::map<std::string, double>;

enum class Rule {
  none,       ///< a view, or of sizes and indices: nothing moves
  norm,       ///< statistics are read first
  unary,      ///< its gradient reads what it got or gave, too; norms that hold a row at once
  move,       ///< what goes in and what comes out, both ways: copies, means, factors that are constants
  place,      ///< the same, by kernels that find the place of each element
  add,        ///< gradients pass
  multiply,   ///< each side's gradient reads the other
  slice,      ///< a view whose gradient is written into zeros
  transpose,  ///< a view that is copied where other sizes ask for it
  look_up,    ///< rows of a table
};

struct Named {
  std::string_view kind;
  Rule rule;
};

// Passes of batch norm and ReLU are those of the layer tables (models/workload/cnn.cpp), those of layer norm and
// softmax as in transformers (docs/models/workload.md).
constexpr std::array kRules{
    Named{"BatchNormalization", Rule::norm},
    Named{"InstanceNormalization", Rule::norm},
    Named{"GroupNormalization", Rule::norm},
    Named{"LayerNormalization", Rule::unary},
    Named{"SimplifiedLayerNormalization", Rule::unary},
    Named{"RMSNormalization", Rule::unary},
    Named{"LpNormalization", Rule::unary},
    Named{"LRN", Rule::norm},
    Named{"Softmax", Rule::unary},
    Named{"LogSoftmax", Rule::unary},
    Named{"Relu", Rule::unary},
    Named{"LeakyRelu", Rule::unary},
    Named{"PRelu", Rule::unary},
    Named{"Elu", Rule::unary},
    Named{"Selu", Rule::unary},
    Named{"Celu", Rule::unary},
    Named{"Clip", Rule::unary},
    Named{"Sigmoid", Rule::unary},
    Named{"HardSigmoid", Rule::unary},
    Named{"HardSwish", Rule::unary},
    Named{"Silu", Rule::unary},
    Named{"Swish", Rule::unary},
    Named{"Gelu", Rule::unary},
    Named{"Mish", Rule::unary},
    Named{"Softplus", Rule::unary},
    Named{"Softsign", Rule::unary},
    Named{"Tanh", Rule::unary},
    Named{"Erf", Rule::unary},
    Named{"Exp", Rule::unary},
    Named{"Log", Rule::unary},
    Named{"Sqrt", Rule::unary},
    Named{"Reciprocal", Rule::unary},
    Named{"Abs", Rule::unary},
    Named{"Sin", Rule::unary},
    Named{"Cos", Rule::unary},
    Named{"Pow", Rule::unary},
    Named{"Max", Rule::multiply},
    Named{"Min", Rule::multiply},
    Named{"Neg", Rule::move},
    Named{"Dropout", Rule::move},
    Named{"Where", Rule::move},
    Named{"Trilu", Rule::move},
    Named{"Add", Rule::add},
    Named{"Sub", Rule::add},
    Named{"Sum", Rule::add},
    Named{"Mul", Rule::multiply},
    Named{"Div", Rule::multiply},
    Named{"MaxPool", Rule::place},
    Named{"AveragePool", Rule::place},
    Named{"LpPool", Rule::place},
    Named{"GlobalAveragePool", Rule::move},
    Named{"GlobalMaxPool", Rule::move},
    Named{"ReduceMean", Rule::move},
    Named{"ReduceSum", Rule::move},
    Named{"ReduceMax", Rule::move},
    Named{"ReduceMin", Rule::move},
    Named{"ReduceL1", Rule::move},
    Named{"ReduceL2", Rule::move},
    Named{"ReduceLogSumExp", Rule::move},
    Named{"CumSum", Rule::move},
    Named{"TopK", Rule::move},
    Named{"Resize", Rule::place},
    Named{"Upsample", Rule::place},
    Named{"GridSample", Rule::move},
    Named{"RoiAlign", Rule::move},
    Named{"Pad", Rule::place},
    Named{"DepthToSpace", Rule::place},
    Named{"SpaceToDepth", Rule::place},
    Named{"Tile", Rule::move},
    Named{"ScatterND", Rule::move},
    Named{"ScatterElements", Rule::move},
    Named{"Concat", Rule::move},
    Named{"Slice", Rule::slice},
    Named{"Split", Rule::slice},
    Named{"Transpose", Rule::transpose},
    Named{"Gather", Rule::look_up},
    Named{"GatherElements", Rule::look_up},
    Named{"GatherND", Rule::look_up},
    Named{"Identity", Rule::none},
    Named{"Reshape", Rule::none},
    Named{"Flatten", Rule::none},
    Named{"Squeeze", Rule::none},
    Named{"Unsqueeze", Rule::none},
    Named{"Expand", Rule::none},
    Named{"Cast", Rule::none},
    Named{"CastLike", Rule::none},
    Named{kRoll, Rule::place},
    Named{kInsideAttention, Rule::none},
};

constexpr std::array kProducts{"Conv",   "ConvTranspose", "Gemm", "MatMul", kAttentionScores,
                               "Einsum", "LSTM",          "GRU",  "RNN"};

/// What automatic mixed precision computes in fp32 (torch/csrc's autocast lists, PyTorch's documentation "CUDA ops that
/// autocast to float32"); `casts`: by a kernel before it.
struct Widened {
  std::string_view kind;
  bool casts;
};
constexpr std::array kWidened{Widened{"LayerNormalization", true},
                              Widened{"InstanceNormalization", true},
                              Widened{"GroupNormalization", true},
                              Widened{"Softmax", false},
                              Widened{"LogSoftmax", false},
                              Widened{"Exp", true},
                              Widened{"Log", true},
                              Widened{"Pow", true},
                              Widened{"Reciprocal", true},
                              Widened{"Softplus", true},
                              Widened{"ReduceSum", false},
                              Widened{"CumSum", true}};

const Widened* widened(const OnnxNode& node) {
  const auto* at = std::find_if(kWidened.begin(), kWidened.end(), [&](const Widened& w) { return node.is(w.kind); });
  return at == kWidened.end() ? nullptr : at;
}

/// Elements of a value, each counted by its width.
class Measure {
 public:
  Measure(const OnnxGraph& graph, const Widths& widths) : graph_(graph), widths_(widths) {}
  [[nodiscard]] double width(const std::string& name) const {
    const auto at = widths_.find(name);
    return at == widths_.end() ? 1 : at->second;
  }
  [[nodiscard]] double of(const std::string& name) const { return graph_.value(name).elements() * width(name); }
  /// Of what goes in beside weights, constants and indices.
  [[nodiscard]] double inputs(const OnnxNode& node) const {
    double sum = 0;
    for (const std::string& input : node.inputs)
      if (graph_.value(input).is_activation()) sum += of(input);
    return sum;
  }
  [[nodiscard]] double output(const OnnxNode& node) const { return of(node.outputs[0]); }
  /// A kernel that turns a value into another width, and back for its gradient.
  [[nodiscard]] OnnxTraffic cast(const std::string& name, double to) const {
    const double elements = graph_.value(name).elements();
    const double moved = elements * (width(name) + to);
    // Nothing asks for the gradient of what the network is given.
    return {moved, graph_.giver(name) == nullptr ? 0 : moved, 1, true};
  }

 private:
  const OnnxGraph& graph_;
  const Widths& widths_;
};

ElementKernelKind place_kind(const OnnxNode& node) {
  if (node.is("MaxPool")) return ElementKernelKind::max_pool;
  if (node.is("AveragePool") || node.is("LpPool")) return ElementKernelKind::average_pool;
  if (node.is(kRoll)) return ElementKernelKind::roll;
  if (!node.is("Resize") && !node.is("Upsample")) return ElementKernelKind::strided;
  return node.text("mode", "nearest") == "nearest" ? ElementKernelKind::nearest_resize
                                                   : ElementKernelKind::linear_resize;
}

/// `elements` forward and backward by a kernel that finds the place of each.
OnnxTraffic placed(ElementKernelKind kind, double elements) {
  OnnxTraffic traffic;
  traffic.kernels = 1;
  traffic.kind = kind;
  traffic.by_element = elements;
  return traffic;
}

Rule rule_of(const OnnxNode& node, bool& known) {
  const auto* at = std::find_if(kRules.begin(), kRules.end(), [&](const Named& n) { return node.is(n.kind); });
  known = at != kRules.end();
  return known ? at->rule : Rule::none;
}

/// Factors and terms. The gradient of a side reads the one that came, and of a factor the other side too, and is as
/// large as the side itself; of a term of the result's own size it is the one that came. Constants have none.
OnnxTraffic two_sided(const OnnxGraph& graph, const OnnxNode& node, const Measure& measure, bool multiplies) {
  const double out = measure.output(node), in = measure.inputs(node);
  OnnxTraffic traffic{in + out, 0, 1, true};
  bool repeats = false;
  for (const std::string& input : node.inputs) {
    const OnnxValue& side = graph.value(input);
    if (side.constant || !side.real) continue;
    const double own = side.weight ? 0 : measure.of(input);
    const bool summed = side.elements() < graph.value(node.outputs[0]).elements();
    repeats = repeats || (summed && side.elements() > 1);
    if (multiplies)
      traffic.backward += out + in;
    else if (summed)
      traffic.backward += out + own;
  }
  if (!repeats) return traffic;
  // A factor that is repeated over the result: of the gradients one kernel repeats it again, or what it sums is.
  OnnxTraffic repeated = placed(ElementKernelKind::strided, traffic.forward);
  repeated.backward = std::max(0.0, traffic.backward - traffic.forward);
  return repeated;
}

/// The bias of a product that was written apart belongs to the product's kernel.
bool is_bias(const OnnxGraph& graph, const OnnxNode& node) {
  if (!node.is("Add") || node.inputs.size() != 2) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const OnnxValue& bias = graph.value(node.inputs[i]);
    const OnnxNode* giver = graph.giver(node.inputs[1 - i]);
    if (bias.weight && bias.sizes.size() == 1 && giver != nullptr && is_product(*giver)) return true;
  }
  return false;
}

/// Views are laid out anew where other sizes, or rows, are read from them.
bool is_copied(const OnnxGraph& graph, const OnnxNode& transpose) {
  const OnnxNode* next = graph.only_taker(transpose.outputs[0]);
  return next != nullptr && (next->is("Reshape") || next->is("Flatten") || next->is("LayerNormalization"));
}

/// Exporters pad in front of an average that pads for itself, mostly by nothing.
bool is_part_of_average(const OnnxGraph& graph, const OnnxNode& pad) {
  const OnnxNode* next = graph.only_taker(pad.outputs[0]);
  return pad.is("Pad") && next != nullptr && next->is("AveragePool");
}

OnnxTraffic by_rule(const OnnxGraph& graph, const OnnxNode& node, const Measure& measure, Rule rule) {
  const double in = measure.inputs(node), out = measure.output(node);
  switch (rule) {
    case Rule::none:
      return {};
    case Rule::norm:
      return {2 * in + out, 3 * in + 2 * out, 1, true};
    case Rule::unary:
      return {in + out, in + 2 * out, 1, true};
    case Rule::move:
      return {in + out, in + out, 1, true};
    case Rule::place:
      return is_part_of_average(graph, node) ? OnnxTraffic{} : placed(place_kind(node), in + out);
    case Rule::add:
      return two_sided(graph, node, measure, false);
    case Rule::multiply:
      return two_sided(graph, node, measure, true);
    case Rule::slice:
      return {0, in + out, 0, true};
    case Rule::transpose:
      return is_copied(graph, node) ? placed(ElementKernelKind::strided, in + out) : OnnxTraffic{};
    case Rule::look_up:
      return {2 * out, 2 * out, 1, true};
  }
  return {};
}

OnnxTraffic operator+(OnnxTraffic a, const OnnxTraffic& b) {
  a.forward += b.forward;
  a.backward += b.backward;
  a.kernels += b.kernels;
  return a;
}

}  // namespace

bool is_product(const OnnxNode& node) {
  return std::any_of(kProducts.begin(), kProducts.end(), [&](const char* kind) { return node.is(kind); });
}

std::map<std::string, double> mixed_precision_widths(const OnnxGraph& graph) {
  constexpr double kHalf = 1, kSingle = 2;
  Widths widths;
  for (const std::string& input : graph.inputs) widths[input] = kSingle;
  for (const auto& [name, tensor] : graph.weights()) widths[name] = kSingle;
  for (const OnnxNode& node : graph.nodes) {
    double width = kHalf;
    if (widened(node) != nullptr) width = kSingle;
    // Autocast narrows what PReLU takes, as products' operands.
    const bool narrows = is_product(node) || is_bias(graph, node) || node.is("PRelu");
    if (!narrows && width < kSingle)
      for (const std::string& input : node.inputs) {
        const bool statistics = node.is("BatchNormalization") && input != node.inputs[0];
        const OnnxValue& value = graph.value(input);
        if (value.weight ? !statistics : value.is_activation() && widths[input] == kSingle) width = kSingle;
      }
    for (const std::string& output : node.outputs) widths[output] = width;
  }
  return widths;
}

OnnxTraffic traffic_of(const OnnxGraph& graph, const OnnxNode& node, const Widths& widths) {
  const Measure measure(graph, widths);
  const bool mixed = !widths.empty();
  if (is_product(node)) {
    OnnxTraffic casts;
    for (const std::string& input : node.inputs)
      if (mixed && graph.value(input).is_activation() && measure.width(input) > 1)
        casts = casts + measure.cast(input, 1);
    return casts;
  }
  bool known = true;
  const Rule rule = rule_of(node, known);
  const bool moves = !node.outputs.empty() && graph.value(node.outputs[0]).is_activation();
  if (!known) return {0, 0, 0, !moves};
  if (!moves || is_bias(graph, node)) return {};
  OnnxTraffic traffic = by_rule(graph, node, measure, rule);
  const Widened* wide = widened(node);
  if (mixed && wide != nullptr && wide->casts && measure.width(node.inputs[0]) < 2) {
    traffic.forward += graph.value(node.inputs[0]).elements();
    traffic.backward += graph.value(node.inputs[0]).elements();
    traffic = traffic + measure.cast(node.inputs[0], 2);
  }
  return traffic;
}

double branch_gradients(const OnnxGraph& graph, const Widths& widths) {
  const Measure measure(graph, widths);
  double sum = 0;
  const auto count = [&](const std::string& name) {
    const int takers = graph.takers(name);
    if (takers > 1 && graph.value(name).is_activation()) sum += 3.0 * (takers - 1) * measure.of(name);
  };
  for (const OnnxNode& node : graph.nodes)
    for (const std::string& output : node.outputs) count(output);
  return sum;
}

}  // namespace stepcast
