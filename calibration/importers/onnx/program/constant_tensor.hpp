#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepcast::onnx_graph {

/// Larger tensors are no sizes: their values are not followed.
inline constexpr std::int64_t kMostElements = 4096;

/// A small tensor whose values are known: whole numbers and truths, or floating-point numbers.
struct ConstantTensor {
  int type = ::onnx::TensorProto::INT64;  ///< of ONNX's element types
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> whole;  ///< of whole types and truths
  std::vector<double> real;         ///< of floating-point types
  bool trained = false;             ///< floating-point numbers that a weight of the file went into
  [[nodiscard]] bool is_real() const;
};

/// How many elements sizes hold; null where one is negative, or there are more than kMostElements.
std::optional<std::int64_t> few_elements(const std::vector<std::int64_t>& sizes);

/// A tensor of these sizes without values; null where its elements are too many, or of a type that is not followed.
std::optional<ConstantTensor> empty_constant(int type, const std::vector<std::int64_t>& sizes);

/// Whether a whole number can be an element of this type.
bool fits(std::int64_t number, int type);

/// A floating-point number as an element of this type holds it.
double rounded_to(double number, int type);

/// The values of a tensor; null where they are too many, of a type that is not followed, stored in another file, or of
/// another number than its sizes say.
std::optional<ConstantTensor> constant_of(const ::onnx::TensorProto& tensor);

/// The node "Constant" that gives a tensor under this name.
::onnx::NodeProto constant_node(const ConstantTensor& constant, const std::string& output);

}  // namespace stepcast::onnx_graph
