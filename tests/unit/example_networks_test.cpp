#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "tests/unit/shipped.hpp"

// Networks of NVIDIA's examples that presets describe by their totals, counted here layer by layer from their papers.
namespace stepcast::example_networks_test {
namespace {

/// What the layers of a network add up to, for one sample.
struct Count {
  double parameters = 0, gains = 0;  ///< gains: factors of outputs that weight norm trains
  double gemm = 0, pointwise = 0, three_by_three = 0, window = 0, grouped = 0;  ///< FLOPs of the forward pass
  std::map<double, double> windows_of;  ///< FLOPs of 3×3 and other windows by the channels that they give
  double elements = 0;                  ///< that weighted layers give
  int layers = 0;                       ///< with weights

  [[nodiscard]] double flops() const { return gemm + pointwise + three_by_three + window + grouped; }

  /// A convolution that gives `positions` of `out` channels, each from `taps` positions of `in` channels.
  void convolve(double in, double out, double taps, double positions, double Count::*kind, double groups = 1) {
    const double weights = in * out * taps / groups;
    parameters += weights + out;
    this->*kind += 2 * weights * positions;
    if (kind == &Count::three_by_three || kind == &Count::window) windows_of[out] += 2 * weights * positions;
    elements += out * positions;
    ++layers;
  }

  /// Batch or layer norm of so many channels.
  void norm(double channels) { parameters += 2 * channels; }

