#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <map>
#include <string>

namespace stepcast::onnx_graph {

/// Matrices of a graph that hold the same numbers as an earlier one, as they are or transposed, by name, where one of
/// the two is only looked up (Gather) and the other only multiplied: embeddings that the output shares. Exporters fold
/// the transpose of the shared weight into a second one. Matrices of one number throughout tell nothing. `folder` is
/// where files of external data lie.
std::map<std::string, std::string> tied_weights(const ::onnx::GraphProto& graph, const std::filesystem::path& folder);

}  // namespace stepcast::onnx_graph
