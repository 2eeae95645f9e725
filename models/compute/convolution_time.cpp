#include "models/compute/convolution_time.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace stepcast {
namespace {

/// Winograd's transform of 6×6 points, whose products stand for 4×4 results of a 3×3 window and for 2×2 of a 5×5 one
/// (Lavin & Gray 2015, arXiv 1509.09308; cuDNN's "non-fused" algorithm takes both windows).
constexpr double kWinogradEdge = 6;
/// Channels and filters must be a multiple of it for matrix units (cuDNN 7 developer guide, tensor-core convolutions).
constexpr double kMatrixUnitChannels = 8;
/// Weight gradients have few results and many pixels: libraries cut the pixels until the device is full.
constexpr int kMostSplits = 1 << 20;

double image(const ConvolutionShape& s) { return s.batch * s.channels * s.height * s.width; }
double result(const ConvolutionShape& s) { return s.batch * s.filters * s.out_height * s.out_width; }
double weights(const ConvolutionShape& s) { return s.filters * s.channels * s.rows * s.columns; }

/// The implicit product. Of the zeros between the pixels of a strided input gradient the share `zeros` is multiplied.
ProductShape implicit_product(const ConvolutionShape& s, double zeros) {
  const double window = s.channels * s.rows * s.columns;
  const double pixels = s.batch * s.out_height * s.out_width;
  const double filled = s.out_height * s.out_width / (s.height * s.width);
  ProductShape out;
  out.input_bytes = out.output_bytes = s.element_bytes;
  switch (s.pass) {
    case ConvolutionPass::forward:
      out.m = pixels, out.n = s.filters, out.k = window;
      break;
    case ConvolutionPass::input_gradient:
      out.m = s.batch * s.height * s.width, out.n = s.channels;
      out.k = s.filters * s.rows * s.columns * (filled + zeros * (1 - filled));
      break;
    case ConvolutionPass::weight_gradient:
      out.m = window, out.n = s.filters, out.k = pixels;
      break;
  }
  return out;
}

/// Tiles of `edge` results that cover the images of the batch.
double result_tiles(const ConvolutionShape& s, double edge) {
  return s.batch * std::ceil(s.out_height / edge) * std::ceil(s.out_width / edge);
}

/// The products of transformed tiles, one for each point of a transform.
ProductShape transformed_product(const ConvolutionShape& s, double tiles) {
  ProductShape out;
  out.batch = kWinogradEdge * kWinogradEdge;
  out.input_bytes = out.output_bytes = s.element_bytes;
  switch (s.pass) {
    case ConvolutionPass::forward:
      out.m = tiles, out.n = s.filters, out.k = s.channels;
      break;
    case ConvolutionPass::input_gradient:
      out.m = tiles, out.n = s.channels, out.k = s.filters;
      break;
    case ConvolutionPass::weight_gradient:
      out.m = s.channels, out.n = s.filters, out.k = tiles;
      break;
  }
  return out;
}

FlopsPerSecond direct_rate(const ConvolutionShape& s, const ConvolutionDevice& device) {
  switch (s.pass) {
    case ConvolutionPass::input_gradient:
      return device.input_gradient_rate;
    case ConvolutionPass::weight_gradient:
      return device.weight_gradient_rate;
    case ConvolutionPass::forward:
      break;
  }
  return device.forward_rate;
}

bool is_narrow(const ConvolutionShape& s) {
  return std::fmod(s.channels, kMatrixUnitChannels) != 0 || std::fmod(s.filters, kMatrixUnitChannels) != 0;
}

Seconds product_seconds(const ProductShape& product, FlopsPerSecond rate, const ConvolutionDevice& device) {
  ProductDevice units = device.product;
  units.multiprocessor_rate = rate / units.multiprocessors;
  return arithmetic_time(product, units);
}

/// Arithmetic beside the tensors' traffic: the window is read from the image, not from a matrix of windows.
Seconds beside_tensors(const ConvolutionShape& s, Seconds arithmetic, const ConvolutionDevice& device) {
  const Bytes tensors((image(s) + result(s) + weights(s)) * s.element_bytes);
  return device.launch + Seconds(std::hypot(arithmetic.value(), (tensors / device.memory).value()));
}

/// Channels and filters filled up to what matrix units take.
ConvolutionShape padded(ConvolutionShape s) {
  s.channels = kMatrixUnitChannels * std::ceil(s.channels / kMatrixUnitChannels);
  s.filters = kMatrixUnitChannels * std::ceil(s.filters / kMatrixUnitChannels);
  return s;
}

/// Channels that are no multiple of 8 are padded, or are not put on matrix units; where there are none, a kernel
/// without tiles may still be quicker than tiles that one channel fills to a sixteenth.
Seconds direct_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  if (is_narrow(s) && device.pads_channels) {
    const ConvolutionShape wide = padded(s);
    const Bytes copied((image(s) + image(wide)) * s.element_bytes);
    const Seconds product =
        product_seconds(implicit_product(wide, device.multiplied_zeros), direct_rate(s, device), device);
    return beside_tensors(wide, product, device) + copied / device.memory;
  }
  const Seconds tiled = product_seconds(implicit_product(s, device.multiplied_zeros), direct_rate(s, device), device);
  if (!is_narrow(s) || !(device.narrow_rate.value() > 0)) return beside_tensors(s, tiled, device);
  const Seconds narrow = convolution_flops(s) / device.narrow_rate;
  return beside_tensors(s, device.matrix_unit ? narrow : std::min(tiled, narrow), device);
}

