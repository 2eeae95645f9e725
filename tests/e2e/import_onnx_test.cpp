#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/process.hpp"
#include "tests/onnx_file.hpp"

// Networks in protobuf's text form, which protoc makes ONNX files of.
namespace stepcast::import_onnx_test {
namespace {

using testing::HasSubstr;

class ImportOnnx : public testing::Test {
 protected:
  /// An ONNX file of a text.
  std::filesystem::path made(const std::string& name, const std::string& text) {
    const std::filesystem::path source = folder_ / (name + ".txtpb"), file = folder_ / (name + ".onnx");
    std::ofstream(source) << text;
    make_onnx_file(source, file);
    return file;
  }
  static std::string residual() { return read_text(STEPCAST_SOURCE_DIR "/tests/data/onnx/residual.txtpb"); }

  static std::string refused(const std::vector<std::string>& arguments) {
    std::vector<std::string> words{"import", "onnx"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    const Finished finished = stepcast_run(words);
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    return finished.err;
  }
  static Json shape_of(const std::filesystem::path& file, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"import", "onnx", file.string(), "--model-only"};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = stepcast_run(words);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.json().at("compact");
  }

  const ScratchFolder folder_;
};

TEST_F(ImportOnnx, ANetworkOfOnesOwnIsPredicted) {
  const std::filesystem::path file = made("mine", residual());
  const std::string scenario = (folder_ / "mine.json").string();
  const Finished imported = stepcast_run({"import", "onnx", file.string(), "--nodes", "2", "-o", scenario});
  ASSERT_EQ(imported.code, 0) << imported.err;
  const Finished ran = stepcast_run({"run", scenario, "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_GT(ran.json().at("samples_per_s").get<double>(), 0);
  const Json shape = shape_of(file);
  EXPECT_EQ(shape.at("layers"), 3);
  EXPECT_NEAR(shape.at("three_by_three_GFLOPs").get<double>(), 2.0 * 65536 * 64 * 9 / 1e9, 1e-6);
  EXPECT_NEAR(shape.at("streaming_passes").get<double>(), (19 * 65536 + 2 * (65536 + 64)) / (2 * 65536 + 1000.0), 1e-3);
}

// A product and nothing else reads and writes no elements by itself.
TEST_F(ImportOnnx, OneProductIsANetwork) {
  const Json shape = shape_of(made("line", R"(ir_version: 8 opset_import { version: 13 } graph { name: "line"
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1711 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 1153 } } } } }
    initializer { name: "w" data_type: 1 dims: [1711, 1153] }
    node { op_type: "MatMul" name: "product" input: ["x", "w"] output: "y" } })"));
  EXPECT_EQ(shape.at("streaming_passes"), 0);
  EXPECT_DOUBLE_EQ(shape.at("parameters_M").get<double>(), 1.9728);  // 1711 · 1153, five digits, no fewer than it is
}

