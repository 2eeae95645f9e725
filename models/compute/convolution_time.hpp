#pragma once

#include "hardware-catalog/operator_profile.hpp"
#include "models/compute/product_time.hpp"

namespace stepcast {

enum class ConvolutionPass { forward, input_gradient, weight_gradient };

/// A two-dimensional convolution of images[batch, channels, height, width] with filters × channels / groups × rows ×
/// columns weights.
struct ConvolutionShape {
  double batch = 1, channels = 1, height = 1, width = 1;
  double filters = 1, rows = 1, columns = 1;
  double stride_height = 1, stride_width = 1;
  double out_height = 1, out_width = 1;
  double groups = 1;
  ConvolutionPass pass = ConvolutionPass::forward;
  double element_bytes = 4;
};

/// What the cost of convolutions needs of one accelerator in one format.
struct ConvolutionDevice {
  ProductDevice product;                   ///< of implicit products: burst share = direct_share
  FlopsPerSecond winograd_rate, fft_rate;  ///< 0: the library has none in this format
  BytesPerSecond memory, depthwise_memory;
};

/// `peak` of the format. Throws std::logic_error when the profile has no products to take tiles from.
ConvolutionDevice convolution_device(const Accelerator& accelerator, const OperatorProfile& profile,
                                     const ConvolutionConstants& constants, FlopsPerSecond peak);

/// Time of the quickest algorithm that the library has for the shape: implicit product, Winograd (3×3, stride 1),
/// Fourier transform (stride 1), or channel by channel (docs/models/operators.md). Rates by direct convolution's FLOPs
/// may exceed the peak.
Seconds convolution_time(const ConvolutionShape& shape, const ConvolutionDevice& device);

/// FLOPs of a direct convolution.
Flops convolution_flops(const ConvolutionShape& shape);

}  // namespace stepcast
