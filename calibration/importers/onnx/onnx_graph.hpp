#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// A value of an ONNX graph.
struct OnnxValue {
  std::vector<double> sizes;  ///< empty: a scalar, or unknown
  bool known = false;         ///< all sizes
  bool real = false;          ///< floating-point
  bool weight = false;        ///< trained, or a view of what is
  bool constant = false;
  std::string view_of;  ///< the weight that a view is of
  std::string tied_to;  ///< another weight that holds the same numbers, for both are trained as one
  [[nodiscard]] double elements() const;
  /// What the network works on: neither weights nor constants nor indices.
  [[nodiscard]] bool is_activation() const { return real && !weight && !constant; }
};

/// An operator of an ONNX graph.
struct OnnxNode {
  std::string kind;  ///< ONNX's name: Conv, MatMul …
  std::string name;
  std::vector<std::string> inputs, outputs;
  Json attributes;
  [[nodiscard]] bool is(std::string_view other) const { return kind == other; }
  /// Whole numbers of an attribute; empty where it is not there.
  [[nodiscard]] std::vector<double> numbers(const char* attribute) const;
  [[nodiscard]] double number(const char* attribute, double fallback) const;
  [[nodiscard]] std::string text(const char* attribute, const char* fallback) const;
};

/// An ONNX model's operators in their order, and the values between them.
class OnnxGraph {
 public:
  /// Of what stepcast-onnx-graph prints.
  static OnnxGraph from_json(const Json& text);

  std::vector<std::string> inputs;  ///< without weights
  std::vector<OnnxNode> nodes;

  /// A value by name; one that the file does not describe has no known size.
  [[nodiscard]] const OnnxValue& value(const std::string& name) const;
  /// The operator that gives a value; null for inputs and weights.
  [[nodiscard]] const OnnxNode* giver(const std::string& name) const;
  /// The only operator that takes a value, or null.
  [[nodiscard]] const OnnxNode* only_taker(const std::string& name) const;
  /// How many operators take a value.
  [[nodiscard]] int takers(const std::string& name) const;
  /// Trained tensors by name: elements once each, whatever number of operators takes them.
  [[nodiscard]] const std::map<std::string, OnnxValue>& weights() const { return weights_; }
  /// Puts one operator in place of others, which gives the last one's result.
  void replace(const std::vector<const OnnxNode*>& old, OnnxNode by);

 private:
  void resolve_weights();
  void index();
  std::map<std::string, OnnxValue> values_, weights_;
  std::map<std::string, std::size_t> giver_;
  std::map<std::string, std::vector<std::size_t>> takers_;
};

/// What `fuse` calls the product of queries and keys whose scores no kernel stores, and the operators between it and
/// the product with values.
inline constexpr const char *kAttentionScores = "AttentionScores", *kInsideAttention = "InsideAttention";

/// What `fuse` calls two slices of one value that are put together in the other order.
inline constexpr const char* kRoll = "Roll";

/// Puts one operator where PyTorch runs one kernel and ONNX writes several: layer norms, GELU, SiLU and Hardswish,
/// rolls, and attention, of which only the products stay.
void fuse(OnnxGraph& graph);

}  // namespace stepcast
