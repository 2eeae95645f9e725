#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>

namespace stepcast::onnx_graph {

/// What is wrong with a file, and what was expected or is to be done.
class BadModel : public std::runtime_error {
 public:
  BadModel(const std::string& what, std::string expected);
  [[nodiscard]] const std::string& expected() const { return expected_; }

 private:
  std::string expected_;
};

/// Sizes that a file leaves open, by name.
using Dimensions = std::map<std::string, std::int64_t>;

/// An ONNX file with the shapes of its values inferred by ONNX's own rules, and constants in place of the sizes that it
/// computes. Open first sizes of inputs are samples, and are set to 1; others are as `dimensions` says. Throws
/// BadModel.
::onnx::ModelProto inferred_model(const std::filesystem::path& file, const Dimensions& dimensions);

}  // namespace stepcast::onnx_graph
