#pragma once

#include <optional>

#include "hardware-catalog/parts.hpp"
#include "models/compute/attention_time.hpp"
#include "models/compute/product_time.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

/// What the operator cost functions need of one training device: an accelerator, or a CPU socket.
struct Device {
  FlopsPerSecond peak;                ///< dense, in the scenario's precision
  FlopsPerSecond peak_fp32;           ///< for work that is not in the matrix unit's format
  FlopsPerSecond peak_wide;           ///< of what stays in 16 bit when products are in 8 or 4: attention, convolutions
  ProductDevice product;              ///< in the scenario's precision; sustained_rate: in long training phases
  ProductDevice sixteen_bit;          ///< of products that stay in 16 bit where others are narrower
  double product_bytes = 2;           ///< of one element of a product's operands
  double element_bytes = 2;           ///< of its result
  double expert_half_rows = 0;        ///< rows of each expert whose arithmetic grouped products take longer by
  double convolution_k_overhead = 0;  ///< k0: columns of k that a tile's start-up and write-back cost
  double convolution_tail = 0;        ///< c·SM·128²: output elements lost at the tail
  Seconds kernel_floor;               ///< of a kernel with next to nothing to do
  BytesPerSecond memory_bandwidth;    ///< of the memory-bound operators: already × share
  double multiprocessor_cycles = 0;   ///< of all of them in a second
  /// Fused attention: share of the peak at long sequences, backward rate over forward, and the sequence at which half
  /// of the share is reached.
  double attention_forward_share = 0, attention_backward_ratio = 1, attention_half_sequence = 0;
  double attention_head64_factor = 1;               ///< rate at head size 64 over that at 128
  double unfused_attention_gemm_share = 1;          ///< of a product's rate, by those of unfused attention
  std::optional<NarrowAttention> narrow_attention;  ///< what attention in 8 bit runs on; nothing: not known
  double convolution_share = 0;                     ///< of convolutions whose kind has no share of its own
  double pointwise_share = 0;                       ///< of 1×1 convolutions; 0: convolution_share, as below
  double three_by_three_share = 0;                  ///< of 3×3 convolutions with stride 1
  double window_share = 0;                          ///< of other windows
  double grouped_share = 0;                         ///< of grouped ones
  double depthwise_share = 0;                       ///< of the fp32 peak, channel by channel; 0: as grouped
  double convolution_full_width = 0;                ///< channels of a result from which matrix units are fed; 0: any
  Bytes memory;                                     ///< usable
  bool is_cpu = false;
  bool wide_loads = false;  ///< kernels load 16 bytes at once, so that products of other row lengths are slow
};

/// Everything of a device goes at `share` of its rate: a throttled or older one of the same kind.
void slow_down(Device& device, double share);

/// Bytes of an activation or parameter in memory: 16 bit where products are in 8 or 4.
double element_bytes(Precision precision);

/// Bytes of an element of a product's operands.
double product_bytes(Precision precision);

/// The device of a scenario: the accelerator with its family's compute profile, or one CPU socket. Throws
/// std::logic_error when the scenario is not a resolved one (no profile; a precision that the part does not have).
Device device_of(const Scenario& scenario);

/// Time of one operator on a device, without the host's launch cost (docs/models/compute.md has every formula with its
/// source).
Seconds operator_time(const Operator& op, const Device& device);

/// Time of the optimizer step over the parameters that one device updates.
Seconds optimizer_time(double parameters, double bytes_per_parameter, const Device& device);

}  // namespace stepcast
