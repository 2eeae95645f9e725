#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

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
  Graph& tie(const char* name, const char* other) {
    text_["values"][name]["tied_to"] = other;
    return *this;
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
  // The image is in fp32 and is cast to 16 bit: (2 + 1) · 3·64·64, and nothing asks for its gradient.
  expect_close(shape.mixed_precision_passes, (19 + 3 * 3.0 * 4096 / 65536) / 2);
  expect_close(shape.kernels_per_layer, 5 / 2.0);
  // The image's cast, and one of each convolution's weights.
  expect_close(shape.mixed_precision_kernels_per_layer, (5 + 1 + 2) / 2.0);
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
  // (10 each), and the tokens that came in fp32 are cast for the product (3).
  expect_close(shape.mixed_precision_passes, 6 + 10 + 10 + 10 + 3);
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

/// A bias that is trained needs stored scores for its gradient: elements of both products count, and the passes of
/// softmax (2 and 3) and of the sum, which repeats nothing here (2 + 1 operands; no gradient of its own size).
TEST(Onnx, AttentionWithATrainedBiasStoresItsScores) {
  const Sizes heads{1, 2, 4, 8}, scores{1, 2, 4, 4};
  const CompactShape shape = Graph()
                                 .input("x", {1, 4, 16})
                                 .weight("w", {16, 16})
                                 .weight("bias", {1, 2, 4, 4})
                                 .node("MatMul", {"x", "w"}, "q", {1, 4, 16})
                                 .node("Reshape", {"q"}, "h", heads)
                                 .node("Transpose", {"h"}, "t", {1, 2, 8, 4})
                                 .node("MatMul", {"h", "t"}, "s", scores)
                                 .node("Add", {"s", "bias"}, "biased", scores)
                                 .node("Softmax", {"biased"}, "p", scores)
                                 .node("MatMul", {"p", "h"}, "o", heads)
                                 .count()
                                 .shape;
  expect_close(shape.activation_Melements * 1e6, 64 + 32 + 64);
  expect_close(shape.streaming_passes, (2 * 32 + 5 * 32 + 3.0 * 2 * 64) / 160);
}

/// What finds each element's place for itself is counted apart from what streams: in and out, once.
TEST(Onnx, CountsKernelsByElementApart) {
  const Sizes whole{1, 8, 16, 16}, half{1, 8, 8, 8};
  const CompactShape shape = Graph()
                                 .input("x", whole)
                                 .weight("w", {8, 8, 1, 1})
                                 .node("Conv", {"x", "w"}, "a", whole, window(1, 1))
                                 .node("MaxPool", {"a"}, "b", half, window(3, 2))
                                 .node("AveragePool", {"b"}, "c", half, window(3, 1))
                                 .node("Resize", {"c"}, "d", whole, {{"mode", "linear"}})
                                 .node("Resize", {"d"}, "e", whole, {{"mode", "nearest"}})
                                 .node("Pad", {"e"}, "f", whole)
                                 .count()
                                 .shape;
  std::map<ElementKernelKind, double> found;
  for (const ElementKernels& kernels : shape.element_kernels) found[kernels.kind] = kernels.Melements * 1e6;
  ASSERT_EQ(found.size(), 5u);
  expect_close(found[ElementKernelKind::max_pool], 2048 + 512);
  expect_close(found[ElementKernelKind::average_pool], 2 * 512);
  expect_close(found[ElementKernelKind::linear_resize], 512 + 2048);
  expect_close(found[ElementKernelKind::nearest_resize], 2 * 2048);
  expect_close(found[ElementKernelKind::strided], 2 * 2048);
  EXPECT_EQ(shape.streaming_passes, 0);
  EXPECT_EQ(shape.kernels_per_layer, 6);
}

/// Two ends of a value in the other order are one kernel; ends of two values are put together as ever.
TEST(Onnx, TakesSlicesInTheOtherOrderForARoll) {
  const Sizes whole{1, 16, 8}, front{1, 4, 8}, back{1, 12, 8};
  Graph graph;
  graph.input("x", whole).weight("w", {8, 8}).node("MatMul", {"x", "w"}, "a", whole);
  Graph two = graph;
  graph.node("Slice", {"a"}, "back", back).node("Slice", {"a"}, "front", front);
  graph.node("Concat", {"back", "front"}, "rolled", whole);
  const CompactShape rolled = graph.count().shape;
  ASSERT_EQ(rolled.element_kernels.size(), 1u);
  EXPECT_EQ(rolled.element_kernels[0].kind, ElementKernelKind::roll);
  expect_close(rolled.element_kernels[0].Melements * 1e6, 2 * 128);
  EXPECT_EQ(rolled.streaming_passes, 0);
  two.node("Relu", {"a"}, "b", whole).node("Slice", {"a"}, "back", back).node("Slice", {"b"}, "front", front);
  EXPECT_THAT(two.node("Concat", {"back", "front"}, "joined", whole).count().shape.element_kernels, IsEmpty());
}

/// A factor of each channel is repeated over its pixels: forward 2 n + c by element, and of the gradients' 2 (2 n + c)
/// as much again; the rest streams.
TEST(Onnx, RepeatedFactorsAreStrided) {
  const Sizes whole{1, 8, 16, 16};
  const CompactShape shape = Graph()
                                 .input("x", whole)
                                 .weight("w", {8, 8, 1, 1})
                                 .weight("v", {8, 8, 1, 1})
                                 .node("Conv", {"x", "w"}, "a", whole, window(1, 1))
                                 .node("GlobalAveragePool", {"a"}, "m", {1, 8, 1, 1})
                                 .node("Conv", {"m", "v"}, "s", {1, 8, 1, 1}, window(1, 1))
                                 .node("Mul", {"a", "s"}, "y", whole)
                                 .count()
                                 .shape;
  ASSERT_EQ(shape.element_kernels.size(), 1u);
  EXPECT_EQ(shape.element_kernels[0].kind, ElementKernelKind::strided);
  expect_close(shape.element_kernels[0].Melements * 1e6, 2 * 2048 + 8);
  // Mean of images both ways, the remaining gradient of the product, and gradients of a from two takers.
  expect_close(shape.streaming_passes, (2 * (2048 + 8) + 2 * 2048 + 8 + 3 * 2048) / (2048.0 + 8));
}

/// cuDNN has kernels for groups of 4, 8, 16 …; three groups of 12 are three convolutions of 12 channels between copies.
TEST(Onnx, GroupsOfOtherWidthsRunOneByOne) {
  const Sizes whole{1, 36, 8, 8};
  const double elements = 36 * 64;
  const CompactShape shape = Graph()
                                 .input("x", whole)
                                 .weight("w", {36, 12, 3, 3})
                                 .node("Conv", {"x", "w"}, "y", whole, window(3, 1, 3))
                                 .count()
                                 .shape;
  EXPECT_EQ(shape.grouped_GFLOPs, 0);
  expect_close(shape.three_by_three_GFLOPs * 1e9, 2 * elements * 12 * 9);
  ASSERT_EQ(shape.narrow_windows.size(), 1u);
  EXPECT_EQ(shape.narrow_windows[0].channels, 12);
  ASSERT_EQ(shape.element_kernels.size(), 1u);
  expect_close(shape.element_kernels[0].Melements * 1e6, 2 * 2 * elements);
  EXPECT_EQ(shape.kernels_per_layer, 3 * 3);
}

/// Rounded to five digits each, narrow windows may come to more than all of them.
TEST(Onnx, RoundedNarrowWindowsAreAmongAll) {
  const Sizes whole{1, 64, 37, 37};
  Graph graph;
  graph.input("x", {1, 3, 37, 37}).weight("w", {64, 3, 3, 3}).weight("v", {64, 64, 3, 3}).weight("u", {64, 64, 5, 3});
  graph.node("Conv", {"x", "w"}, "a", whole, window(3, 1)).node("Conv", {"a", "v"}, "b", whole, window(3, 1));
  graph.node("Conv", {"b", "u"}, "c", whole, window(3, 1));
  const CompactShape shape = graph.count().shape;
  double narrow = 0;
  for (const NarrowWindows& windows : shape.narrow_windows) narrow += windows.GFLOPs;
  EXPECT_LE(narrow, (shape.three_by_three_GFLOPs + shape.window_GFLOPs) * (1 + 1e-9));
  EXPECT_NEAR(narrow, shape.three_by_three_GFLOPs + shape.window_GFLOPs, 1e-4 * narrow);
}

/// Autocast narrows PReLU's operands, whose slopes are in fp32: nothing behind it is wide.
TEST(Onnx, PReluStaysNarrow) {
  const Sizes whole{1, 16, 8};
  const auto passes = [&](const char* kind) {
    const CompactShape shape = Graph()
                                   .input("x", whole)
                                   .weight("w", {8, 8})
                                   .weight("slopes", {8})
                                   .node("MatMul", {"x", "w"}, "a", whole)
                                   .node(kind, {"a", "slopes"}, "b", whole)
                                   .count()
                                   .shape;
    return shape.mixed_precision_passes - shape.streaming_passes;
  };
  // The cast of what comes in, and 3 more of a Relu-like kernel whose result would be wide.
  expect_close(passes("PRelu"), 3);
  expect_close(passes("LeakyRelu"), 3 + 3);
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

// A network of nothing but matrices has as many parameters as these, whatever the fifth digit.
TEST(Onnx, ParametersAreNoFewerThanThoseInMatrices) {
  for (const double width : {1711.0, 1713.0, 1717.0}) {
    const CompactShape shape = Graph()
                                   .input("x", {1, width})
                                   .weight("w", {width, 1153})
                                   .node("MatMul", {"x", "w"}, "y", {1, 1153})
                                   .count()
                                   .shape;
    EXPECT_GE(shape.parameters_M * 1e6 * (1 + 1e-9), width * 1153);
    EXPECT_NEAR(shape.parameters_M * 1e6, width * 1153, 100);
    Model model;
    model.id = "net";
    model.family = ModelFamily::compact;
    model.compact = shape;
    Diagnostics diagnostics("net.onnx");
    check_model(model, "", diagnostics);
    diagnostics.throw_if_faulty();
  }
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

// Embeddings that the output shares come as two weights; layers that began alike as one.
TEST(Onnx, WeightsThatAreSharedCountOnceAndAreNamed) {
  Graph graph;
  graph.input("ids", {1, 4}).weight("table", {50, 8}).weight("head", {8, 50}).weight("w", {8, 8});
  graph.node("Gather", {"table", "ids"}, "x", {1, 4, 8}).node("MatMul", {"x", "w"}, "a", {1, 4, 8});
  graph.node("MatMul", {"a", "w"}, "b", {1, 4, 8}).node("MatMul", {"b", "head"}, "y", {1, 4, 50});
  EXPECT_NEAR(graph.count().shape.parameters_M * 1e6, 400 + 400 + 64, 1e-6);
  graph.tie("head", "table");
  const OnnxNetwork tied = graph.count();
  EXPECT_NEAR(tied.shape.parameters_M * 1e6, 400 + 64, 1e-6);
  EXPECT_THAT(tied.notes, testing::Contains(HasSubstr("\"head\" holds the numbers of \"table\"")));
  EXPECT_THAT(tied.notes, testing::Contains(HasSubstr("1 weights go into 2 products")));
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