  /// `times` as much of another network's work, each of its parameters once.
  void add(const Count& other, int times) {
    parameters += other.parameters;
    pointwise += times * other.pointwise;
    window += times * other.window;
    grouped += times * other.grouped;
    elements += times * other.elements;
    layers += times * other.layers;
  }
};

void expect_preset(std::string_view id, const Count& count) {
  const CompactShape& shape = *test::preset(id)->compact;
  const auto agrees = [&](double stated, double counted, const char* what) {
    EXPECT_NEAR(stated, counted, 0.001 * counted) << id << ": " << what;
  };
  agrees(shape.parameters_M, count.parameters / 1e6, "parameters");
  agrees(shape.gemm_GFLOPs, count.gemm / 1e9, "matrix products");
  agrees(shape.pointwise_GFLOPs, count.pointwise / 1e9, "1×1 convolutions");
  agrees(shape.three_by_three_GFLOPs, count.three_by_three / 1e9, "3×3 convolutions");
  agrees(shape.window_GFLOPs, count.window / 1e9, "other windows");
  agrees(shape.grouped_GFLOPs, count.grouped / 1e9, "grouped convolutions");
  agrees(shape.activation_Melements, count.elements / 1e6, "elements");
  EXPECT_EQ(shape.layers, count.layers) << id;
  for (const NarrowWindows& narrow : shape.narrow_windows)
    agrees(narrow.GFLOPs, count.windows_of.at(narrow.channels) / 1e9, "windows of few channels");
}

/// Its windows by width, against a preset's narrow ones.
void expect_narrow(std::string_view id, const Count& net, std::size_t widths) {
  const CompactShape& shape = *test::preset(id)->compact;
  ASSERT_EQ(shape.narrow_windows.size(), widths) << id;
  for (const NarrowWindows& narrow : shape.narrow_windows)
    EXPECT_NEAR(narrow.GFLOPs * 1e9 / net.windows_of.at(narrow.channels), 1, 0.001) << id << " " << narrow.channels;
}

/// Of U-Nets on volumes of 128 a side, windows of 3: two convolutions a stage down, each stage with `widths` channels,
/// and two a stage up, behind a transposed one of window and stride 2 (each position of one).
Count volume_unet(double image_channels, const std::vector<double>& widths) {
  Count net;
  double channels = image_channels;
  double side = 128;
  const auto twice = [&](double out) {
    for (int i = 0; i < 2; ++i) {
      net.convolve(channels, out, 27, std::pow(side, 3), &Count::window);
      channels = out;
    }
  };
  for (std::size_t stage = 0; stage < widths.size(); ++stage) {
    if (stage > 0) side /= 2;
    twice(widths[stage]);
  }
  for (std::size_t stage = widths.size() - 1; stage-- > 0;) {
    side *= 2;
    net.convolve(channels, widths[stage], 1, std::pow(side, 3), &Count::window);
    channels = 2 * widths[stage];
    twice(widths[stage]);
  }
  return net;
}

TEST(ExampleNetworks, UNetsOnVolumesAreNarrow) {
  for (const auto& [id, image_channels, widths] :
       {std::tuple{"unet3d", 4.0, std::vector<double>{32, 64, 128, 256, 320}},
        std::tuple{"unet3d-kits19", 1.0, std::vector<double>{32, 64, 128, 256, 320, 320}},
        std::tuple{"nnunet-3d", 5.0, std::vector<double>{32, 64, 128, 256, 320, 320}}}) {
    const Count net = volume_unet(image_channels, widths);
    EXPECT_NEAR(test::preset(id)->compact->window_GFLOPs * 1e9 / net.window, 1, 0.001) << id;
    expect_narrow(id, net, 3);
  }
}

// nnU-Net on slices of 192 by 160: the same in two dimensions.
TEST(ExampleNetworks, FlatUNetIsNarrow) {
  Count net;
  double channels = 5;
  double pixels = 192 * 160;
  const auto twice = [&](double out) {
    net.convolve(channels, out, 9, pixels, &Count::window);
    net.convolve(out, out, 9, pixels, &Count::window);
    channels = out;
  };
  twice(32);
  for (const double width : {64.0, 128.0, 256.0}) {
    pixels /= 4;
    twice(width);
  }
  for (const double width : {128.0, 64.0, 32.0}) {
    pixels *= 4;
    net.convolve(channels, width, 1, pixels, &Count::window);
    channels = 2 * width;
    twice(width);
  }
  expect_narrow("nnunet-2d", net, 3);
}

// Ronneberger et al. 2015, Figure 1: windows without padding take two pixels off each side.
TEST(ExampleNetworks, MedicalUNetIsNarrow) {
  Count net;
  const auto convolve = [&](double in, double out, double side, double taps = 9) {
    net.convolve(in, out, taps, side * side, &Count::three_by_three);
  };
  convolve(1, 64, 570);
  convolve(64, 64, 568);
  convolve(64, 128, 282);
  convolve(128, 128, 280);
  convolve(256, 128, 200, 1);
  convolve(256, 128, 198);
  convolve(128, 128, 196);
  convolve(128, 64, 392, 1);
  convolve(128, 64, 390);
  convolve(64, 64, 388);
  expect_narrow("unet-medical", net, 2);
}

// Windows of 3 on volumes of 32 a side; a stage down halves the sides and doubles the channels.
TEST(ExampleNetworks, VNetOnHippocampusVolumes) {
  Count net;
  const auto convolve = [&](double in, double out, double taps, double side) {
    net.convolve(in, out, taps, std::pow(side, 3), &Count::window);
    net.norm(out);
  };
  convolve(1, 16, 27, 32);
  double channels = 16, side = 32;
  for (int stage = 0; stage < 3; ++stage) {
    side /= 2;
    convolve(channels, 2 * channels, 8, side);
    channels *= 2;
    for (int depth = 0; depth < 3; ++depth) convolve(channels, channels, 27, side);
  }
  // A transposed convolution of window and stride 2 makes each position of one; its weights are eight such.
  const auto up = [&](double kept) {
    side *= 2;
    convolve(channels, kept, 1, side);
    net.parameters += 7 * channels * kept;
  };
  for (const double kept : {64.0, 32.0}) {
    up(kept);
    channels = 2 * kept;
    for (int depth = 0; depth < 3; ++depth) convolve(channels, channels, 27, side);
  }
  up(16);
  net.convolve(16, 3, 27, std::pow(side, 3), &Count::window);
  expect_preset("vnet", net);
  EXPECT_EQ(test::preset("vnet")->compact->batch_norms, 22);
}

// Up-sampling repeats pixels and convolves with a window of 2 by 2; what a stage down gave is put beside it.
TEST(ExampleNetworks, TinyUNetOnGrayImages) {
  Count net;
  double channels = 1, side = 512;
  const auto convolve = [&](double out, int window = 3) {
    double Count::*kind = window == 3 ? &Count::three_by_three : window == 2 ? &Count::window : &Count::pointwise;
    net.convolve(channels, out, window * window, side * side, kind);
    channels = out;
  };
  std::vector<double> kept;
  for (const double width : {32.0, 32.0, 64.0, 128.0}) {
    convolve(width);
    convolve(width);
    kept.push_back(width);
    side /= 2;
  }
  const auto up = [&](double width) {
    convolve(width);
    side *= 2;
    convolve(channels / (width == 256 ? 2 : 1), 2);
  };
  convolve(256);
  up(256);
  for (const double width : {128.0, 64.0, 32.0}) {
    channels += kept.back();
    kept.pop_back();
    convolve(width);
    up(width / 2);
  }
  channels += kept.back();
  convolve(32);
  convolve(32);
  convolve(1, 1);
  expect_preset("unet-industrial", net);
  // A comment of the program says 1,824,945.
  EXPECT_NEAR(net.parameters / 1824945, 1, 0.015);
}

/// One feed-forward transformer of FastPitch: six blocks of width 384 with one head of 64.
void feed_forward_transformer(Count& net, double length) {
  constexpr double kWidth = 384, kInner = 1536, kHead = 64;
  for (int block = 0; block < 6; ++block) {
    net.convolve(kWidth, 3 * kHead, 1, length, &Count::gemm);
    net.gemm += 4 * length * length * kHead;
    net.elements += length * length + length * kHead;  // scores, and what they weigh
    net.convolve(kHead, kWidth, 1, length, &Count::gemm);
    net.parameters -= kWidth;  // without biases
    net.convolve(kWidth, kInner, 3, length, &Count::window);
    net.convolve(kInner, kWidth, 3, length, &Count::window);
    net.norm(kWidth);
    net.norm(kWidth);
  }
}

/// Two convolutions and a value for each symbol.
void predictor(Count& net, double symbols) {
  net.convolve(384, 256, 3, symbols, &Count::window);
  net.convolve(256, 256, 3, symbols, &Count::window);
  net.norm(256);
  net.norm(256);
  net.parameters += 256 + 1;
  net.elements += symbols;
  ++net.layers;
}

// Utterances padded to 820 frames and 150 symbols.
TEST(ExampleNetworks, FastPitchWithItsAligner) {
  constexpr double kSymbols = 150, kFrames = 820, kWidth = 384, kMels = 80, kAlphabet = 148;
  Count net;
  feed_forward_transformer(net, kSymbols);
  feed_forward_transformer(net, kFrames);
  predictor(net, kSymbols);
  predictor(net, kSymbols);
  net.parameters += kAlphabet * kWidth + kWidth * 4;  // symbols, pitch
  net.layers += 2;                                    // embeddings of pitch and energy
  net.convolve(kWidth, kMels, 1, kFrames, &Count::gemm);
  net.convolve(kWidth, 2 * kWidth, 3, kSymbols, &Count::window);
  net.convolve(2 * kWidth, kMels, 1, kSymbols, &Count::pointwise);
  net.convolve(kMels, 2 * kMels, 3, kFrames, &Count::window);
  net.convolve(2 * kMels, kMels, 1, kFrames, &Count::pointwise);
  net.convolve(kMels, kMels, 1, kFrames, &Count::pointwise);
  net.parameters += kMels + 1;
  // The card of nvidia/tts_en_fastpitch, which has no energy, says 45 M.
  EXPECT_EQ(std::floor(net.parameters / 1e6), 45);
  predictor(net, kSymbols);
  net.parameters += kWidth * 4;
  expect_preset("fastpitch", net);
}

constexpr double kSegment = 8192;

Count hifi_generator() {
  constexpr double kFrame = 256;
  Count net;
  double length = kSegment / kFrame, channels = 512;
  const auto convolve = [&](double in, double out, double taps) {
    net.convolve(in, out, taps, length, &Count::window);
    net.gains += out;
  };
  convolve(80, channels, 7);
  for (const auto& [rate, taps] : std::vector<std::pair<double, double>>{{8, 16}, {8, 16}, {2, 4}, {2, 4}}) {
    // Transposed: each position of the result is made of taps / rate of the input.
    length *= rate;
    net.convolve(channels, channels / 2, taps / rate, length, &Count::window);
    net.parameters += channels * channels / 2 * (taps - taps / rate);
    net.gains += channels;
    channels /= 2;
    for (const double window : {11.0, 7.0, 3.0})
      for (int layer = 0; layer < 6; ++layer) convolve(channels, channels, window);
  }
  convolve(channels, 1, 7);
  return net;
}

/// Five discriminators that fold the segment by a period.
Count hifi_periods() {
  Count net;
  for (const double period : {2.0, 3.0, 5.0, 7.0, 11.0}) {
    double rows = std::ceil(kSegment / period), in = 1;
    for (const double out : {32.0, 128.0, 512.0, 1024.0, 1024.0}) {
      const bool last = in == out;
      if (!last) rows = std::floor((rows - 1) / 3) + 1;
      net.convolve(in, out, 5, rows * period, &Count::window);
      in = out;
    }
    net.convolve(in, 1, 3, rows * period, &Count::window);
  }
  return net;
}

/// Three discriminators of the segment, of its half and of its quarter.
Count hifi_scales() {
  struct Layer {
    double in, out, taps, stride, groups;
  };
  Count net;
  for (const double pooled : {1.0, 2.0, 4.0}) {
    double length = kSegment / pooled + (pooled > 1 ? 1 : 0);
    for (const Layer& layer :
         {Layer{1, 128, 15, 1, 1}, Layer{128, 128, 41, 2, 4}, Layer{128, 256, 41, 2, 16}, Layer{256, 512, 41, 4, 16},
          Layer{512, 1024, 41, 4, 16}, Layer{1024, 1024, 41, 1, 16}, Layer{1024, 1024, 5, 1, 1}}) {
      length = std::floor((length - 1) / layer.stride) + 1;
      net.convolve(layer.in, layer.out, layer.taps, length, layer.groups > 1 ? &Count::grouped : &Count::window,
                   layer.groups);
    }
    net.convolve(1024, 1, 3, length, &Count::window);
  }
  return net;
}

// Discriminators make nine passes a batch, a generator three; Table 1 of arXiv 2010.05646 counts the generator.
TEST(ExampleNetworks, HifiGanTrainsGeneratorAndDiscriminators) {
  Count net = hifi_generator();
  EXPECT_NEAR(net.parameters / 13.92e6, 1, 0.001);
  net.add(hifi_periods(), 3);
  net.add(hifi_scales(), 3);
  expect_preset("hifi-gan", net);
}

/// WaveGlow on segments of 8,000 samples, in groups of 8.
Count waveglow(double channels) {
  constexpr double kSamples = 8000, kGroup = 8, kMels = 80, kPositions = kSamples / kGroup, kFrame = 256;
  Count net;
  const auto convolve = [&](double in, double out, double taps, double Count::*kind = &Count::pointwise) {
    net.convolve(in, out, taps, kPositions, kind);
    net.gains += out;
  };
  // Frames are spread to samples by windows of four frames; the last is cut off.
  net.convolve(kMels, kMels, 4 * kFrame, kSamples / kFrame + 1, &Count::window);
  net.elements += kMels * (kSamples - (kSamples / kFrame + 1));
  double width = kGroup;
  for (int flow = 0; flow < 12; ++flow) {
    if (flow == 4 || flow == 8) width -= 2;
    net.convolve(width, width, 1, kPositions, &Count::pointwise);
    net.parameters -= width;  // invertible, without biases
    convolve(width / 2, channels, 1);
    for (int layer = 0; layer < 8; ++layer) {
      convolve(channels, 2 * channels, 3, &Count::window);
      convolve(kMels * kGroup, 2 * channels, 1);
      convolve(channels, layer == 7 ? channels : 2 * channels, 1);
    }
    net.convolve(channels, width, 1, kPositions, &Count::pointwise);
  }
  net.parameters += net.gains;
  return net;
}

// With 256 channels it is the network that Table 1 of arXiv 2010.05646 counts, without the gains of weight norm.
TEST(ExampleNetworks, WaveGlowOf512Channels) {
  const Count narrow = waveglow(256);
  EXPECT_NEAR((narrow.parameters - narrow.gains) / 87.73e6, 1, 0.001);
  expect_preset("waveglow", waveglow(512));
}

/// A Temporal Fusion Transformer's parts, of width 128.
struct FusionTransformer {
  static constexpr double kWidth = 128;
  Count net;

