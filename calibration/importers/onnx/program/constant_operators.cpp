#include "calibration/importers/onnx/program/constant_operators.hpp"

#include <algorithm>
#include <map>

namespace stepcast::onnx_graph {

namespace {

const ::onnx::AttributeProto* find_attribute(const ::onnx::NodeProto& node, std::string_view name) {
  const auto at = std::find_if(node.attribute().begin(), node.attribute().end(),
                               [&](const auto& attribute) { return attribute.name() == name; });
  return at == node.attribute().end() ? nullptr : &*at;
}

const EvaluatedOperator* find_operator(std::string_view kind) {
  static const std::map<std::string_view, EvaluatedOperator> all = [] {
    std::map<std::string_view, EvaluatedOperator> out;
    for (const EvaluatedOperator& one : arithmetic_operators()) out.emplace(one.kind, one);
    for (const EvaluatedOperator& one : rearranging_operators()) out.emplace(one.kind, one);
    return out;
  }();
  const auto at = all.find(kind);
  return at == all.end() ? nullptr : &at->second;
}

}  // namespace

bool is_evaluated(std::string_view kind) { return find_operator(kind) != nullptr; }

std::optional<ConstantTensor> evaluated(const KnownOperation& operation, ConstantTensor out) {
  const EvaluatedOperator* rule = find_operator(operation.node.op_type());
  if (rule == nullptr || operation.inputs.size() < rule->least_inputs) return {};
  const auto least = operation.inputs.begin() + static_cast<std::ptrdiff_t>(rule->least_inputs);
  if (std::find(operation.inputs.begin(), least, nullptr) != least) return {};
  if (!rule->evaluate(operation, out)) return {};
  out.trained = out.is_real() && std::any_of(operation.inputs.begin(), operation.inputs.end(),
                                             [](const auto* input) { return input != nullptr && input->trained; });
  return out;
}

std::int64_t KnownOperation::number(std::string_view attribute, std::int64_t fallback) const {
  const ::onnx::AttributeProto* at = find_attribute(node, attribute);
  return at == nullptr ? fallback : at->i();
}

std::vector<std::int64_t> KnownOperation::numbers(std::string_view attribute) const {
  const ::onnx::AttributeProto* at = find_attribute(node, attribute);
  if (at == nullptr) return {};
  return {at->ints().begin(), at->ints().end()};
}

std::vector<std::int64_t> KnownOperation::numbers(std::size_t index, std::string_view attribute) const {
  return input(index) != nullptr ? input(index)->whole : numbers(attribute);
}

std::vector<std::vector<std::int64_t>> coordinates_of(const std::vector<std::int64_t>& sizes) {
  std::vector<std::vector<std::int64_t>> out;
  const std::int64_t elements = few_elements(sizes).value_or(0);
  std::vector<std::int64_t> at(sizes.size());
  for (std::int64_t element = 0; element < elements; ++element) {
    out.push_back(at);
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if (++at[axis] < sizes[axis]) break;
      at[axis] = 0;
    }
  }
  return out;
}

std::optional<std::size_t> element_at(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& at) {
  if (sizes.size() != at.size()) return {};
  std::int64_t element = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (at[axis] < 0 || at[axis] >= sizes[axis]) return {};
    element = element * sizes[axis] + at[axis];
  }
  return static_cast<std::size_t>(element);
}

std::optional<std::size_t> broadcast_element(const std::vector<std::int64_t>& sizes,
                                             const std::vector<std::int64_t>& at) {
  if (sizes.size() > at.size()) return {};
  std::vector<std::int64_t> own(at.end() - static_cast<std::ptrdiff_t>(sizes.size()), at.end());
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (sizes[axis] == 1) own[axis] = 0;
  return element_at(sizes, own);
}

}  // namespace stepcast::onnx_graph
