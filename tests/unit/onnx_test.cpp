#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/importers/onnx/onnx_network.hpp"
#include "calibration/importers/onnx/onnx_passes.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast::onnx_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Sizes = std::vector<double>;
using Names = std::vector<std::string>;

/// A graph as stepcast-onnx-graph prints it.
class Graph {
 public:
  Graph& input(const char* name, const Sizes& sizes) {
    text_["inputs"].push_back(name);
    return value(name, sizes);
  }
  Graph& weight(const char* name, const Sizes& sizes) { return value(name, sizes, "weight"); }
  Graph& constant(const char* name, const Sizes& sizes = {}) { return value(name, sizes, "constant"); }
  Graph& node(const char* kind, const Names& inputs, const char* output, const Sizes& sizes,
              const Json& attributes = Json::object()) {
    text_["nodes"].push_back(
        {{"operator", kind}, {"name", output}, {"inputs", inputs}, {"outputs", {output}}, {"attributes", attributes}});
    return value(output, sizes);
  }
  Graph& of_unknown_size(const char* name) {
    text_["values"][name]["sizes"] = nullptr;
    return *this;
  }
  [[nodiscard]] OnnxGraph read() const { return OnnxGraph::from_json(text_); }
  [[nodiscard]] OnnxNetwork count() const { return count_network(read(), "net.onnx"); }

 private:
  Graph& value(const char* name, const Sizes& sizes, const char* kind = "") {
    text_["values"][name] = {{"sizes", sizes}, {"real", true}};
    if (*kind != '\0') text_["values"][name]["kind"] = kind;
    return *this;
  }
  Json text_{{"inputs", Json::array()}, {"values", Json::object()}, {"nodes", Json::array()}};
};

Json window(int size, int stride, int groups = 1) {
  return {{"kernel_shape", {size, size}}, {"strides", {stride, stride}}, {"group", groups}};
}

/// Counts are given to five digits.
void expect_close(double found, double expected) { EXPECT_NEAR(found, expected, 5e-5 * expected); }

