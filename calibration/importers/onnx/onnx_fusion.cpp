#include <algorithm>
#include <array>
#include <optional>

#include "calibration/importers/onnx/onnx_graph.hpp"

// Exporters write as several operators what PyTorch computes in one kernel.
namespace stepcast {

namespace {

using Nodes = std::vector<const OnnxNode*>;

/// The input of a two-sided operator that is not `one`, or "" when `one` is not among them.
std::string other_input(const OnnxNode& node, const std::string& one) {
  if (node.inputs.size() != 2) return "";
  if (node.inputs[0] == one) return node.inputs[1];
  return node.inputs[1] == one ? node.inputs[0] : "";
}

const OnnxNode* giver_of_kind(const OnnxGraph& graph, const std::string& name, std::string_view kind) {
  const OnnxNode* node = graph.giver(name);
  return node != nullptr && node->is(kind) ? node : nullptr;
}

/// The operator of this kind that alone takes a node's result, with a weight or a constant as its other side.
const OnnxNode* next_with(const OnnxGraph& graph, const OnnxNode& node, std::string_view kind,
                          bool OnnxValue::*other_side) {
  const OnnxNode* next = graph.only_taker(node.outputs[0]);
  if (next == nullptr || !next->is(kind)) return nullptr;
  const std::string other = other_input(*next, node.outputs[0]);
  return !other.empty() && graph.value(other).*other_side ? next : nullptr;
}

/// (x − mean) ÷ √(variance + ε), and its gains and shifts: the chain that ends in this Div.
std::optional<Nodes> layer_norm_of(const OnnxGraph& graph, const OnnxNode& div) {
  if (!div.is("Div") || div.inputs.size() != 2) return {};
  const OnnxNode* sub = giver_of_kind(graph, div.inputs[0], "Sub");
  const OnnxNode* root = giver_of_kind(graph, div.inputs[1], "Sqrt");
  if (sub == nullptr || root == nullptr) return {};
  const OnnxNode* mean = giver_of_kind(graph, sub->inputs.back(), "ReduceMean");
  const OnnxNode* sum = giver_of_kind(graph, root->inputs[0], "Add");
  if (mean == nullptr || sum == nullptr || mean->inputs[0] != sub->inputs[0]) return {};
  const OnnxNode* variance = giver_of_kind(graph, sum->inputs[0], "ReduceMean");
  if (variance == nullptr) variance = giver_of_kind(graph, sum->inputs.back(), "ReduceMean");
  if (variance == nullptr) return {};
  const OnnxNode* square = graph.giver(variance->inputs[0]);
  // The difference is written twice where an exporter shares nothing.
  const OnnxNode* from = square == nullptr ? nullptr : giver_of_kind(graph, square->inputs[0], "Sub");
  if (from == nullptr || from->inputs != sub->inputs) return {};
  Nodes chain{mean, sub, square, variance, sum, root, &div};
  if (from != sub) chain.push_back(from);
  if (const OnnxNode* gain = next_with(graph, div, "Mul", &OnnxValue::weight)) {
    chain.push_back(gain);
    if (const OnnxNode* shift = next_with(graph, *gain, "Add", &OnnxValue::weight)) chain.push_back(shift);
  }
  return chain;
}

/// x · ½ · (1 + erf(x ÷ √2)): the chain around this Erf, whichever factor comes first.
std::optional<Nodes> gelu_of(const OnnxGraph& graph, const OnnxNode& erf) {
  if (!erf.is("Erf")) return {};
  const OnnxNode* scaled = graph.giver(erf.inputs[0]);
  const OnnxNode* one = next_with(graph, erf, "Add", &OnnxValue::constant);
  if (scaled == nullptr || one == nullptr) return {};
  const std::string& x = scaled->inputs[0];
  const OnnxNode* product = graph.only_taker(one->outputs[0]);
  if (product == nullptr || !product->is("Mul")) return {};
  const std::string factor = other_input(*product, one->outputs[0]);
  const OnnxNode* half =
      factor == x ? next_with(graph, *product, "Mul", &OnnxValue::constant) : giver_of_kind(graph, factor, "Mul");
  if (half == nullptr || (factor != x && other_input(*half, x).empty())) return {};
  return Nodes{scaled, &erf, one, product, half};
}

/// x · σ(x): the product behind this sigmoid (SiLU; Hardswish where it is the hard one).
std::optional<Nodes> gate_of_itself(const OnnxGraph& graph, const OnnxNode& gate) {
  if (!gate.is("Sigmoid") && !gate.is("HardSigmoid")) return {};
  const OnnxNode* product = graph.only_taker(gate.outputs[0]);
  if (product == nullptr || !product->is("Mul")) return {};
  if (other_input(*product, gate.outputs[0]) != gate.inputs[0]) return {};
  return Nodes{&gate, product};
}

/// The two ends of one value in the other order: this Concat and its slices.
std::optional<Nodes> roll_of(const OnnxGraph& graph, const OnnxNode& concat) {
  if (!concat.is("Concat") || concat.inputs.size() != 2) return {};
  Nodes chain;
  for (const std::string& input : concat.inputs) {
    const OnnxNode* slice = giver_of_kind(graph, input, "Slice");
    if (slice == nullptr || graph.takers(input) != 1) return {};
    chain.push_back(slice);
  }
  const std::string& whole = chain[0]->inputs[0];
  if (chain[1]->inputs[0] != whole || chain[0] == chain[1]) return {};
  if (graph.value(whole).elements() != graph.value(concat.outputs[0]).elements()) return {};
  chain.push_back(&concat);
  return chain;
}

/// What one kernel takes of a chain: what none of its operators gives.
OnnxNode kernel_of(const Nodes& chain, std::string_view kind, const std::string& input) {
  OnnxNode kernel;
  kernel.kind = kind;
  kernel.name = chain.front()->name;
  kernel.inputs = {input};
  kernel.attributes = Json::object();
  return kernel;
}

struct Found {
  Nodes chain;
  std::string_view kind;
  std::string input;
};

std::optional<Found> found_at(const OnnxGraph& graph, const OnnxNode& node) {
  if (auto chain = layer_norm_of(graph, node)) return Found{*chain, "LayerNormalization", chain->front()->inputs[0]};
  if (auto chain = gelu_of(graph, node)) return Found{*chain, "Gelu", chain->front()->inputs[0]};
  if (auto chain = gate_of_itself(graph, node)) return Found{*chain, "Silu", chain->front()->inputs[0]};
  if (auto chain = roll_of(graph, node)) return Found{*chain, kRoll, chain->front()->inputs[0]};
  return {};
}

/// What stands between the two products of attention beside softmax.
bool is_inside_attention(const OnnxNode& node) {
  constexpr std::array kInside{"Mul", "Div", "Add", "Where", "Cast", "Dropout", "Identity", "Reshape"};
  return std::any_of(kInside.begin(), kInside.end(), [&](const char* kind) { return node.is(kind); });
}

/// A trained bias on scores needs them stored for its gradient, and networks that have one write attention out (Swin,
/// MaxViT, T5).
bool adds_trained_bias(const OnnxGraph& graph, const OnnxNode& node) {
  return node.is("Add") && std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](const std::string& input) { return graph.value(input).weight; });
}

