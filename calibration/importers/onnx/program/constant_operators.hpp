#pragma once

#include <string_view>
#include <vector>

#include "calibration/importers/onnx/program/constant_tensor.hpp"

namespace stepcast::onnx_graph {

/// An operator all of whose inputs are known.
struct KnownOperation {
  const ::onnx::NodeProto& node;
  std::vector<const ConstantTensor*> inputs;  ///< null: one that the node leaves out
  [[nodiscard]] const ConstantTensor* input(std::size_t index) const {
    return index < inputs.size() ? inputs[index] : nullptr;
  }
  [[nodiscard]] std::int64_t number(std::string_view attribute, std::int64_t fallback) const;
  [[nodiscard]] std::vector<std::int64_t> numbers(std::string_view attribute) const;
  /// Of an input, or of the attribute that older operator sets have in its place.
  [[nodiscard]] std::vector<std::int64_t> numbers(std::size_t index, std::string_view attribute) const;
};

/// An operator that can be evaluated. `evaluate` puts its result, by ONNX's definition of it (docs/Operators.md of
/// ONNX), into a tensor that has the type and sizes which shape inference gave it; false where there is none: a
/// division by zero, an overflow, an index out of range, what the model says wrongly.
struct EvaluatedOperator {
  std::string_view kind;
  std::size_t least_inputs;
  bool (*evaluate)(const KnownOperation& operation, ConstantTensor& out);
};

/// Operators of numbers, element by element or over axes.
std::vector<EvaluatedOperator> arithmetic_operators();
/// Operators that give elements of their inputs in another order, or several times.
std::vector<EvaluatedOperator> rearranging_operators();

/// Whether there is a rule for operators of this kind.
bool is_evaluated(std::string_view kind);
/// The result of an operator of such a kind, of the type and sizes of `out`; null where it has none.
std::optional<ConstantTensor> evaluated(const KnownOperation& operation, ConstantTensor out);

/// The coordinates of each element of a tensor, in the order of its elements.
std::vector<std::vector<std::int64_t>> coordinates_of(const std::vector<std::int64_t>& sizes);
/// Which element is at these coordinates; null where they are outside.
std::optional<std::size_t> element_at(const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& at);
/// The same element of a tensor that is repeated along sizes of 1, and along sizes that it lacks in front.
std::optional<std::size_t> broadcast_element(const std::vector<std::int64_t>& sizes,
                                             const std::vector<std::int64_t>& at);

}  // namespace stepcast::onnx_graph
