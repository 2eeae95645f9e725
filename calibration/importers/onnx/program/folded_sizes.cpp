#include "calibration/importers/onnx/program/folded_sizes.hpp"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "calibration/importers/onnx/program/constant_operators.hpp"
#include "calibration/importers/onnx/program/value_types.hpp"

namespace stepcast::onnx_graph {

namespace {

using ::onnx::GraphProto, ::onnx::ModelProto, ::onnx::NodeProto, ::onnx::TensorProto;

const GraphProto* branch_of(const NodeProto& choice, bool holds) {
  for (const auto& attribute : choice.attribute())
    if (attribute.name() == (holds ? "then_branch" : "else_branch") && attribute.has_g()) return &attribute.g();
  return nullptr;
}

const TensorProto* tensor_of(const NodeProto& constant) {
  for (const auto& attribute : constant.attribute())
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  return nullptr;
}

/// A constant whose attribute is numbers, not a tensor, which shape inference does not read.
std::optional<ConstantTensor> plain_numbers(const NodeProto& constant) {
  if (constant.attribute_size() != 1) return {};
  const auto& attribute = constant.attribute(0);
  ConstantTensor out;
  if (attribute.name() == "value_int") {
    out.whole = {attribute.i()};
  } else if (attribute.name() == "value_ints") {
    out.whole.assign(attribute.ints().begin(), attribute.ints().end());
    out.sizes = {attribute.ints_size()};
  } else if (attribute.name() == "value_float") {
    out.type = TensorProto::FLOAT;
    out.real = {attribute.f()};
  } else {
    return {};
  }
  return few_elements(out.sizes) ? std::optional(out) : std::nullopt;
}

/// Walks over the operators in their order, infers each one's sizes, and evaluates it where its inputs are known.
class Folding {
 public:
  explicit Folding(ModelProto& model) : graph_(*model.mutable_graph()), types_(model) {
    for (const TensorProto& tensor : graph_.initializer()) weights_.insert(tensor.name());
  }

  void run() {
    google::protobuf::RepeatedPtrField<NodeProto> all;
    all.Swap(graph_.mutable_node());
    // Nodes are handed on, not copied: constants may be large.
    std::vector<std::unique_ptr<NodeProto>> nodes(static_cast<std::size_t>(all.size()));
    for (std::size_t i = nodes.size(); i-- > 0;) nodes[i].reset(all.ReleaseLast());
    for (auto& node : nodes) take(std::move(node));
    types_.state(graph_);
  }

 private:
  /// Puts a node, what it is worth or the branch that it chooses behind the others.
  void take(std::unique_ptr<NodeProto> node) {
    if (const GraphProto* branch = chosen_branch(*node)) {
      choices_.push_back(std::move(node));
      inline_branch(*choices_.back(), *branch);
      return;
    }
    types_.infer(*node);
    if (std::optional<ConstantTensor> value = value_of(*node)) {
      const std::string output = node->output(0);
      if (!value->trained) node = std::make_unique<NodeProto>(constant_node(*value, output));
      known_[output] = std::move(value);
    }
    if (node->op_type() == "Constant" && node->output_size() == 1)
      if (const TensorProto* tensor = tensor_of(*node)) types_.set_constant(node->output(0), *tensor);
    graph_.mutable_node()->AddAllocated(node.release());
  }

  /// Of an `If`; null where its condition is not known.
  const GraphProto* chosen_branch(const NodeProto& node) {
    if (node.op_type() != "If" || !node.domain().empty() || node.input_size() != 1) return nullptr;
    const ConstantTensor* condition = known(node.input(0));
    if (condition == nullptr || condition->whole.size() != 1) return nullptr;
    const GraphProto* branch = branch_of(node, condition->whole[0] != 0);
    return branch != nullptr && branch->output_size() == node.output_size() ? branch : nullptr;
  }

  void inline_branch(const NodeProto& choice, const GraphProto& branch) {
    for (const TensorProto& tensor : branch.initializer()) {
      TensorProto& own = *graph_.add_initializer();
      own = tensor;
      types_.add_initializer(own);
      weights_.insert(tensor.name());
    }
    for (const auto& value : branch.value_info()) types_.declare(value);
    for (const NodeProto& node : branch.node()) take(std::make_unique<NodeProto>(node));
    for (int i = 0; i < choice.output_size(); ++i) {
      if (branch.output(i).name() == choice.output(i)) continue;
      auto same = std::make_unique<NodeProto>();
      same->set_op_type("Identity");
      same->set_name(choice.name());
      same->add_input(branch.output(i).name());
      same->add_output(choice.output(i));
      take(std::move(same));
    }
  }

  /// Null where it is not known, or has too many elements.
  const ConstantTensor* known(const std::string& name) {
    const auto [at, fresh] = known_.try_emplace(name);
    const TensorProto* tensor = types_.tensor(name);
    if (fresh && tensor != nullptr) {
      at->second = constant_of(*tensor);
      if (at->second) at->second->trained = weights_.count(name) > 0 && at->second->is_real();
    }
    return at->second ? &*at->second : nullptr;
  }

  std::optional<ConstantTensor> value_of(const NodeProto& node) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") return {};
    if (node.output_size() != 1 || node.output(0).empty()) return {};
    if (node.op_type() == "Constant") return plain_numbers(node);
    if (node.input_size() == 0) return {};
    if (node.op_type() == "Shape" || node.op_type() == "Size") return sizes_taken_by(node);
    if (!is_evaluated(node.op_type())) return {};
    KnownOperation operation{node, {}};
    for (const std::string& input : node.input()) {
      operation.inputs.push_back(input.empty() ? nullptr : known(input));
      if (!input.empty() && operation.inputs.back() == nullptr) return {};
    }
    const auto sizes = types_.sizes(node.output(0));
    std::optional<ConstantTensor> out;
    if (sizes) out = empty_constant(types_.element_type(node.output(0)), *sizes);
    return out ? evaluated(operation, std::move(*out)) : std::nullopt;
  }

  /// What Shape and Size give.
  std::optional<ConstantTensor> sizes_taken_by(const NodeProto& node) {
    const auto sizes = types_.sizes(node.input(0));
    if (!sizes) return {};
    ConstantTensor out;
    if (node.op_type() == "Size") {
      out.whole = {1};
      for (const std::int64_t size : *sizes)
        if (__builtin_mul_overflow(out.whole[0], size, out.whole.data())) return {};
      return out;
    }
    const auto axes = static_cast<std::int64_t>(sizes->size());
    const KnownOperation operation{node, {}};
    const auto place = [&](std::int64_t axis) {
      return std::clamp<std::int64_t>(axis < 0 ? axis + axes : axis, 0, axes);
    };
    const std::int64_t first = place(operation.number("start", 0)), last = place(operation.number("end", axes));
    if (first < last) out.whole.assign(sizes->begin() + first, sizes->begin() + last);
    out.sizes = {static_cast<std::int64_t>(out.whole.size())};
    return out;
  }

  GraphProto& graph_;
  ValueTypes types_;
  std::vector<std::unique_ptr<NodeProto>> choices_;  ///< whose branches `types_` looks into
  std::unordered_set<std::string> weights_;          ///< initializers
  std::unordered_map<std::string, std::optional<ConstantTensor>> known_;
};

}  // namespace

void fold_sizes(ModelProto& model) { Folding(model).run(); }

}  // namespace stepcast::onnx_graph
