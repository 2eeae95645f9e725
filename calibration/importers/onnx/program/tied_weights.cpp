#include "calibration/importers/onnx/program/tied_weights.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

namespace stepcast::onnx_graph {

namespace {

using ::onnx::GraphProto, ::onnx::TensorProto;

/// Bytes of a floating-point element; 0 of other types.
std::size_t width_of(int type) {
  if (type == TensorProto::FLOAT) return 4;
  return type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16 ? 2 : 0;
}

/// A part of a file beside the model; nothing where it is not there.
std::optional<std::string> external_bytes(const TensorProto& tensor, const std::filesystem::path& folder,
                                          std::size_t bytes) {
  std::map<std::string, std::string> at;
  for (const auto& entry : tensor.external_data()) at[entry.key()] = entry.value();
  const std::filesystem::path place = at["location"];
  if (place.empty() || place.is_absolute() || *place.begin() == "..") return {};
  std::ifstream file(folder / place, std::ios::binary);
  const std::string& offset = at["offset"];
  if (!offset.empty() && !file.seekg(static_cast<std::streamoff>(std::strtoull(offset.c_str(), nullptr, 10))))
    return {};
  std::string out(bytes, '\0');
  return file.read(out.data(), static_cast<std::streamsize>(bytes)) ? std::optional(out) : std::nullopt;
}

/// A matrix's numbers, row by row.
struct Matrix {
  const TensorProto* tensor;
  std::size_t rows, columns, width;
  [[nodiscard]] std::optional<std::string> bytes(const std::filesystem::path& folder) const {
    const std::size_t size = rows * columns * width;
    if (tensor->data_location() == TensorProto::EXTERNAL) return external_bytes(*tensor, folder, size);
    if (tensor->has_raw_data())
      return tensor->raw_data().size() == size ? std::optional(tensor->raw_data()) : std::nullopt;
    if (width != sizeof(float) || static_cast<std::size_t>(tensor->float_data_size()) * width != size) return {};
    return std::string(reinterpret_cast<const char*>(tensor->float_data().data()), size);
  }
};

std::optional<Matrix> matrix_of(const TensorProto& tensor) {
  const std::size_t width = width_of(tensor.data_type());
  if (width == 0 || tensor.dims_size() != 2 || tensor.dims(0) < 2 || tensor.dims(1) < 2) return {};
  return Matrix{&tensor, static_cast<std::size_t>(tensor.dims(0)), static_cast<std::size_t>(tensor.dims(1)), width};
}

bool is_one_number(const std::string& bytes, std::size_t width) {
  return bytes.size() > width && std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) == 0;
}

bool are_equal(const Matrix& a, const std::string& of_a, const Matrix& b, const std::string& of_b) {
  if (a.width != b.width || of_a.size() != of_b.size()) return false;
  if (a.rows == b.rows && a.columns == b.columns && of_a == of_b) return true;
  if (a.rows != b.columns || a.columns != b.rows) return false;
  for (std::size_t row = 0; row < a.rows; ++row)
    for (std::size_t column = 0; column < a.columns; ++column)
      if (std::memcmp(of_a.data() + (row * a.columns + column) * a.width,
                      of_b.data() + (column * b.columns + row) * a.width, a.width) != 0)
        return false;
  return true;
}

/// Kinds of operators that take a value.
std::map<std::string, std::set<std::string>> takers_of(const GraphProto& graph) {
  std::map<std::string, std::set<std::string>> out;
  for (const auto& node : graph.node())
    for (const std::string& input : node.input()) out[input].insert(node.op_type());
  return out;
}

}  // namespace

std::map<std::string, std::string> tied_weights(const GraphProto& graph, const std::filesystem::path& folder) {
  const std::map<std::string, std::set<std::string>> takers = takers_of(graph);
  std::vector<Matrix> tables, factors;
  for (const TensorProto& tensor : graph.initializer()) {
    const auto taken = takers.find(tensor.name());
    const std::optional<Matrix> matrix = matrix_of(tensor);
    if (!matrix || taken == takers.end()) continue;
    const auto takes_only = [&](std::initializer_list<const char*> kinds) {
      return std::all_of(taken->second.begin(), taken->second.end(), [&](const std::string& kind) {
        return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
      });
    };
    if (takes_only({"Gather"})) tables.push_back(*matrix);
    if (takes_only({"MatMul", "Gemm"})) factors.push_back(*matrix);
  }
  std::map<std::string, std::string> out;
  for (const Matrix& table : tables)
    for (const Matrix& factor : factors) {
      if (table.rows * table.columns != factor.rows * factor.columns || table.width != factor.width) continue;
      const std::optional<std::string> one = table.bytes(folder), other = factor.bytes(folder);
      if (one && other && !is_one_number(*one, table.width) && are_equal(table, *one, factor, *other))
        out[factor.tensor->name()] = table.tensor->name();
    }
  return out;
}

}  // namespace stepcast::onnx_graph