std::string faults_of(const Graph& graph) {
  try {
    (void)graph.count();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

/// A residual block over n = 64 · 32 · 32 elements, two samples: norm 8, ReLU 5, sum 3 and the gradients that meet in
/// front of it 3 passes.
TEST(Onnx, CountsAResidualBlockAsByHand) {
  const Sizes whole{2, 64, 32, 32};
  const OnnxNetwork network = Graph()
                                  .input("images", {2, 3, 64, 64})
                                  .weight("w", {64, 3, 7, 7})
                                  .weight("gain", {64})
                                  .weight("shift", {64})
                                  .weight("mean", {64})
                                  .weight("variance", {64})
                                  .weight("v", {64, 64, 3, 3})
                                  .node("Conv", {"images", "w"}, "a", whole, window(7, 2))
                                  .node("BatchNormalization", {"a", "gain", "shift", "mean", "variance"}, "b", whole)
                                  .node("Relu", {"b"}, "c", whole)
                                  .node("Conv", {"c", "v"}, "d", whole, window(3, 1))
                                  .node("Add", {"d", "c"}, "e", whole)
                                  .count();
  const CompactShape& shape = network.shape;
  EXPECT_EQ(network.samples, 2);
  EXPECT_THAT(network.notes, ElementsAre(HasSubstr("2 samples")));
  EXPECT_EQ(shape.layers, 2);
  EXPECT_EQ(shape.batch_norms, 1);
  EXPECT_EQ(shape.image_side, 64);
  expect_close(shape.window_GFLOPs, 2.0 * 65536 * 3 * 49 / 1e9);
  expect_close(shape.three_by_three_GFLOPs, 2.0 * 65536 * 64 * 9 / 1e9);
  expect_close(shape.activation_Melements, 2 * 65536 / 1e6);
  expect_close(shape.parameters_M, (64 * 3 * 49 + 64 * 64 * 9 + 2 * 64) / 1e6);
  expect_close(shape.streaming_passes, (8 + 5 + 3 + 3) / 2.0);
  // The image is in fp32 and is cast to 16 bit: (2 + 1) · 3·64·64 each way.
  expect_close(shape.mixed_precision_passes, (19 + 6 * 3.0 * 4096 / 65536) / 2);
  expect_close(shape.kernels_per_layer, 5 / 2.0);
  ASSERT_EQ(shape.narrow_windows.size(), 1u);
  EXPECT_EQ(shape.narrow_windows[0].channels, 64);
}

TEST(Onnx, SortsConvolutionsAsLayerTables) {
  const Sizes out{1, 32, 8, 8};
  const auto shape_of = [&](const Sizes& weights, int size, int stride, int groups, const char* kind = "Conv") {
    return Graph()
        .input("x", {1, 32, 8, 8})
        .weight("w", weights)
        .node(kind, {"x", "w"}, "y", out, window(size, stride, groups))
        .count()
        .shape;
  };
  const double elements = 32 * 64;
  expect_close(shape_of({32, 32, 1, 1}, 1, 1, 1).pointwise_GFLOPs, 2 * elements * 32 / 1e9);
  expect_close(shape_of({32, 1, 3, 3}, 3, 1, 32).depthwise_GFLOPs, 2 * elements * 9 / 1e9);
  expect_close(shape_of({32, 32, 3, 3}, 3, 2, 1).window_GFLOPs, 2 * elements * 32 * 9 / 1e9);
  const CompactShape grouped = shape_of({32, 4, 3, 3}, 3, 1, 8);
  expect_close(grouped.grouped_GFLOPs, 2 * elements * 4 * 9 / 1e9);
  EXPECT_EQ(grouped.grouped_channels, 4);
  // Each of 2,048 elements that go in meets 16 channels of a window of 4.
  expect_close(shape_of({32, 16, 2, 2}, 2, 2, 1, "ConvTranspose").window_GFLOPs, 2 * elements * 16 * 4 / 1e9);
}

/// Scores of attention multiply two activations: FLOPs and elements of theirs count, no layer with weights.
TEST(Onnx, CountsProductsOfMatrices) {
  const CompactShape shape = Graph()
                                 .input("x", {1, 16, 8})
                                 .weight("w", {8, 24})
                                 .weight("bias", {24})
                                 .node("MatMul", {"x", "w"}, "a", {1, 16, 24})
                                 .node("Add", {"bias", "a"}, "b", {1, 16, 24})
                                 .node("Transpose", {"b"}, "t", {1, 24, 16})
                                 .node("MatMul", {"b", "t"}, "s", {1, 16, 16})
                                 .node("Einsum", {"s", "b"}, "e", {1, 16, 24}, {{"equation", "bij,bjk->bik"}})
                                 .count()
                                 .shape;
  EXPECT_EQ(shape.layers, 1);
  expect_close(shape.gemm_GFLOPs * 1e9, 2.0 * 16 * (24 * 8 + 16 * 24 + 24 * 16));
  expect_close(shape.activation_Melements * 1e6, 16 * (24 + 16 + 24));
  // A bias is part of its product, and a transposed side is read as it lies: what is left are the gradients of three
  // takers of b.
  expect_close(shape.streaming_passes, 3.0 * 2 * 16 * 24 / (16 * 64));
}

/// mean, difference, square, variance, root, quotient, gain and shift: one kernel that reads and writes once, and three
/// passes back. So with GELU.
TEST(Onnx, TakesChainsForTheKernelsThatPyTorchRuns) {
  const Sizes whole{1, 16, 8}, row{1, 16, 1};
  const CompactShape shape = Graph()
                                 .input("tokens", whole)
                                 .weight("w", {8, 8})
                                 .weight("gain", {8})
                                 .weight("shift", {8})
                                 .constant("two")
                                 .constant("small")
                                 .constant("root2")
                                 .constant("one")
                                 .constant("half")
                                 .node("MatMul", {"tokens", "w"}, "x", whole)
                                 .node("ReduceMean", {"x"}, "mean", row)
                                 .node("Sub", {"x", "mean"}, "d", whole)
                                 .node("Pow", {"d", "two"}, "square", whole)
                                 .node("ReduceMean", {"square"}, "variance", row)
                                 .node("Add", {"variance", "small"}, "sum", row)
                                 .node("Sqrt", {"sum"}, "root", row)
                                 .node("Div", {"d", "root"}, "n", whole)
                                 .node("Mul", {"n", "gain"}, "g", whole)
                                 .node("Add", {"g", "shift"}, "y", whole)
                                 .node("Div", {"y", "root2"}, "scaled", whole)
                                 .node("Erf", {"scaled"}, "erf", whole)
                                 .node("Add", {"erf", "one"}, "plus", whole)
                                 .node("Mul", {"y", "plus"}, "product", whole)
                                 .node("Mul", {"product", "half"}, "z", whole)
                                 .node("Sigmoid", {"z"}, "gate", whole)
                                 .node("Mul", {"z", "gate"}, "silu", whole)
                                 .count()
                                 .shape;
  expect_close(shape.streaming_passes, 5 + 5 + 5);
  EXPECT_EQ(shape.kernels_per_layer, 4);
  // In 16 bit x is cast to fp32 for the norm (3 + 3), which reads and writes fp32 (4 + 6); GELU and SiLU work in fp32
  // (10 each), and the tokens that came in fp32 are cast for the product (3 + 3).
  expect_close(shape.mixed_precision_passes, 6 + 10 + 10 + 10 + 6);
}

/// Scores of 4 × 4 of two heads are in no memory: FLOPs of both products count, elements of the second alone.
TEST(Onnx, AttentionStoresNoScores) {
  const Sizes heads{1, 2, 4, 8}, scores{1, 2, 4, 4};
  const CompactShape shape = Graph()
                                 .input("x", {1, 4, 16})
                                 .weight("w", {16, 16})
                                 .constant("scale")
                                 .constant("mask", {4, 4})
                                 .node("MatMul", {"x", "w"}, "q", {1, 4, 16})
                                 .node("Reshape", {"q"}, "h", heads)
                                 .node("Transpose", {"h"}, "t", {1, 2, 8, 4})
                                 .node("MatMul", {"h", "t"}, "s", scores)
                                 .node("Mul", {"s", "scale"}, "scaled", scores)
                                 .node("Add", {"mask", "scaled"}, "masked", scores)
                                 .node("Softmax", {"masked"}, "p", scores)
                                 .node("MatMul", {"p", "h"}, "o", heads)
                                 .count()
                                 .shape;
  expect_close(shape.gemm_GFLOPs * 1e9, 2.0 * 4 * 16 * 16 + 2 * 2.0 * 2 * 4 * 4 * 8);
  expect_close(shape.activation_Melements * 1e6, 64 + 64);
  // What is left: gradients of h meet from three takers.
  expect_close(shape.streaming_passes, 3.0 * 2 * 64 / 128);
}

/// Steps are one after another; gates of 4 · 16 for input and state of each of 10 steps.
TEST(Onnx, StepsThroughRecurrences) {
  const CompactShape shape = Graph()
                                 .input("x", {10, 1, 8})
                                 .weight("w", {1, 64, 8})
                                 .weight("r", {1, 64, 16})
                                 .node("LSTM", {"x", "w", "r"}, "y", {10, 1, 1, 16}, {{"hidden_size", 16}})
                                 .count()
                                 .shape;
  EXPECT_EQ(shape.sequential_steps, 10);
  expect_close(shape.gemm_GFLOPs * 1e9, 2.0 * 10 * 64 * (8 + 16));
}

/// Fresh norms are alike, so exporters keep one and name the others by Identity; a matrix is named so where it is tied.
TEST(Onnx, CountsCopiesOfVectorsAndTiedMatricesOnce) {
  const Sizes whole{1, 4, 8};
  const OnnxGraph graph = Graph()
                              .input("x", whole)
                              .weight("w", {8, 8})
                              .weight("gain", {8})
                              .node("Identity", {"gain"}, "gain2", {})
                              .node("Identity", {"w"}, "tied", {})
                              .node("MatMul", {"x", "w"}, "a", whole)
                              .node("Mul", {"a", "gain"}, "b", whole)
                              .node("Mul", {"b", "gain2"}, "c", whole)
                              .node("MatMul", {"c", "tied"}, "d", whole)
                              .read();
  double elements = 0;
  for (const auto& [name, weight] : graph.weights()) elements += weight.elements();
  EXPECT_EQ(elements, 64 + 8 + 8);
  EXPECT_TRUE(graph.value("tied").weight);
}

TEST(Onnx, SaysWhatItCannotCount) {
  Graph graph;
  graph.input("x", {1, 8}).weight("w", {8, 8}).node("MatMul", {"x", "w"}, "y", {1, 8});
  Graph strange = graph;
  strange.node("Quaternion", {"y"}, "z", {1, 8});
  EXPECT_THAT(strange.count().notes, ElementsAre(HasSubstr("1 × Quaternion")));
  EXPECT_THAT(graph.count().notes, IsEmpty());
  graph.of_unknown_size("y");
  EXPECT_EQ(faults_of(graph),
            "net.onnx: sizes of MatMul \"y\" do not follow from those of the inputs; export it with sizes that are "
            "fixed, or simplify it (onnxsim)");
  EXPECT_THAT(faults_of(Graph().input("x", {1, 8}).node("Relu", {"x"}, "y", {1, 8})),
              HasSubstr("no operator multiplies a trained weight"));
}

}  // namespace
}  // namespace stepcast::onnx_test
