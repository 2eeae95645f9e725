#pragma once

#include <string>
#include <vector>

#include "calibration/importers/onnx/onnx_graph.hpp"
#include "models/workload/model.hpp"

namespace stepcast {

/// A network by the totals of its operators for one sample, and what they say of its data.
struct OnnxNetwork {
  CompactShape shape;
  double samples = 1;  ///< that the file's own sizes hold
  std::vector<std::string> notes;
};

/// Counts an ONNX graph's operators (docs/formats/imports.md): products by kind, the passes of everything else in eager
/// PyTorch, trained weights. Throws InputError naming `file` where an operator's sizes are not known, or nothing is
/// multiplied.
OnnxNetwork count_network(OnnxGraph graph, const std::string& file);

}  // namespace stepcast
