#include "models/workload/steps.hpp"

namespace stepcast::workload {
namespace {

/// Elements that a multiprocessor reads and writes in a cycle of its boost clock, of what the forward pass reads and
/// writes. On one H100 (calibration/data/streams.csv) a kernel takes the same time in 16 bit and in fp32, so it is the
/// finding of places that takes it: geometric means over sizes and, of pooling, windows (2 and 3 wide).
/// element_kernels_test holds them against that table.
struct Rates {
  std::string_view forward_name, backward_name;
  double forward, backward;
};

/// Channels first linear resizing steps through all channels of a pixel in one thread, which takes up to 400 times as
/// long where pixels are few: no rate stands for that, and it has that of channels last.
Rates rates_of(ElementKernelKind kind, bool channels_first) {
  switch (kind) {
    case ElementKernelKind::strided:
      return {"strided", "strided_backward", 2.8, 2.8};
    case ElementKernelKind::roll:
      return {"roll", "roll_backward", 0.86, 0.86};
    case ElementKernelKind::max_pool:
      return channels_first ? Rates{"max_pool", "max_pool_backward", 1.30, 0.40}
                            : Rates{"max_pool", "max_pool_backward", 1.21, 0.70};
    case ElementKernelKind::average_pool:
      return channels_first ? Rates{"average_pool", "average_pool_backward", 1.01, 0.265}
                            : Rates{"average_pool", "average_pool_backward", 0.53, 0.25};
    case ElementKernelKind::nearest_resize:
      return channels_first ? Rates{"resize", "resize_backward", 1.75, 2.66}
                            : Rates{"resize", "resize_backward", 0.80, 1.46};
    case ElementKernelKind::linear_resize:
      return {"resize", "resize_backward", 0.55, 0.39};
  }
  return {};
}

/// The same of a batch norm with channels first, whose blocks each sum one channel's planes; with channels last it
/// streams.
constexpr Rates kBatchNorm{"batch_norm", "batch_norm_backward", 0.81, 0.75};

/// Elements that a conversion between the two orders reads and writes in a cycle of a multiprocessor: what convolutions
/// of images with channels first take longer by (calibration/data/convolution-layouts.csv; memory_format_test).
constexpr double kConverted = 3.6;

}  // namespace

LayerStep element_kernel(ElementKernelKind kind, double elements, bool backward, const LayerSharding& sharding,
                         int launches) {
  const Rates rates = rates_of(kind, sharding.channels_first);
  const std::string_view name = backward ? rates.backward_name : rates.forward_name;
  const double bytes = elements * sharding.bytes_per_element;
  LayerStep step = sharding.kernels_by_element ? counted_memory(name, bytes) : memory(name, bytes, sharding);
  if (sharding.kernels_by_element)
    step.op.bytes_per_cycle = (backward ? rates.backward : rates.forward) * sharding.bytes_per_element;
  step.op.kernels = launches;
  return step;
}

LayerStep batch_norm(double bytes, double elements, bool backward, const LayerSharding& sharding) {
  LayerStep step = memory(backward ? kBatchNorm.backward_name : kBatchNorm.forward_name, bytes, sharding);
  if (sharding.channels_first && sharding.kernels_by_element)
    step.op.bytes_per_cycle = (backward ? kBatchNorm.backward : kBatchNorm.forward) * step.op.bytes.value() / elements;
  return step;
}

LayerStep layout_conversion(double elements, const LayerSharding& sharding) {
  LayerStep step = counted_memory("layout_conversion", elements * sharding.bytes_per_element);
  step.op.bytes_per_cycle = kConverted * sharding.bytes_per_element;
  step.op.kernels = 0;
  return step;
}

}  // namespace stepcast::workload
