#pragma once

#include <onnx/shape_inference/implementation.h>

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace stepcast::onnx_graph {

/// Types and sizes of a network's values, inferred operator by operator in their order. The model, and tensors that are
/// handed over, must outlive it.
class ValueTypes {
 public:
  /// Knows inputs, initializers, and what the file itself says of values.
  explicit ValueTypes(const ::onnx::ModelProto& model);

  void add_initializer(const ::onnx::TensorProto& tensor);
  /// The values of what a node "Constant" gives.
  void set_constant(const std::string& name, const ::onnx::TensorProto& tensor) { tensors_[name] = &tensor; }
  /// What a file says of a value, which completes what is inferred.
  void declare(const ::onnx::ValueInfoProto& value) { declared_[value.name()] = &value.type(); }
  /// Infers what an operator gives from what it takes. What ONNX's rules do not tell stays open, and what contradicts
  /// them, too: the inference over the whole model reports it.
  void infer(::onnx::NodeProto& node);

  /// Element type of a value that was inferred; UNDEFINED where it is not known.
  [[nodiscard]] int element_type(const std::string& name) const;
  /// Null where one is not known.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> sizes(const std::string& name) const;
  /// Of an initializer or a constant; else null.
  [[nodiscard]] const ::onnx::TensorProto* tensor(const std::string& name) const;
  /// Writes what was found into a graph, for the inference over the whole model.
  void state(::onnx::GraphProto& graph) const;

 private:
  void set(const std::string& name, ::onnx::TypeProto type);
  [[nodiscard]] std::vector<::onnx::TypeProto> inferred_by_rules(::onnx::NodeProto& node) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> einsum_sizes_of(const ::onnx::NodeProto& node) const;

  int ir_version_;
  std::unordered_map<std::string, int> versions_;                    ///< of operator sets
  const ::onnx::shape_inference::ModelLocalFunctionsMap functions_;  ///< none: they are refused
  std::unordered_map<std::string, const ::onnx::TypeProto*> declared_;
  std::unordered_map<std::string, ::onnx::TypeProto> types_;
  std::unordered_map<std::string, ::onnx::TypeProto*> type_pointers_;  ///< into `types_`, as the library takes them
  std::unordered_map<std::string, const ::onnx::TensorProto*> tensors_;
};

}  // namespace stepcast::onnx_graph
