#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/compute/device.hpp"
#include "models/workload/operators.hpp"
#include "tests/unit/layer_steps.hpp"
#include "tests/unit/shipped.hpp"

namespace stepcast::compact_test {
namespace {

using testing::HasSubstr;
using namespace literals;

/// Round figures: 10 layers that give 1 M elements each, 4 GFLOPs of which 1×1 convolutions do three quarters.
Model round_model() {
  Model model;
  model.id = "round";
  model.family = ModelFamily::compact;
  CompactShape shape;
  shape.layers = 10;
  shape.parameters_M = 20;
  shape.pointwise_GFLOPs = 3;
  shape.three_by_three_GFLOPs = 1;
  shape.activation_Melements = 10;
  shape.streaming_passes = 13;
  model.compact = shape;
  return model;
}

LayerWork layer(const Model& model, double micro_batch) {
  return layer_work(model, LayerRole::cnn, 0, micro_batch, 0, {});
}

double flops(const std::vector<LayerStep>& steps) {
  double sum = 0;
  for (const LayerStep& step : steps) sum += step.op.flops.value();
  return sum;
}

// A CNN's layer table has its images; totals state theirs where they are not ImageNet's 224.
TEST(Compact, FiguresHoldForImagesOfASize) {
  EXPECT_EQ(image_side(round_model()), 224);
  EXPECT_EQ(image_side(*test::preset("efficientnet-b4")), 380);
  EXPECT_EQ(image_side(*test::preset("inception-v3")), 299);
}

TEST(Compact, LayersShareTheTotals) {
  const Model model = round_model();
  EXPECT_EQ(layer_count(model), 10);
  EXPECT_EQ(parameter_count(model), 20e6);
  EXPECT_EQ(model_flops_per_sample(model, 0, {}).value(), 3 * 4e9);
  const LayerWork work = layer(model, 8);
  EXPECT_EQ(work.parameters, 2e6);
  EXPECT_DOUBLE_EQ(flops(work.forward), 8 * 4e8);
  EXPECT_DOUBLE_EQ(flops(work.backward_input) + flops(work.backward_weight), 2 * 8 * 4e8);
  // 8 samples × 1 M elements × 2 bytes, once before a norm and once handed on.
  EXPECT_EQ(work.activations.value(), 2 * 16e6);
}

// Of fp32 there is nothing to widen.
TEST(Compact, AutomaticMixedPrecisionHasItsOwnPasses) {
  Model model = round_model();
  const auto bytes = [&](bool mixed, double element) {
    LayerSharding cuts;
    cuts.automatic_mixed_precision = mixed;
    cuts.bytes_per_element = element;
    const LayerWork work = layer_work(model, LayerRole::cnn, 0, 8, 0, cuts);
    return test::named(work.forward, "streaming").op.bytes.value() +
           test::named(work.backward_input, "streaming_backward").op.bytes.value();
  };
  EXPECT_DOUBLE_EQ(bytes(true, 2), 13 * 16e6);
  model.compact->mixed_precision_passes = 20;
  EXPECT_DOUBLE_EQ(bytes(true, 2), 20 * 16e6);
  EXPECT_DOUBLE_EQ(bytes(false, 2), 13 * 16e6);
  EXPECT_DOUBLE_EQ(bytes(true, 4), 13 * 32e6);
}

// A compiled step casts inside of other kernels: passes and launches without those of mixed precision.
TEST(Compact, CompiledStepsCastInsideOfOtherKernels) {
  Model model = round_model();
  model.compact->mixed_precision_passes = 20;
  model.compact->mixed_precision_kernels_per_layer = 8;
  LayerSharding cuts;
  cuts.automatic_mixed_precision = cuts.compiled = true;
  const LayerWork work = layer_work(model, LayerRole::cnn, 0, 8, 0, cuts);
  EXPECT_DOUBLE_EQ(test::named(work.forward, "streaming").op.bytes.value() +
                       test::named(work.backward_input, "streaming_backward").op.bytes.value(),
                   13 * 16e6);
  double launches = 0;
  for (const LayerStep& step : work.forward) launches += step.op.kernels;
  EXPECT_EQ(launches, 3);
  // Batch norms take their activations in: 10 of 13 passes are left.
  model.compact->batch_norms = 10;
  const LayerWork normed = layer_work(model, LayerRole::cnn, 0, 8, 0, cuts);
  EXPECT_DOUBLE_EQ(test::named(normed.forward, "streaming").op.bytes.value() +
                       test::named(normed.backward_input, "streaming_backward").op.bytes.value(),
                   10 * 16e6);
}

// Casts of weights are launches of their own: 5 of a layer, and 8 with them; one of them is the product's.
TEST(Compact, AutomaticMixedPrecisionHasItsOwnLaunches) {
  Model model = round_model();
  model.compact->kernels_per_layer = 5;
  const auto launches = [&](bool mixed, double element) {
    LayerSharding cuts;
    cuts.automatic_mixed_precision = mixed;
    cuts.bytes_per_element = element;
    double sum = 0;
    for (const LayerStep& step : layer_work(model, LayerRole::cnn, 0, 8, 0, cuts).forward) sum += step.op.kernels;
    return sum;
  };
  EXPECT_EQ(launches(true, 2), 5);
  model.compact->mixed_precision_kernels_per_layer = 8;
  EXPECT_EQ(launches(true, 2), 8);
  EXPECT_EQ(launches(false, 2), 5);
  EXPECT_EQ(launches(true, 4), 5);
}

// 13 passes over 16 MB in both directions together.
TEST(Compact, StreamsOverWhatTheLayersGive) {
  const LayerWork work = layer(round_model(), 8);
  double bytes = 0;
  for (const auto* steps : {&work.forward, &work.backward_input, &work.backward_weight})
    for (const LayerStep& step : *steps)
      if (step.op.kind == OperatorKind::memory) bytes += step.op.bytes.value();
  EXPECT_DOUBLE_EQ(bytes, 13 * 16e6);
}

// A layer of 2.5 M weights and a depth of 4e9 / (2 · 2 M) = 1,000 has 2,500 columns, no multiple of eight as those of
// real networks are.
TEST(Compact, ProductsHaveRoundWidths) {
  Model model = round_model();
  model.compact->gemm_GFLOPs = 4;
  model.compact->pointwise_GFLOPs = model.compact->three_by_three_GFLOPs = model.compact->window_GFLOPs = 0;
  model.compact->activation_Melements = 2;
  model.compact->parameters_M = 25;
  const LayerWork work = layer(model, 8);
  const Operator& product = work.forward.front().op;
  EXPECT_EQ(product.k, 1024);
  EXPECT_EQ(product.n, 2496);
  EXPECT_DOUBLE_EQ(2 * product.m * product.n * product.k, 8 * 4e8);
}

/// Passes of a DenseNet over what its convolutions give, from Table 1 of arXiv 1608.06993: growth 32, each layer a 1×1
/// convolution to 128 channels of all maps so far and a 3×3 one; a transition halves the channels and the sides.
double dense_passes(const std::vector<int>& blocks) {
  constexpr double kGrowth = 32, kNarrow = 128;
  double channels = 64, side = 56;
  double given = 112 * 112 * channels, taken = 224 * 224 * 3, normed = given, pooled = given + side * side * channels;
  double gathered = 0, maps = 0;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    const double pixels = side * side;
    maps += pixels * (channels + kGrowth * blocks[block]);
    for (int layer = 0; layer < blocks[block]; ++layer, channels += kGrowth) {
      gathered += pixels * channels;
      normed += pixels * (channels + kNarrow);
      taken += pixels * (channels + kNarrow);
      given += pixels * (kNarrow + kGrowth);
    }
    gathered += pixels * channels;
    normed += pixels * channels;
    if (block + 1 == blocks.size()) break;
    taken += pixels * channels;
    channels /= 2;
    given += pixels * channels;
    pooled += pixels * channels * (1 + 1.0 / 4);
    side /= 2;
  }
  // Norm 3 + 5, ReLU 2 + 3; pooling both ways; a copy, and sums of gradients; what products take beyond their output.
  const double passes = 13 * normed + 2 * pooled + 2 * gathered + 3 * (gathered - maps) + 3 * (taken - given);
  return passes / given;
}

/// Those that stream, and both ways those that find each element's place.
double all_passes(const CompactShape& shape) {
  double elements = 0;
  for (const ElementKernels& kernels : shape.element_kernels) elements += kernels.Melements;
  return shape.streaming_passes + 2 * elements / shape.activation_Melements;
}

TEST(Compact, DenseNetsCopyWhatTheyGather) {
  EXPECT_NEAR(all_passes(*test::preset("densenet121")->compact), dense_passes({6, 12, 24, 16}), 0.1);
  EXPECT_NEAR(all_passes(*test::preset("densenet169")->compact), dense_passes({6, 12, 32, 32}), 0.1);
}

// Each step of a recurrent layer is a launch of its own.
// EfficientNet-B4: 32 blocks of three convolutions with a norm, but two without the first of them; stem and head.
TEST(Compact, BatchNormsMeetAsOftenAsThereAre) {
  Diagnostics diagnostics("");
  const auto model = find_model("efficientnet-b4", "", diagnostics);
  EXPECT_EQ(batch_norms(*model), 32 * 3 - 2 + 2);
  LayerSharding cuts;
  const auto meetings = [&] {
    double calls = 0;
    const LayerWork work = layer_work(*model, LayerRole::cnn, 0, 4, 0, cuts);
    for (const auto& steps : {work.forward, work.backward_input})
      for (const LayerStep& step : steps)
        if (step.communication == LayerCommunication::data) calls += step.calls;
    return calls * model->compact->layers;
  };
  EXPECT_EQ(meetings(), 0);
  cuts.sync_batch_norm = true;
  EXPECT_NEAR(meetings(), 2 * 96, 1e-9);
}

TEST(Compact, StepsOfARecurrentLayerAreLaunches) {
  Model model = round_model();
  model.compact->sequential_steps = 50;
  int launches = 0;
  for (const LayerStep& step : layer(model, 8).forward) launches += step.op.kernels;
  EXPECT_EQ(launches, 3 * 50);
}

TEST(Compact, NeedsWorkAndItsOwnShape) {
  Model model = round_model();
  Diagnostics none("test");
  check_model(model, "/workload/model", none);
  EXPECT_TRUE(none.ok());
  model.compact->largest_tensor_M = 20.5;
  Diagnostics larger("test");
  check_model(model, "/workload/model", larger);
  ASSERT_EQ(larger.faults().size(), 1u);
  EXPECT_EQ(larger.faults().front().pointer, "/workload/model/compact/largest_tensor_M");
  model.compact->largest_tensor_M = 20;
  model.compact->pointwise_GFLOPs = model.compact->three_by_three_GFLOPs = 0;
  Diagnostics idle("test");
  check_model(model, "/workload/model", idle);
  ASSERT_EQ(idle.faults().size(), 1u);
  EXPECT_EQ(idle.faults().front().pointer, "/workload/model/compact");
  EXPECT_THAT(idle.faults().front().message, HasSubstr("gemm_GFLOPs"));
  model.compact.reset();
  Diagnostics bare("test");
  check_model(model, "/workload/model", bare);
  ASSERT_EQ(bare.faults().size(), 1u);
  EXPECT_THAT(bare.faults().front().message, HasSubstr("compact"));
}

/// 100 TFLOP/s in the training format, 10 in fp32, nothing but arithmetic.
Device convolution_device() {
  Device device;
  device.peak = device.peak_wide = 100_TFLOPS;
  device.peak_fp32 = 10_TFLOPS;
  device.memory_bandwidth = 1e9 * 1_GBps;
  device.convolution_share = 0.5;
  device.pointwise_share = 0.4;
  device.three_by_three_share = 1.2;
  device.grouped_share = 0.1;
  device.depthwise_share = 0.2;
  return device;
}

double rate_in_tflops(ConvolutionKind kind, const Device& device, double width = 0) {
  Operator op;
  op.kind = OperatorKind::convolution;
  op.convolution = kind;
  op.width = width;
  op.m = op.n = op.k = 1000;
  op.flops = Flops(2e9);
  return 2e9 / operator_time(op, device).value() / 1e12;
}

TEST(ConvolutionKinds, EachRunsAtItsOwnShare) {
  const Device device = convolution_device();
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::window, device), 50, 1e-6);  // has none of its own
  // Winograd's multiplications are fewer than the direct ones that are counted.
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::three_by_three, device), 120, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::pointwise, device), 40, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::grouped, device), 10, 1e-6);
  // A fifth of the fp32 peak, whatever the format.
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::depthwise, device), 2, 1e-6);
}

