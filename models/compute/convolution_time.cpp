#include "models/compute/convolution_time.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace stepcast {
namespace {

/// F(4×4, 3×3): 36 products for 16 results of 9 each, a quarter of the multiplications; input tiles overlap, so that 36
/// values stand for 16 (Lavin & Gray 2015, arXiv 1509.09308).
constexpr double kWinogradSaving = 4, kWinogradTile = 36.0 / 16.0;
/// Tiles of 32×32 as cuDNN's tiling FFT; half of the spectrum, 8 FLOPs a complex multiply-add (Vasilache et al. 2014,
/// arXiv 1412.7580).
constexpr double kFourierTile = 32, kFourierPoints = 32 * 17, kFourierFlops = 8;

double image(const ConvolutionShape& s) { return s.batch * s.channels * s.height * s.width; }
double result(const ConvolutionShape& s) { return s.batch * s.filters * s.out_height * s.out_width; }
double weights(const ConvolutionShape& s) { return s.filters * s.channels / s.groups * s.rows * s.columns; }

/// The implicit product of one group. An input gradient's strided zeros are not multiplied.
ProductShape implicit_product(const ConvolutionShape& s) {
  const double window = s.channels / s.groups * s.rows * s.columns;
  const double pixels = s.batch * s.out_height * s.out_width;
  const double filters = s.filters / s.groups;
  ProductShape out;
  out.batch = s.groups;
  out.input_bytes = out.output_bytes = s.element_bytes;
  switch (s.pass) {
    case ConvolutionPass::forward:
      out.m = pixels, out.n = filters, out.k = window;
      break;
    case ConvolutionPass::input_gradient:
      out.m = s.batch * s.height * s.width, out.n = s.channels / s.groups;
      out.k = filters * s.rows * s.columns * s.out_height * s.out_width / (s.height * s.width);
      break;
    case ConvolutionPass::weight_gradient:
      out.m = window, out.n = filters, out.k = pixels;
      break;
  }
  return out;
}

/// Traffic that the shape cannot do without.
Seconds tensor_time(const ConvolutionShape& s, BytesPerSecond memory) {
  return Bytes((image(s) + result(s) + weights(s)) * s.element_bytes) / memory;
}

Seconds direct_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  // The window is read from the image, not from a matrix of windows: its traffic is the tensors', not the product's.
  ProductDevice compute = device.product;
  compute.memory = BytesPerSecond(compute.memory.value() * s.rows * s.columns);
  return std::max(burst_time(implicit_product(s), {}, compute), tensor_time(s, device.memory));
}

Seconds winograd_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  const Seconds products = convolution_flops(s) / kWinogradSaving / device.winograd_rate;
  const Bytes transforms((image(s) + result(s)) * (1 + kWinogradTile) * s.element_bytes);
  return device.product.launch + std::max(products, transforms / device.memory);
}

Seconds fourier_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  const double per_tile = (kFourierTile + 1 - s.rows) * (kFourierTile + 1 - s.columns);
  const double tiles = std::max(1.0, s.out_height * s.out_width / per_tile);
  const Flops products(kFourierFlops * kFourierPoints * tiles * s.batch * s.filters * s.channels);
  const double spectrum = tiles * kFourierTile * kFourierTile;
  const Bytes transforms(2 * s.batch * (s.channels + s.filters) * spectrum * s.element_bytes +
                         2 * s.filters * s.channels * kFourierTile * kFourierTile * s.element_bytes);
  return device.product.launch * 3 + products / device.fft_rate + transforms / device.memory;
}

}  // namespace

Flops convolution_flops(const ConvolutionShape& s) {
  return Flops(2 * s.batch * weights(s) * s.out_height * s.out_width);
}

ConvolutionDevice convolution_device(const Accelerator& accelerator, const OperatorProfile& profile,
                                     const ConvolutionConstants& constants, FlopsPerSecond peak) {
  OperatorProfile tiles = profile;
  if (tiles.product) tiles.product->burst_share["convolution"] = constants.direct_share;
  ConvolutionDevice out;
  out.product = product_device(accelerator, tiles, "convolution", peak);
  out.product.launch = constants.launch;
  out.winograd_rate = peak * constants.winograd_share;
  out.fft_rate = peak * constants.fft_share;
  out.memory = accelerator.memory_bandwidth * constants.memory_share;
  out.depthwise_memory = accelerator.memory_bandwidth * constants.depthwise_share;
  return out;
}

Seconds convolution_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  const bool unit_stride = s.stride_height == 1 && s.stride_width == 1;
  if (s.groups == s.channels && s.groups > 1 && device.depthwise_memory.value() > 0)
    return device.product.launch + tensor_time(s, device.depthwise_memory);
  Seconds best = direct_time(s, device);
  if (device.winograd_rate.value() > 0 && unit_stride && s.groups == 1 && s.rows == 3 && s.columns == 3)
    best = std::min(best, winograd_time(s, device));
  if (device.fft_rate.value() > 0 && unit_stride && s.groups == 1 && s.rows > 1 && s.rows < kFourierTile &&
      s.columns > 1 && s.columns < kFourierTile)
    best = std::min(best, fourier_time(s, device));
  return best;
}

}  // namespace stepcast