/// Transforms are passes of their own: their results are written and read again by the products.
Seconds winograd_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  const double points = kWinogradEdge * kWinogradEdge;
  const double tiles = result_tiles(s, kWinogradEdge + 1 - s.rows);
  const double transformed = points * (tiles * (s.channels + s.filters) + s.channels * s.filters);
  const Bytes traffic((image(s) + result(s) + 2 * transformed) * s.element_bytes);
  return device.launch + product_seconds(transformed_product(s, tiles), device.winograd_rate, device) +
         traffic / device.memory;
}

bool has_winograd(const ConvolutionShape& s, const ConvolutionDevice& device) {
  return device.winograd_rate.value() > 0 && s.stride_height == 1 && s.stride_width == 1 && s.rows == s.columns &&
         (s.rows == 3 || s.rows == 5);
}

}  // namespace

Flops convolution_flops(const ConvolutionShape& s) {
  return Flops(2 * s.batch * weights(s) * s.out_height * s.out_width);
}

ConvolutionDevice convolution_device(const Accelerator& accelerator, const OperatorProfile& profile,
                                     const ConvolutionConstants& constants, FlopsPerSecond peak) {
  ConvolutionDevice out;
  out.product.multiprocessors = std::max(accelerator.sm_count, 1);
  out.product.tile_cost = tile_costs(constants.small_tile_exponent);
  out.product.most_splits = kMostSplits;
  out.product.memory = out.memory = accelerator.memory_bandwidth * constants.memory_share;
  if (profile.product) {
    out.product.cache_speedup = profile.product->cache_speedup;
    out.product.split_cost = profile.product->split_cost;
  }
  out.forward_rate = peak * constants.direct_share;
  out.input_gradient_rate = out.forward_rate * constants.input_gradient_share;
  out.weight_gradient_rate = out.forward_rate * constants.weight_gradient_share;
  out.narrow_rate = peak * constants.narrow_share;
  out.winograd_rate = peak * constants.winograd_share;
  out.pads_channels = constants.pads_channels;
  out.multiplied_zeros = constants.multiplied_zeros;
  out.matrix_unit = on_matrix_unit(accelerator, peak);
  out.launch = constants.launch;
  return out;
}

Seconds convolution_time(const ConvolutionShape& s, const ConvolutionDevice& device) {
  const Seconds direct = direct_time(s, device);
  return has_winograd(s, device) ? std::min(direct, winograd_time(s, device)) : direct;
}

}  // namespace stepcast