// A matrix unit full at 100 channels is half fed by 50, and by none that are not stated less than whole.
TEST(ConvolutionKinds, FewChannelsKeepMatrixUnitsWaiting) {
  Device device = convolution_device();
  device.convolution_full_width = 100;
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::window, device, 50), 25, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::window, device, 200), 50, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::window, device, 0), 50, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::pointwise, device, 25), 10, 1e-6);
  // Grouped ones: what 8 channels a group reach, in proportion, and never more than one group would.
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::grouped, device, 16), 20, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::grouped, device, 80), 50, 1e-6);
  // One channel's window is no matrix product.
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::depthwise, device, 1), 2, 1e-6);
  device.convolution_full_width = 0;
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::window, device, 50), 50, 1e-6);
  EXPECT_NEAR(rate_in_tflops(ConvolutionKind::grouped, device, 16), 10, 1e-6);
}

// Half of 3 GFLOPs at 50 channels, which take twice as long, in one launch with the others.
TEST(ConvolutionKinds, NarrowWindowsAreCountedApart) {
  Model model = round_model();
  model.compact->narrow_windows = {{50, 0.5}};
  const LayerWork work = layer(model, 8);
  double narrow = 0;
  double all = 0;
  int launches = 0;
  for (const LayerStep& step : work.forward) {
    if (step.op.convolution != ConvolutionKind::three_by_three) continue;
    all += step.op.flops.value();
    if (step.op.width == 50) narrow += step.op.flops.value();
    launches += step.op.kernels;
  }
  EXPECT_DOUBLE_EQ(all, 8 * 1e8);
  EXPECT_DOUBLE_EQ(narrow, 8 * 0.5e8);
  EXPECT_EQ(launches, 1);
  EXPECT_DOUBLE_EQ(flops(work.forward), flops(layer(round_model(), 8).forward));
}

