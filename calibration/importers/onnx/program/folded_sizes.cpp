#include "calibration/importers/onnx/program/folded_sizes.hpp"

#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "calibration/importers/onnx/program/constant_operators.hpp"
#include "calibration/importers/onnx/program/einsum_sizes.hpp"

namespace stepcast::onnx_graph {

namespace {

using ::onnx::GraphProto, ::onnx::ModelProto, ::onnx::NodeProto, ::onnx::TensorProto, ::onnx::TypeProto;

template <typename Sizes>
TypeProto type_of(int element_type, const Sizes& sizes) {
  TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element_type);
  auto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t size : sizes) shape.add_dim()->set_dim_value(size);
  return type;
}

/// Null where one is not known.
std::optional<std::vector<std::int64_t>> sizes_of(const TypeProto& type) {
  if (!type.has_tensor_type() || !type.tensor_type().has_shape()) return {};
  std::vector<std::int64_t> sizes;
  for (const auto& size : type.tensor_type().shape().dim()) {
    if (!size.has_dim_value() || size.dim_value() < 0) return {};
    sizes.push_back(size.dim_value());
  }
  return sizes;
}

/// Adds to what was inferred what the file itself says of a value.
void complete(TypeProto& inferred, const TypeProto& declared) {
  if (!declared.has_tensor_type()) return;
  if (!inferred.has_tensor_type()) {
    if (inferred.value_case() == TypeProto::VALUE_NOT_SET) inferred = declared;
    return;
  }
  const auto& from = declared.tensor_type().shape();
  auto& tensor = *inferred.mutable_tensor_type();
  if (!tensor.has_shape() && declared.tensor_type().has_shape()) *tensor.mutable_shape() = from;
  if (!tensor.has_shape() || tensor.shape().dim_size() != from.dim_size()) return;
  for (int axis = 0; axis < from.dim_size(); ++axis)
    if (!tensor.shape().dim(axis).has_dim_value() && from.dim(axis).has_dim_value())
      *tensor.mutable_shape()->mutable_dim(axis) = from.dim(axis);
}

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
  explicit Folding(ModelProto& model)
      : graph_(*model.mutable_graph()), ir_version_(static_cast<int>(model.ir_version())) {
    for (const auto& set : model.opset_import())
      versions_[set.domain() == "ai.onnx" ? "" : set.domain()] = static_cast<int>(set.version());
    for (const auto& value : graph_.value_info()) declared_[value.name()] = &value.type();
    for (const auto& value : graph_.output()) declared_[value.name()] = &value.type();
    for (const auto& value : graph_.input()) set_type(value.name(), value.type());
    for (const TensorProto& tensor : graph_.initializer()) add_initializer(tensor);
  }

  void run() {
    google::protobuf::RepeatedPtrField<NodeProto> all;
    all.Swap(graph_.mutable_node());
    // Nodes are handed on, not copied: constants may be large.
    std::vector<std::unique_ptr<NodeProto>> nodes(static_cast<std::size_t>(all.size()));
    for (std::size_t i = nodes.size(); i-- > 0;) nodes[i].reset(all.ReleaseLast());
    for (auto& node : nodes) take(std::move(node));
    state_types();
  }

 private:
  void set_type(const std::string& name, TypeProto type) {
    TypeProto& kept = types_[name];
    kept = std::move(type);
    type_pointers_[name] = &kept;
  }

  /// Tells the inference over the whole model what was found.
  void state_types() {
    graph_.clear_value_info();
    for (auto& value : *graph_.mutable_output())
      if (const auto at = types_.find(value.name()); at != types_.end()) {
        complete(*value.mutable_type(), at->second);
        types_.erase(at);
      }
    for (const NodeProto& node : graph_.node())
      for (const std::string& output : node.output()) {
        const auto at = types_.find(output);
        if (at == types_.end() || at->second.value_case() == TypeProto::VALUE_NOT_SET) continue;
        auto& value = *graph_.add_value_info();
        value.set_name(output);
        *value.mutable_type() = at->second;
      }
  }

  void add_initializer(const TensorProto& tensor) {
    set_type(tensor.name(), type_of(tensor.data_type(), tensor.dims()));
    tensors_[tensor.name()] = &tensor;
    weights_.insert(tensor.name());
  }

  /// Puts a node, what it is worth or the branch that it chooses behind the others.
  void take(std::unique_ptr<NodeProto> node) {
    if (const GraphProto* branch = chosen_branch(*node)) {
      choices_.push_back(std::move(node));
      inline_branch(*choices_.back(), *branch);
      return;
    }
    infer(*node);
    if (std::optional<ConstantTensor> value = value_of(*node)) {
      const std::string output = node->output(0);
      if (!value->trained) node = std::make_unique<NodeProto>(constant_node(*value, output));
      known_[output] = std::move(value);
    }
    if (node->op_type() == "Constant" && node->output_size() == 1)
      if (const TensorProto* tensor = tensor_of(*node)) tensors_[node->output(0)] = tensor;
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
      *graph_.add_initializer() = tensor;
      add_initializer(*graph_.mutable_initializer()->rbegin());
    }
    for (const auto& value : branch.value_info()) declared_[value.name()] = &value.type();
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

  /// By ONNX's own rules. Leaves open what they do not tell; what contradicts them, the inference over the whole model
  /// reports.
  std::vector<TypeProto> inferred_types(NodeProto& node) {
    std::vector<TypeProto> open(static_cast<std::size_t>(node.output_size()));
    const auto version = versions_.find(node.domain() == "ai.onnx" ? "" : node.domain());
    if (version == versions_.end()) return open;
    const auto* registry = ::onnx::OpSchemaRegistry::Instance();
    const auto* schema = registry->GetSchema(node.op_type(), version->second, version->first);
    if (schema == nullptr) return open;
    ::onnx::shape_inference::GraphInferenceContext outside(type_pointers_, versions_, nullptr, functions_, registry,
                                                           nullptr, ir_version_);
    ::onnx::shape_inference::InferenceContextImpl context(node, type_pointers_, tensors_, {}, nullptr, &outside);
    try {
      if (schema->has_type_and_shape_inference_function())
        schema->GetTypeAndShapeInferenceFunction()(context);
      else if (schema->HasFunction())
        ::onnx::shape_inference::InferShapeForFunctionNode(*schema->GetFunction(), registry, context);
    } catch (const std::exception&) {
      return open;
    }
    return context.allOutputTypes_;
  }

  void infer(NodeProto& node) {
    std::vector<TypeProto> types = inferred_types(node);
    if (node.op_type() == "Einsum" && types.size() == 1)
      if (const auto sizes = einsum_sizes_of(node))
        types[0] = type_of(types_.at(node.input(0)).tensor_type().elem_type(), *sizes);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const std::string& output = node.output(static_cast<int>(i));
      const auto declared = declared_.find(output);
      if (declared != declared_.end()) complete(types[i], *declared->second);
      if (!output.empty()) set_type(output, std::move(types[i]));
    }
  }

  std::optional<std::vector<std::int64_t>> einsum_sizes_of(const NodeProto& node) const {
    std::vector<std::vector<std::int64_t>> inputs;
    for (const std::string& input : node.input()) {
      const auto type = types_.find(input);
      const auto sizes = type == types_.end() ? std::nullopt : sizes_of(type->second);
      if (!sizes) return {};
      inputs.push_back(*sizes);
    }
    const auto equation = std::find_if(node.attribute().begin(), node.attribute().end(),
                                       [](const auto& attribute) { return attribute.name() == "equation"; });
    return equation == node.attribute().end() || inputs.empty() ? std::nullopt : einsum_sizes(equation->s(), inputs);
  }

  /// Null where it is not known, or has too many elements.
  const ConstantTensor* known(const std::string& name) {
    const auto [at, fresh] = known_.try_emplace(name);
    const auto tensor = tensors_.find(name);
    if (fresh && tensor != tensors_.end()) {
      at->second = constant_of(*tensor->second);
      if (at->second) at->second->trained = weights_.count(name) > 0 && at->second->is_real();
    }
    return at->second ? &*at->second : nullptr;
  }

  std::optional<ConstantTensor> value_of(const NodeProto& node) {
    if (!node.domain().empty() && node.domain() != "ai.onnx") return {};
    if (node.output_size() != 1) return {};
    if (node.op_type() == "Constant") return plain_numbers(node);
    if (node.input_size() == 0) return {};
    if (node.op_type() == "Shape" || node.op_type() == "Size") return sizes_taken_by(node);
    if (!is_evaluated(node.op_type())) return {};
    KnownOperation operation{node, {}};
    for (const std::string& input : node.input()) {
      operation.inputs.push_back(input.empty() ? nullptr : known(input));
      if (!input.empty() && operation.inputs.back() == nullptr) return {};
    }
    const TypeProto& type = types_.at(node.output(0));
    const auto sizes = sizes_of(type);
    std::optional<ConstantTensor> out;
    if (sizes) out = empty_constant(type.tensor_type().elem_type(), *sizes);
    return out ? evaluated(operation, std::move(*out)) : std::nullopt;
  }

  /// What Shape and Size give.
  std::optional<ConstantTensor> sizes_taken_by(const NodeProto& node) {
    const auto type = types_.find(node.input(0));
    const auto sizes = type == types_.end() ? std::nullopt : sizes_of(type->second);
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
  int ir_version_;
  std::unordered_map<std::string, int> versions_;
  const ::onnx::shape_inference::ModelLocalFunctionsMap functions_;  ///< none: they are refused
  std::vector<std::unique_ptr<NodeProto>> choices_;                  ///< whose branches `declared_` looks into
  std::unordered_map<std::string, const TypeProto*> declared_;
  std::unordered_map<std::string, TypeProto> types_;
  std::unordered_map<std::string, TypeProto*> type_pointers_;
  std::unordered_map<std::string, const TensorProto*> tensors_;  ///< initializers and constants
  std::unordered_set<std::string> weights_;                      ///< initializers
  std::unordered_map<std::string, std::optional<ConstantTensor>> known_;
};

}  // namespace

void fold_sizes(ModelProto& model) { Folding(model).run(); }

}  // namespace stepcast::onnx_graph