  void linear(double in, double out, double rows) { net.convolve(in, out, 1, rows, &Count::gemm); }

  /// A gated residual network; `context`: of the static variables, one row a sample.
  void gated(double in, double rows, double out = kWidth, bool context = false) {
    linear(in, kWidth, rows);
    if (context) {
      linear(kWidth, kWidth, 1);
      net.parameters -= kWidth;
    }
    linear(kWidth, kWidth, rows);
    linear(kWidth, 2 * out, rows);
    if (out != kWidth) linear(in, out, rows);
    if (out != 1) net.norm(out);
  }

  void select(double variables, double rows, bool context) {
    gated(variables * kWidth, rows, variables, context);
    for (int variable = 0; variable < variables; ++variable) gated(kWidth, rows);
  }

  void lstm(double steps) {
    linear(kWidth, 4 * kWidth, steps);
    net.elements -= 4 * kWidth * steps;  // both products give one sum
    linear(kWidth, 4 * kWidth, steps);
  }
};

TEST(ExampleNetworks, TemporalFusionTransformerOnElectricity) {
  constexpr double kPast = 168, kFuture = 24, kAll = kPast + kFuture, kWidth = 128, kHeads = 4, kHead = 32;
  FusionTransformer tft;
  tft.net.parameters += 369 * kWidth + (3 + 1) * 2 * kWidth;  // customers; three known variables and the target
  tft.select(1, 1, false);
  for (int context = 0; context < 4; ++context) tft.gated(kWidth, 1);
  tft.select(4, kPast, true);
  tft.select(3, kFuture, true);
  tft.lstm(kPast);
  tft.lstm(kFuture);
  tft.linear(kWidth, 2 * kWidth, kAll);
  tft.net.norm(kWidth);
  tft.gated(kWidth, kAll, kWidth, true);
  // Heads share their values, and their results are averaged.
  tft.linear(kWidth, (2 * kHeads + 1) * kHead, kAll);
  tft.net.gemm += kHeads * kAll * kAll * kHead * 4;
  tft.net.elements += kHeads * kAll * kAll + kHeads * kAll * kHead;
  tft.linear(kHead, kWidth, kAll);
  tft.net.parameters -= (2 * kHeads + 1) * kHead + kWidth;
  for (int gate = 0; gate < 2; ++gate) {
    tft.linear(kWidth, 2 * kWidth, kFuture);
    tft.net.norm(kWidth);
  }
  tft.gated(kWidth, kFuture);
  tft.linear(kWidth, 3, kFuture);
  expect_preset("tft", tft.net);
}

}  // namespace
}  // namespace stepcast::example_networks_test
