#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stepcast::onnx_graph {

/// Sizes of what Einsum gives, which ONNX's own rules leave open: those of the letters behind "->", else of the letters
/// that stand once, in their order. Null where the equation has "...", or sizes contradict it.
std::optional<std::vector<std::int64_t>> einsum_sizes(const std::string& equation,
                                                      const std::vector<std::vector<std::int64_t>>& inputs);

}  // namespace stepcast::onnx_graph
