#pragma once

#include <string>

#include "calibration/importers/chakra/chakra_file.hpp"
#include "models/rank_graph/rank_graph.hpp"

namespace stepcast {

/// The operation that a node stands for, with its data dependencies; its faults go to the diagnostics.
RankOperation translate_node(const ChakraNode& node, Diagnostics& diagnostics);

/// The number on the wire for a kind of collective.
std::int64_t traced_collective(CollectiveKind kind);

/// True for a node that PyTorch's observer wrote: it numbers the calls of its operators.
bool is_pytorch_node(const ChakraNode& node);

/// A name without control characters and bytes that are no UTF-8.
std::string printable(const std::string& text);

}  // namespace stepcast
