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

}  // namespace
}  // namespace stepcast::import_onnx_test
