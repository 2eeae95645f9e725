#pragma once

#include "hardware-catalog/operator_profile.hpp"
#include "models/compute/product_time.hpp"

namespace stepcast {

enum class ConvolutionPass { forward, input_gradient, weight_gradient };

/// A two-dimensional convolution of images[batch, channels, height, width] with filters × channels × rows × columns
/// weights.
struct ConvolutionShape {
  double batch = 1, channels = 1, height = 1, width = 1;  ///< of the input
  double filters = 1, rows = 1, columns = 1;              ///< rows and columns of one filter
  double stride_height = 1, stride_width = 1;
  double out_height = 1, out_width = 1;  ///< of the result
  ConvolutionPass pass = ConvolutionPass::forward;
  double element_bytes = 4;  ///< of input, filters and result
};

/// What the cost of convolutions needs of one accelerator in one format.
struct ConvolutionDevice {
  ProductDevice product;  ///< tiles and splits; its rate is one of the following
  FlopsPerSecond forward_rate, input_gradient_rate, weight_gradient_rate;
  FlopsPerSecond narrow_rate;    ///< of kernels without tiles, for channels that are no multiple of 8; 0: none
  FlopsPerSecond winograd_rate;  ///< 0: the library has none in this format
  bool matrix_unit = false;      ///< products run on matrix units, which take whole groups of 8 channels only
  bool pads_channels = false;    ///< to a multiple of 8, by a kernel of its own
  double multiplied_zeros = 0;   ///< share of a strided input gradient's zeros that its product multiplies
  BytesPerSecond memory;
  Seconds launch;  ///< of one kernel
};

/// `peak` of the format.
ConvolutionDevice convolution_device(const Accelerator& accelerator, const OperatorProfile& profile,
                                     const ConvolutionConstants& constants, FlopsPerSecond peak);

/// Time of the quicker algorithm that the library has for the shape: implicit product, or Winograd's transform (3×3 and
/// 5×5 windows, stride 1; docs/models/operators.md). Rates by direct convolution's FLOPs may exceed the peak.
Seconds convolution_time(const ConvolutionShape& shape, const ConvolutionDevice& device);

/// FLOPs of a direct convolution.
Flops convolution_flops(const ConvolutionShape& shape);

}  // namespace stepcast
