#pragma once

#include <onnx/onnx_pb.h>

namespace stepcast::onnx_graph {

/// Puts constants in place of operators whose results follow from constants and from sizes: sizes that a network
/// computes (`chunk`, windows of attention, resizing to another value's size), which ONNX's shape inference does not
/// follow. Of an `If` whose condition is known the branch takes its place. Sizes that inputs leave open are to be set
/// before. What cannot be evaluated, or what a trained weight goes into, stays as it is.
void fold_sizes(::onnx::ModelProto& model);

}  // namespace stepcast::onnx_graph
