#include "models/workload/steps.hpp"

namespace stepcast::workload {
namespace {

/// Elements that a multiprocessor reads and writes in a cycle of its boost clock, of what the forward pass reads and
/// writes. On one H100 (calibration/data/streams.csv) a kernel takes the same time in 16 bit and in fp32, so it is the
/// finding of places that takes it: geometric means over layouts, sizes and, of pooling, windows (2 and 3 wide).
/// element_kernels_test holds them against that table.
struct Rates {
  std::string_view forward_name, backward_name;
  double forward, backward;
};

Rates rates_of(ElementKernelKind kind) {
  switch (kind) {
    case ElementKernelKind::strided:
      return {"strided", "strided_backward", 2.8, 2.8};
    case ElementKernelKind::roll:
      return {"roll", "roll_backward", 0.86, 0.86};
    case ElementKernelKind::max_pool:
      return {"max_pool", "max_pool_backward", 1.26, 0.53};
    case ElementKernelKind::average_pool:
      return {"average_pool", "average_pool_backward", 0.73, 0.26};
    case ElementKernelKind::nearest_resize:
      return {"resize", "resize_backward", 1.2, 2.0};
    case ElementKernelKind::linear_resize:
      return {"resize", "resize_backward", 0.55, 0.39};
  }
  return {};
}

}  // namespace

LayerStep element_kernel(ElementKernelKind kind, double elements, bool backward, const LayerSharding& sharding,
                         int launches) {
  const Rates rates = rates_of(kind);
  const std::string_view name = backward ? rates.backward_name : rates.forward_name;
  const double bytes = elements * sharding.bytes_per_element;
  LayerStep step = sharding.kernels_by_element ? counted_memory(name, bytes) : memory(name, bytes, sharding);
  if (sharding.kernels_by_element)
    step.op.bytes_per_cycle = (backward ? rates.backward : rates.forward) * sharding.bytes_per_element;
  step.op.kernels = launches;
  return step;
}

}  // namespace stepcast::workload
