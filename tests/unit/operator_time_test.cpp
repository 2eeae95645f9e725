#include <gtest/gtest.h>

#include "hardware-catalog/catalog.hpp"
#include "models/compute/attention_time.hpp"
#include "models/compute/cached_traffic.hpp"
#include "models/compute/convolution_time.hpp"
#include "models/compute/product_time.hpp"
#include "models/compute/streaming_time.hpp"
#include "tests/shipped_catalog.hpp"

namespace stepcast::operator_time_test {
namespace {

/// Round figures, so that results can be worked by hand: 100 multiprocessors of 1 TFLOP/s each, 1 TB/s, no cache.
Accelerator round_accelerator() {
  Accelerator part;
  part.id = "round";
  part.peak_TFLOPS["bf16"] = 200_TFLOPS;
  part.peak_TFLOPS["fp32"] = 100_TFLOPS;
  part.memory_bandwidth = 1000_GBps;
  part.sm_count = 100;
  part.tdp = 500_W;
  return part;
}

/// Every tile is as efficient as the largest, so that only its padding tells tiles apart.
OperatorProfile round_profile() {
  OperatorProfile profile;
  profile.id = "round";
  ProductConstants product;
  product.burst_share["bf16"] = 0.5;
  product.memory_share = 1;
  product.launch = 2_us;
  product.start_up_k = 64;
  profile.product = product;
  return profile;
}

ProductDevice round_device(const OperatorProfile& profile = round_profile()) {
  return product_device(round_accelerator(), profile, "bf16", 200_TFLOPS);
}

ProductShape square() { return {4096, 4096, 4032}; }

// k + k0 = 4096: 2·4096³ / 100e12 = 1374.39 us; (2·4096·4032 + 4096²)·2 B / 1e12 = 99.61 us; 2 + √(1374.39² + 99.61²).
TEST(ProductTime, ByHand) { EXPECT_NEAR(burst_time(square(), {}, round_device()).in(1_us), 1380.0, 0.05); }

// A tile starts up in as much time in every format: 64 columns at 200 TFLOP/s are 3.2 at 10. A part whose fp32 is half
// of its 16 bit has no unit for products, and nothing to wait for.
TEST(ProductTime, StartUpIsATimeNotColumns) {
  OperatorProfile profile = round_profile();
  profile.product->burst_share["fp32"] = 1;
  Accelerator part = round_accelerator();
  EXPECT_EQ(product_device(part, profile, "fp32", 100_TFLOPS).start_up_k, 64);
  part.peak_TFLOPS["fp32"] = 10_TFLOPS;
  EXPECT_DOUBLE_EQ(product_device(part, profile, "fp32", 10_TFLOPS).start_up_k, 3.2);
  EXPECT_EQ(product_device(part, profile, "bf16", 200_TFLOPS).start_up_k, 64);
  EXPECT_EQ(product_device(part, profile, "bf16", 400_TFLOPS).start_up_k, 64);
}

// An exponent of 1 puts one behind the other: 2 + 1374.39 + 99.61.
TEST(ProductTime, OverlapExponentOfOneAddsTraffic) {
  OperatorProfile profile = round_profile();
  profile.product->overlap_exponent = 1;
  EXPECT_NEAR(burst_time(square(), {}, round_device(profile)).in(1_us), 1476.0, 0.05);
}

// 4096 × 4097: one more column costs 64-column tiles 65 instead of 64 a row: waves that are shared pay 1/64 more, whole
// ones of 100 multiprocessors at most one more of 83.
TEST(ProductTime, AColumnPastATileCostsAPartOfAWave) {
  ProductShape past = square();
  past.n += 1;
  const double shared = burst_time(past, {}, round_device()) / burst_time(square(), {}, round_device());
  EXPECT_GT(shared, 1.0);
  EXPECT_LT(shared, 1.0 + 1.0 / 64);
}

TEST(ProductTime, MoreRowsAreNeverQuicker) {
  OperatorProfile profile = round_profile();
  profile.product->small_tile_exponent = 0.4;
  profile.product->whole_wave_share = 0.5;
  profile.product->split_cost = 2_us;
  const ProductDevice device = round_device(profile);
  Seconds before;
  for (int m = 1; m < 5000; m += m / 15 + 1) {
    const Seconds now = burst_time({static_cast<double>(m), 1536, 4096}, {}, device);
    EXPECT_GE(now.value(), before.value() * (1 - 1e-12)) << m;
    before = now;
  }
}

// 2·4096²·4032 / (0.25 · 200e12) = 2705.83 us of energy at the limit, against 1380 us of a burst.
TEST(ProductTime, SustainedProductsTakeTheirEnergyOverTheLimit) {
  OperatorProfile profile = round_profile();
  profile.power = BoardPowerConstants{{{"bf16", 0.25}}, 0.3, 0, 0.98};
  const ProductDevice device = round_device(profile);
  EXPECT_NEAR(product_time(square(), {1, true}, device).in(1_us), 2705.83, 0.01);
  EXPECT_NEAR(product_power(square(), {1, true}, device).value(), 0.98 * 500, 1e-9);
  EXPECT_NEAR(product_time(square(), {}, device).in(1_us), 1380.0, 0.05) << "a burst does not feel the limit";
}

TEST(ProductTime, FormatWithoutConstantsIsAnError) {
  EXPECT_THROW(product_device(round_accelerator(), round_profile(), "fp4", 200_TFLOPS), std::logic_error);
}

// Half of what just fills the cache stays in it: half at the memory's rate, half twice as quick.
TEST(CachedTime, HalfOfAFullCacheStays) {
  EXPECT_NEAR(cached_time(50_MB, 50_MB, {1000_GBps, 50_MB, 2}).in(1_us), 50 * 0.75, 1e-9);
  EXPECT_NEAR(cached_time(50_MB, 50_MB, {1000_GBps, 0_MB, 2}).in(1_us), 50, 1e-9);
}

AttentionConstants round_kernel() {
  AttentionConstants kernel;
  kernel.share = 0.5;
  kernel.launch = 4_us;
  return kernel;
}

AttentionShape hundred_heads() {
  AttentionShape shape;
  shape.heads = shape.key_heads = 100;
  shape.queries = shape.keys = 1280;
  return shape;
}

const AttentionDevice kRoundAttention{100_TFLOPS, 1000_GBps, 100};

// 1000 tiles on 100 multiprocessors, each 1280 keys of 2·256·128 FLOPs at 0.5 TFLOP/s: 10 · 1280 · 0.131072 = 1677.72
// us; Q, K, V and the result of 131.07 MB: 131.07 us; launch 4.
TEST(AttentionTime, ByHand) {
  EXPECT_NEAR(fused_attention_time(hundred_heads(), round_kernel(), kRoundAttention).in(1_us), 1812.79, 0.01);
}

// Causal tiles see 1280 − (1280 − 128)/2 = 704 keys on average: 10 · 704 · 0.131072 = 922.75 us.
TEST(AttentionTime, CausalTilesPayTheirDiagonalWhole) {
  AttentionShape shape = hundred_heads();
  shape.causal = true;
  EXPECT_NEAR(fused_attention_time(shape, round_kernel(), kRoundAttention).in(1_us), 1057.82, 0.01);
}

// One head has ten tiles: the last sees all 1280 keys, 167.77 us, whatever multiprocessors idle; tensors 1.31 us.
TEST(AttentionTime, NoLaunchIsShorterThanItsLongestTile) {
  AttentionShape shape = hundred_heads();
  shape.heads = shape.key_heads = 1;
  shape.causal = true;
  EXPECT_NEAR(fused_attention_time(shape, round_kernel(), kRoundAttention).in(1_us), 4 + 167.77 + 1.31, 0.01);
}

// Head size 72 runs as 96.
TEST(AttentionTime, OddHeadSizesArePadded) {
  AttentionShape odd = hundred_heads(), even = odd;
  odd.head_size = odd.value_size = 72;
  even.head_size = even.value_size = 96;
  const double tensors = 100 * 1280 * 2.0 * 2 * 2 * (96 - 72) / 1e12;
  EXPECT_NEAR((fused_attention_time(even, round_kernel(), kRoundAttention) -
               fused_attention_time(odd, round_kernel(), kRoundAttention))
                  .value(),
              tensors, 1e-9);
}

// At 0.4 of twice the peak a tile takes 10 · 1280 · 0.08192 = 1048.58 us, with tensors of one byte 65.54: 1118.11 us in
// all of 1812.79.
TEST(AttentionTime, EightBitOverSixteen) {
  NarrowAttention kernels{round_kernel(), round_kernel(), kRoundAttention, kRoundAttention};
  kernels.narrow.share = 0.4;
  kernels.narrow_device.peak = 200_TFLOPS;
  EXPECT_NEAR(narrow_over_half(hundred_heads(), kernels), 1118.11 / 1812.79, 1e-5);
}

// Compared is one library's kernel in both formats, forward and backward.
TEST(AttentionTime, EightBitNeedsTheMeasuredKernelInBothFormats) {
  const Catalog& catalog = test::catalog();
  const Accelerator& part = *catalog.find<Accelerator>("gb200");
  OperatorProfile profile = *catalog.find<OperatorProfile>(part.family);
  ASSERT_TRUE(narrow_attention(part, &profile));
  EXPECT_FALSE(narrow_attention(part, nullptr));
  profile.attention.at("cudnn.fp8").backward_share = 0;
  EXPECT_FALSE(narrow_attention(part, &profile));
  profile.attention.erase("cudnn.fp8");
  EXPECT_FALSE(narrow_attention(part, &profile));
  const Accelerator& older = *catalog.find<Accelerator>("a100-sxm-80gb");
  EXPECT_FALSE(narrow_attention(older, catalog.find<OperatorProfile>(older.family)));
}

// Boards with the same multiprocessors share their measured 8-bit kernels, and say whose they are.
TEST(AttentionTime, EightBitKernelsOfAnotherBoardSayWhoseTheyAre) {
  const Catalog& catalog = test::catalog();
  const OperatorProfile& own = *catalog.find<OperatorProfile>("nvidia-blackwell-gb200");
  const OperatorProfile& taken = *catalog.find<OperatorProfile>("nvidia-blackwell");
  EXPECT_EQ(taken.attention.at("cudnn.fp8").share, own.attention.at("cudnn.fp8").share);
  EXPECT_EQ(taken.provenance.evidence_of("attention.cudnn.fp8"), Evidence::estimated);
  EXPECT_TRUE(taken.provenance.source_of("attention.cudnn.fp8").starts_with("as nvidia-blackwell-gb200"));
  EXPECT_EQ(own.provenance.evidence_of("attention.cudnn.fp8"), Evidence::measured);
}

// Both products of 8.39e10 FLOPs at 0.4 · 100e12: 2097.15 us; 1.6384e8 scores × 2 bytes × 6: 1966.08 us; launch 10.
TEST(AttentionTime, UnfusedByHand) {
  const UnfusedAttentionConstants kernels{0.4, 0.4, 6, 9, 10_us};
  EXPECT_NEAR(unfused_attention_time(hundred_heads(), kernels, kRoundAttention).in(1_us), 4073.23, 0.01);
}

TEST(StreamingTime, ByHand) {
  EXPECT_NEAR(streaming_time({0.5, 1, 2_us}, 100_MB, round_accelerator()).in(1_us), 202, 1e-9);
}

ConvolutionShape three_by_three() {
  ConvolutionShape shape;
  shape.batch = 32;
  shape.channels = shape.filters = 256;
  shape.height = shape.width = shape.out_height = shape.out_width = 56;
  shape.rows = shape.columns = 3;
  return shape;
}

ConvolutionConstants round_convolutions() {
  ConvolutionConstants constants;
  constants.direct_share = 0.8, constants.winograd_share = 0.6, constants.memory_share = 1;
  constants.launch = 5_us;
  return constants;
}

// Winograd leaves a quarter of the multiplications: at 0.6 of the peak it does 2.4 times the peak's count.
TEST(ConvolutionTime, WinogradExceedsThePeakByDirectCount) {
  const ConvolutionDevice device =
      convolution_device(round_accelerator(), round_profile(), round_convolutions(), 10_TFLOPS);
  const ConvolutionShape shape = three_by_three();
  const double rate = convolution_flops(shape) / convolution_time(shape, device) / 10_TFLOPS;
  EXPECT_GT(rate, 1.5);
  EXPECT_LE(rate, 2.4);
}

TEST(ConvolutionTime, StridedConvolutionsHaveNoWinograd) {
  const ConvolutionDevice device =
      convolution_device(round_accelerator(), round_profile(), round_convolutions(), 100_TFLOPS);
  ConvolutionShape shape = three_by_three();
  shape.stride_height = shape.stride_width = 2;
  shape.out_height = shape.out_width = 28;
  EXPECT_LE(convolution_flops(shape) / convolution_time(shape, device) / 100_TFLOPS, 0.8);
}

// Nine by 256 results are few tiles: without a cut of the pixels most multiprocessors would idle.
TEST(ConvolutionTime, PixelsOfWeightGradientsAreCutUntilTheDeviceIsFull) {
  const ConvolutionDevice device =
      convolution_device(round_accelerator(), round_profile(), round_convolutions(), 100_TFLOPS);
  ConvolutionShape shape = three_by_three();
  shape.stride_height = shape.stride_width = 2;
  shape.out_height = shape.out_width = 28;
  shape.channels = 8, shape.filters = 32;
  const Seconds forward = convolution_time(shape, device);
  shape.pass = ConvolutionPass::weight_gradient;
  EXPECT_LT(convolution_time(shape, device) / forward, 2);
}

// One channel at 0.0025 of 400 TFLOP/s, which fp32's 100 could not have: 32·28²·9·256 multiply-adds take 116 us, 2.6 us
// is the least otherwise. At 100 TFLOP/s nothing but fp32's arithmetic is needed, and tiles are quicker.
TEST(ConvolutionTime, ChannelsThatMatrixUnitsCannotTakeHaveARateOfTheirOwn) {
  ConvolutionConstants constants = round_convolutions();
  ConvolutionShape shape = three_by_three();
  shape.channels = 1;
  shape.stride_height = shape.stride_width = 2;
  shape.out_height = shape.out_width = 28;
  const auto time = [&](FlopsPerSecond peak) {
    return convolution_time(shape, convolution_device(round_accelerator(), round_profile(), constants, peak));
  };
  constants.narrow_share = 0.0025;
  EXPECT_GT(time(400_TFLOPS), 116_us);
  constants.narrow_share = 0.01;
  EXPECT_LT(time(100_TFLOPS), 60_us);
  constants.narrow_share = 0;
  EXPECT_LT(time(400_TFLOPS), 60_us);
}

// 3×3 windows of stride 2 reach a quarter of the zeros' product at 0, all of it at 1: four times the arithmetic, beside
// which the tensors and the call hardly count at 10 TFLOP/s.
TEST(ConvolutionTime, ZerosOfStridedInputGradientsAreMultipliedToAShare) {
  ConvolutionConstants constants = round_convolutions();
  ConvolutionShape shape = three_by_three();
  shape.stride_height = shape.stride_width = 2;
  shape.out_height = shape.out_width = 28;
  const auto time = [&](ConvolutionPass pass, double zeros) {
    shape.pass = pass;
    constants.multiplied_zeros = zeros;
    return convolution_time(shape, convolution_device(round_accelerator(), round_profile(), constants, 10_TFLOPS));
  };
  const Seconds none = time(ConvolutionPass::input_gradient, 0);
  EXPECT_NEAR(time(ConvolutionPass::input_gradient, 1) / none, 4, 0.1);
  EXPECT_NEAR(time(ConvolutionPass::input_gradient, 0.5) / none, 2.5, 0.1);
  EXPECT_EQ(time(ConvolutionPass::forward, 0), time(ConvolutionPass::forward, 1));
}

// Three channels as eight: the product is that of eight, and the image is copied: 32·(3 + 8)·56² elements of 4 bytes.
TEST(ConvolutionTime, PaddedChannelsAreCopiedAndMultiplied) {
  ConvolutionConstants constants = round_convolutions();
  constants.pads_channels = true;
  const ConvolutionDevice device = convolution_device(round_accelerator(), round_profile(), constants, 400_TFLOPS);
  ConvolutionShape shape = three_by_three();
  shape.stride_height = shape.stride_width = 2;
  shape.out_height = shape.out_width = 28;
  shape.channels = 8;
  const Seconds eight = convolution_time(shape, device);
  shape.channels = 3;
  const Bytes copied(32 * 11 * 56 * 56 * 4.0);
  EXPECT_NEAR((convolution_time(shape, device) - eight) / (copied / device.memory), 1, 1e-9);
}

}  // namespace
}  // namespace stepcast::operator_time_test