// Exporters fold the transpose of shared embeddings into a second weight.
TEST_F(ImportOnnx, EmbeddingsThatTheOutputSharesCountOnce) {
  const auto network = [&](const std::string& name, const std::string& head) {
    return shape_of(made(name, R"(ir_version: 8 opset_import { version: 13 } graph { name: "words"
      input { name: "ids" type { tensor_type { elem_type: 7 shape { dim { dim_value: 1 } dim { dim_value: 4 } } } } }
      output { name: "y" type { tensor_type { elem_type: 1
        shape { dim { dim_value: 1 } dim { dim_value: 4 } dim { dim_value: 3 } } } } }
      initializer { name: "table" data_type: 1 dims: [3, 2] float_data: [1, 2, 3, 4, 5, 6] }
      initializer { name: "head" data_type: 1 dims: [2, 3] float_data: [)" +
                                   head + R"(] }
      node { op_type: "Gather" name: "look" input: ["table", "ids"] output: "x" }
      node { op_type: "MatMul" name: "product" input: ["x", "head"] output: "y" } })"));
  };
  EXPECT_DOUBLE_EQ(network("tied", "1, 3, 5, 2, 4, 6").at("parameters_M").get<double>(), 6e-6);
  EXPECT_DOUBLE_EQ(network("apart", "1, 3, 5, 2, 4, 7").at("parameters_M").get<double>(), 12e-6);
}

TEST_F(ImportOnnx, WhatIsNoOnnxFileIsOneErrorEach) {
  const std::filesystem::path file = made("half", residual());
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_THAT(refused({file.string()}), HasSubstr("half.onnx: is no ONNX model; expected what torch.onnx.export"));
  EXPECT_THAT(refused({"absent.onnx"}), HasSubstr("absent.onnx: cannot be read"));
  EXPECT_THAT(refused({file.string(), "--dim", "tokens"}), HasSubstr("--dim: found \"tokens\"; expected NAME=N"));
}

TEST_F(ImportOnnx, SizesThatInputsLeaveOpenAreAskedFor) {
  std::string text = residual();
  const std::string fixed = "dim { dim_value: 3 } dim { dim_value: 64 }";
  text.replace(text.find(fixed), fixed.size(), R"(dim { dim_value: 3 } dim { dim_param: "height" })");
  const std::filesystem::path open = made("open", text);
  EXPECT_THAT(refused({open.string()}),
              HasSubstr("input \"images\" leaves its size \"height\" open; expected --dim height=N"));
  EXPECT_THAT(refused({open.string(), "--dim", "height=64", "--dim", "width=64"}),
              HasSubstr("no input has an open size \"width\""));
  EXPECT_EQ(shape_of(open, {"--dim", "height=64"}), shape_of(made("fixed", residual())));
}

/// Newer exporters name the axes of a reduction by an input, which ONNX's library of Debian 12 does not know.
TEST_F(ImportOnnx, ReductionsOfNewerOperatorSetsAreRead) {
  std::string text = residual();
  const auto put = [&](const std::string& old, const std::string& now) {
    text.replace(text.find(old), old.size(), now);
  };
  put("version: 13", "version: 18");
  put(R"(op_type: "GlobalAveragePool" name: "pool" input: "sum" output: "pooled")",
      R"(op_type: "ReduceMean" name: "pool" input: ["sum", "axes"] output: "pooled")");
  put(R"(initializer { name: "gain")",
      R"(initializer { name: "axes" data_type: 7 dims: [2] int64_data: [2, 3] } initializer { name: "gain")");
  EXPECT_EQ(shape_of(made("newer", text)), shape_of(made("older", residual())));
}

/// A constant of whole numbers.
std::string whole(const std::string& name, const std::string& numbers, const std::string& sizes) {
  return "initializer { name: \"" + name + "\" data_type: 7 dims: [" + sizes + "] int64_data: [" + numbers + "] }\n";
}

std::string operation(const std::string& kind, const std::string& inputs, const std::string& output,
                      const std::string& attributes = "") {
  return "node { op_type: \"" + kind + "\" name: \"" + output + "\" input: [" + inputs + "] output: \"" + output +
         "\" " + attributes + " }\n";
}

/// A network whose second convolution stands behind more operators, and takes their result in place of x.
std::string with(const std::string& network, const std::string& operators, const std::string& input) {
  const std::string block = R"(node {
    op_type: "Conv" name: "block" input: ["x")";
  std::string text = network;
  const std::size_t at = text.find(block);
  EXPECT_NE(at, std::string::npos);
  return text.replace(at, block.size(), operators + R"(node { op_type: "Conv" name: "block" input: [")" + input + "\"");
}

/// The first of so many chunks of x's 64 channels, as `torch.chunk` is written: the size is rounded up and divided.
std::string chunk_of(const std::string& network, const std::string& axis, const std::string& chunks) {
  const std::string operators =
      whole("axis", axis, "") + whole("less", "1", "1") + whole("chunks", chunks, "1") + whole("begin", "0", "1") +
      whole("channels", "1", "1") + operation("Shape", R"("x")", "sizes") +
      operation("Gather", R"("sizes", "axis")", "size") + operation("Add", R"("size", "less")", "rounded_up") +
      operation("Div", R"("rounded_up", "chunks")", "end") +
      operation("Slice", R"("x", "begin", "end", "channels")", "chunk");
  return with(network, operators, "chunk");
}

TEST_F(ImportOnnx, ChunksOfComputedSizesAreFollowed) {
  std::string text = chunk_of(residual(), "1", "2");
  const std::string weight = "dims: [64, 64, 3, 3]";
  text.replace(text.find(weight), weight.size(), "dims: [64, 32, 3, 3]");
  EXPECT_NEAR(shape_of(made("chunk", text)).at("three_by_three_GFLOPs").get<double>(), 2.0 * 65536 * 32 * 9 / 1e9,
              1e-6);
}

TEST_F(ImportOnnx, SizesThatCannotBeComputedAreOneErrorEach) {
  EXPECT_THAT(refused({made("zero", chunk_of(residual(), "1", "0")).string()}),
              HasSubstr("sizes of Conv \"block\" do not follow from those of the inputs"));
  EXPECT_THAT(refused({made("outside", chunk_of(residual(), "9", "2")).string()}),
              HasSubstr("its shapes contradict one another"));
}