/// Product of queries and keys, what is done to its scores, softmax, and what is done to its weights: from the first
/// product to the last operator before the second. Empty where something else takes scores or weights, or a bias of
/// theirs is trained.
Nodes attention_around(const OnnxGraph& graph, const OnnxNode& softmax) {
  const auto multiplies = [&](const OnnxNode* node) {
    return node != nullptr && node->is("MatMul") && node->inputs.size() == 2 &&
           graph.value(node->inputs[0]).is_activation() && graph.value(node->inputs[1]).is_activation();
  };
  Nodes chain{&softmax};
  const OnnxNode* before = graph.giver(softmax.inputs[0]);
  while (before != nullptr && is_inside_attention(*before) && graph.takers(before->outputs[0]) == 1) {
    chain.insert(chain.begin(), before);
    const OnnxNode* first = graph.giver(before->inputs[0]);
    before = first == nullptr && before->inputs.size() > 1 ? graph.giver(before->inputs[1]) : first;
  }
  const OnnxNode* after = graph.only_taker(softmax.outputs[0]);
  while (after != nullptr && is_inside_attention(*after)) {
    chain.push_back(after);
    after = graph.only_taker(after->outputs[0]);
  }
  if (!multiplies(before) || !multiplies(after) || graph.takers(before->outputs[0]) != 1) return {};
  if (std::any_of(chain.begin(), chain.end(), [&](const OnnxNode* part) { return adds_trained_bias(graph, *part); }))
    return {};
  chain.insert(chain.begin(), before);
  return chain;
}

/// PyTorch runs attention as one kernel, which stores neither scores nor weights.
void fuse_attention(OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes) {
    if (!node.is("Softmax")) continue;
    const Nodes chain = attention_around(graph, node);
    for (const OnnxNode* part : chain)
      graph.nodes[static_cast<std::size_t>(part - graph.nodes.data())].kind =
          part == chain.front() ? kAttentionScores : kInsideAttention;
  }
}

}  // namespace

void fuse(OnnxGraph& graph) {
  fuse_attention(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::optional<Found> found = found_at(graph, graph.nodes[i]);
    if (!found) continue;
    const std::size_t before = graph.nodes.size();
    graph.replace(found->chain, kernel_of(found->chain, found->kind, found->input));
    // Those of the chain that stood before this one are gone.
    i -= std::min(i, before - graph.nodes.size());
  }
}

}  // namespace stepcast