// All of them, in two widths that do not add up to the last digit: still one launch.
TEST(ConvolutionKinds, WindowsMayAllBeNarrow) {
  Model model = round_model();
  model.compact->three_by_three_GFLOPs = 0.9;
  model.compact->narrow_windows = {{32, 0.2}, {64, 0.7}};
  int launches = 0;
  double all = 0;
  for (const LayerStep& step : layer(model, 8).forward) {
    if (step.op.convolution != ConvolutionKind::three_by_three) continue;
    EXPECT_GT(step.op.width, 0);
    all += step.op.flops.value();
    launches += step.op.kernels;
  }
  EXPECT_DOUBLE_EQ(all, 8 * 0.9e8);
  EXPECT_EQ(launches, 1);
  model.compact->three_by_three_GFLOPs = 0.3;
  model.compact->narrow_windows = {{32, 0.1}, {64, 0.2}};  // 0.30000000000000004 together
  Diagnostics none("test");
  check_model(model, "", none);
  EXPECT_TRUE(none.faults().empty());
}

TEST(ConvolutionKinds, NarrowWindowsAreSomeOfTheWindows) {
  Model model = round_model();
  model.compact->narrow_windows = {{32, 0.6}, {64, 0.5}};
  Diagnostics many("test");
  check_model(model, "/workload/model", many);
  ASSERT_EQ(many.faults().size(), 1u);
  EXPECT_EQ(many.faults().front().pointer, "/workload/model/compact/narrow_windows");
  EXPECT_THAT(many.faults().front().message, HasSubstr("found 1.1 GFLOPs in all, expected at most"));
}

TEST(ConvolutionKinds, WithoutFiguresAllRunAsOne) {
  Device device = convolution_device();
  device.pointwise_share = device.grouped_share = device.depthwise_share = 0;
  for (const ConvolutionKind kind : {ConvolutionKind::pointwise, ConvolutionKind::grouped, ConvolutionKind::depthwise})
    EXPECT_NEAR(rate_in_tflops(kind, device), 50, 1e-6);
}

}  // namespace
}  // namespace stepcast::compact_test