/// 32 × 32 positions padded to whole windows of 5 × 5, as Swin writes it: 49 windows of 25 positions meet each other.
TEST_F(ImportOnnx, WindowsOfComputedCountsAreFollowed) {
  const std::string shapes =
      whole("window", "5", "1") + whole("pair", "2, 3", "2") + whole("begins", "0, 0, 0, 0, 0, 0", "6") +
      whole("inside", "1, 64", "2") + whole("windows_first", "64, 25", "2") + operation("Shape", R"("x")", "sizes") +
      operation("Gather", R"("sizes", "pair")", "sides", R"(attribute { name: "axis" type: INT i: 0 })") +
      operation("Mod", R"("sides", "window")", "rest") + operation("Sub", R"("window", "rest")", "missing") +
      operation("Mod", R"("missing", "window")", "ends") +
      operation("Concat", R"("begins", "ends")", "pads", R"(attribute { name: "axis" type: INT i: 0 })") +
      operation("Pad", R"("x", "pads")", "padded") + operation("Add", R"("sides", "ends")", "padded_sides") +
      operation("Div", R"("padded_sides", "window")", "counts") +
      operation("ReduceProd", R"("counts")", "count", R"(attribute { name: "keepdims" type: INT i: 1 })") +
      operation("Concat", R"("count", "windows_first")", "shape", R"(attribute { name: "axis" type: INT i: 0 })") +
      operation("Reshape", R"("padded", "shape")", "rows") +
      operation("Transpose", R"("rows")", "columns", R"(attribute { name: "perm" type: INTS ints: [0, 2, 1] })") +
      operation("MatMul", R"("columns", "rows")", "scores");
  EXPECT_NEAR(shape_of(made("windows", with(residual(), shapes, "x"))).at("gemm_GFLOPs").get<double>(),
              (2.0 * 49 * 25 * 25 * 64 + 2 * 64000) / 1e9, 1e-7);
}

/// As exporters write `squeeze`: the branch that the sizes choose is the network's.
TEST_F(ImportOnnx, OfAChoiceBySizesTheBranchIsTaken) {
  const auto branch = [](const std::string& name, const std::string& kind) {
    return "attribute { name: \"" + name + "\" type: GRAPH g { name: \"" + name + "\" " +
           operation(kind, R"("x")", name + "_x") + "output { name: \"" + name + "_x\" } } }";
  };
  const std::string operators =
      whole("axis", "1", "") + whole("few", "64", "") + operation("Shape", R"("x")", "sizes") +
      operation("Gather", R"("sizes", "axis")", "channels") + operation("Equal", R"("channels", "few")", "are_few") +
      operation("If", R"("are_few")", "chosen",
                branch("then_branch", "Identity") + branch("else_branch", "GlobalMaxPool"));
  EXPECT_EQ(shape_of(made("choice", with(residual(), operators, "chosen"))).at("three_by_three_GFLOPs"),
            shape_of(made("plain", residual())).at("three_by_three_GFLOPs"));
}

/// A part of another value's sizes, as segmentation networks resize to those of an image: 16 × 16 of 64 × 64.
TEST_F(ImportOnnx, ResizingToComputedSizesIsFollowed) {
  const std::string operators =
      whole("pair", "2, 3", "2") + whole("first", "1, 64", "2") + whole("four", "4", "1") +
      operation("Shape", R"("images")", "sizes") + operation("Gather", R"("sizes", "pair")", "sides") +
      operation("Div", R"("sides", "four")", "quarters") +
      operation("Concat", R"("first", "quarters")", "shape", R"(attribute { name: "axis" type: INT i: 0 })") +
      operation("Resize", R"("x", "", "", "shape")", "resized");
  std::string text = with(residual(), operators, "resized");
  const std::string shortcut = R"(input: ["block", "x"])";
  text.replace(text.find(shortcut), shortcut.size(), R"(input: ["block", "resized"])");
  EXPECT_NEAR(shape_of(made("resized", text)).at("three_by_three_GFLOPs").get<double>(), 2.0 * 64 * 256 * 64 * 9 / 1e9,
              1e-6);
}

TEST_F(ImportOnnx, EinsumsSizesFollowFromItsLetters) {
  const std::string operators =
      whole("rows_of", "1, 2, 32, 1024", "4") + operation("Reshape", R"("x", "rows_of")", "rows") +
      operation("Einsum", R"("rows", "rows")", "scores",
                R"(attribute { name: "equation" type: STRING s: "B H D I, B H D J -> B H I J" })") +
      operation("Einsum", R"("scores", "rows")", "mixed",
                R"(attribute { name: "equation" type: STRING s: "B H I J, B H D J -> B H D I" })") +
      whole("as_x", "1, 64, 32, 32", "4") + operation("Reshape", R"("mixed", "as_x")", "attended");
  EXPECT_NEAR(shape_of(made("einsum", with(residual(), operators, "attended"))).at("gemm_GFLOPs").get<double>(),
              (2 * 2.0 * 2 * 1024 * 1024 * 32 + 2 * 64000) / 1e9, 1e-5);
}

}  // namespace
}  // namespace stepcast::import_onnx_test
