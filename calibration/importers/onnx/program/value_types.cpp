#include "calibration/importers/onnx/program/value_types.hpp"

#include <algorithm>
#include <unordered_set>

#include "calibration/importers/onnx/program/einsum_sizes.hpp"

namespace stepcast::onnx_graph {

namespace {

using ::onnx::GraphProto, ::onnx::ModelProto, ::onnx::NodeProto, ::onnx::TensorProto, ::onnx::TypeProto;

/// Operators of ONNX itself are of a domain with two names.
std::string domain_of(const std::string& name) { return name == "ai.onnx" ? "" : name; }

template <typename Sizes>
TypeProto type_of(int element_type, const Sizes& sizes) {
  TypeProto type;
  type.mutable_tensor_type()->set_elem_type(element_type);
  auto& shape = *type.mutable_tensor_type()->mutable_shape();
  for (const std::int64_t size : sizes) shape.add_dim()->set_dim_value(size);
  return type;
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

}  // namespace

ValueTypes::ValueTypes(const ModelProto& model) : ir_version_(static_cast<int>(model.ir_version())) {
  for (const auto& set : model.opset_import()) versions_[domain_of(set.domain())] = static_cast<int>(set.version());
  for (const auto& value : model.graph().value_info()) declare(value);
  for (const auto& value : model.graph().output()) declare(value);
  for (const auto& value : model.graph().input()) set(value.name(), value.type());
  for (const TensorProto& tensor : model.graph().initializer()) add_initializer(tensor);
}

void ValueTypes::set(const std::string& name, TypeProto type) {
  TypeProto& kept = types_[name];
  kept = std::move(type);
  type_pointers_[name] = &kept;
}

void ValueTypes::add_initializer(const TensorProto& tensor) {
  set(tensor.name(), type_of(tensor.data_type(), tensor.dims()));
  tensors_[tensor.name()] = &tensor;
}

std::vector<TypeProto> ValueTypes::inferred_by_rules(NodeProto& node) const {
  std::vector<TypeProto> open(static_cast<std::size_t>(node.output_size()));
  const auto version = versions_.find(domain_of(node.domain()));
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

void ValueTypes::infer(NodeProto& node) {
  std::vector<TypeProto> types = inferred_by_rules(node);
  if (node.op_type() == "Einsum" && types.size() == 1)
    if (const auto sizes = einsum_sizes_of(node)) types[0] = type_of(element_type(node.input(0)), *sizes);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string& output = node.output(static_cast<int>(i));
    const auto declared = declared_.find(output);
    if (declared != declared_.end()) complete(types[i], *declared->second);
    if (!output.empty()) set(output, std::move(types[i]));
  }
}

std::optional<std::vector<std::int64_t>> ValueTypes::einsum_sizes_of(const NodeProto& node) const {
  std::vector<std::vector<std::int64_t>> inputs;
  for (const std::string& input : node.input()) {
    const auto known = sizes(input);
    if (!known) return {};
    inputs.push_back(*known);
  }
  const auto equation = std::find_if(node.attribute().begin(), node.attribute().end(),
                                     [](const auto& attribute) { return attribute.name() == "equation"; });
  return equation == node.attribute().end() || inputs.empty() ? std::nullopt : einsum_sizes(equation->s(), inputs);
}

int ValueTypes::element_type(const std::string& name) const {
  const auto at = types_.find(name);
  return at == types_.end() ? static_cast<int>(TensorProto::UNDEFINED) : at->second.tensor_type().elem_type();
}

std::optional<std::vector<std::int64_t>> ValueTypes::sizes(const std::string& name) const {
  const auto at = types_.find(name);
  if (at == types_.end() || !at->second.has_tensor_type() || !at->second.tensor_type().has_shape()) return {};
  std::vector<std::int64_t> sizes;
  for (const auto& size : at->second.tensor_type().shape().dim()) {
    if (!size.has_dim_value() || size.dim_value() < 0) return {};
    sizes.push_back(size.dim_value());
  }
  return sizes;
}

const TensorProto* ValueTypes::tensor(const std::string& name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? nullptr : at->second;
}

void ValueTypes::state(GraphProto& graph) const {
  graph.clear_value_info();
  std::unordered_set<std::string> outputs;
  for (auto& value : *graph.mutable_output()) {
    outputs.insert(value.name());
    if (const auto at = types_.find(value.name()); at != types_.end()) complete(*value.mutable_type(), at->second);
  }
  for (const NodeProto& node : graph.node())
    for (const std::string& output : node.output()) {
      const auto at = types_.find(output);
      if (at == types_.end() || at->second.value_case() == TypeProto::VALUE_NOT_SET || outputs.count(output) > 0)
        continue;
      auto& value = *graph.add_value_info();
      value.set_name(output);
      *value.mutable_type() = at->second;
    }
}

}  // namespace stepcast::onnx_graph
