#include <algorithm>
#include <array>
#include <cmath>

#include "models/compute/device.hpp"

namespace stepcast {
namespace {

/// s½ without a mask over that with one: the diagonal's tiles are half empty. docs/sources.md, operator timings: causal
/// s½ is 2–3 times the other.
constexpr double kUnmaskedHalfSequence = 0.4;

/// Head sizes between which the rate rises from attention_head64_factor to 1 (docs/sources.md: 64 and 128 measured;
/// linear between them, held outside).
constexpr double kSmallHead = 64, kLargeHead = 128;

/// Elements of 16 bit in the 16 bytes that tensor cores' kernels load at once (NVIDIA, Matrix Multiplication Background
/// User's Guide, "Tensor Core Requirements"), and what products keep of what they sustain whose rows hold a multiple of
/// 4 such elements, or not even that. From 720 steps on A100 with a vocabulary of 50,257: its output layer's products
/// run at 230 TFLOP/s on two tensor-parallel ranks (25,128 columns each), 135 on four (12,564), 90 on one or eight
/// (50,257 and 6,282).
constexpr long kAlignedElements = 8;
constexpr double kHalfAlignedShare = 0.58, kUnalignedShare = 0.39;

/// Tensor cores read 16 bytes at a time: heads of another size than a multiple of 8 elements run on slow kernels, 4
/// to 6.5 times slower in published runs with heads of 108 (prototype fit, 2026-11).
constexpr double kAlignedHead = 8, kUnalignedRate = 0.2;

/// Compute and memory time overlap but for their sum in quadrature (docs/sources.md: p = 1.6–2.3 for most parts).
Seconds combine(Seconds floor, double compute, double memory) {
  return floor + Seconds(std::sqrt(compute * compute + memory * memory));
}

double memory_time(const Operator& op, const Device& device) {
  return op.bytes.value() / device.memory_bandwidth.value();
}

/// Of a kernel whose products are too small for matrix units: multiprocessors take a stated time for its bytes.
double small_products_time(const Operator& op, const Device& device) {
  return op.bytes_per_cycle > 0 ? op.bytes.value() / (op.bytes_per_cycle * device.multiprocessor_cycles) : 0;
}

/// Share of the sustained rate that a product keeps whose rows in memory are no multiple of 16 bytes long: kernels then
/// load and store 8 bytes at a time, or fewer, instead of 16. The features are what lies side by side, never the
/// tokens: A's are k and B's and C's n, of a weight gradient m and n.
double aligned_share(const Operator& op) {
  const auto whole = [](double elements) { return static_cast<long>(std::ceil(elements)); };
  const long lengths = whole(op.backward ? op.m : op.k) | whole(op.n);
  if (lengths % kAlignedElements == 0) return 1;
  return lengths % (kAlignedElements / 2) == 0 ? kHalfAlignedShare : kUnalignedShare;
}

/// Time of a product's arithmetic where its alignment is what limits it; 0 where it is aligned.
Seconds unaligned_time(const Operator& op, const Device& device) {
  const double share = aligned_share(op);
  if (share == 1) return Seconds(0);
  const ProductDevice& products = op.sixteen_bit ? device.sixteen_bit : device.product;
  return products.launch + op.flops / (products.sustained_rate * share);
}

/// Rows that each expert's products take longer by. Runs with hundreds of rows an expert tell the number; an expert
/// with fewer than that is in tiles of about its rows, and the smallest have 16 (kTiles), so no more than these are
/// added.
double added_rows(const Operator& op, const Device& device) {
  constexpr double kSmallestTileRows = 16;
  return std::min(device.expert_half_rows, std::max(op.rows, kSmallestTileRows));
}

Seconds gemm_time(const Operator& op, const Device& device) {
  const double inputs = op.sixteen_bit ? device.element_bytes : device.product_bytes;
  const ProductShape shape{op.m, op.n, op.k, op.batch, inputs, device.element_bytes, op.fp32_output};
  const ProductDevice& products = op.sixteen_bit ? device.sixteen_bit : device.product;
  const Seconds time = sustained_time(shape, products);
  if (op.kind == OperatorKind::grouped_gemm)
    return time + op.flops * (added_rows(op, device) / op.rows) / products.sustained_rate;
  return device.wide_loads && device.element_bytes <= 2 ? std::max(time, unaligned_time(op, device)) : time;
}

/// Time of attention's products in 8 bit over that in 16, as the accelerator's kernels were measured; 1 in 16 bit.
double eight_bit_factor(const Operator& op, const Device& device) {
  if (!op.eight_bit) return 1;
  AttentionShape shape;
  shape.batch = op.batch;
  shape.head_size = shape.value_size = op.k;
  shape.queries = op.m;
  shape.keys = op.n;
  shape.causal = op.causal;
  shape.pass = op.backward ? AttentionPass::backward : AttentionPass::forward;
  return narrow_over_half(shape, device.narrow_attention.value());
}

Seconds fused_attention_time(const Operator& op, const Device& device) {
  const double between = std::clamp((op.k - kSmallHead) / (kLargeHead - kSmallHead), 0.0, 1.0);
  const double head = device.attention_head64_factor + (1 - device.attention_head64_factor) * between;
  const double half = device.attention_half_sequence * (op.causal ? 1 : kUnmaskedHalfSequence);
  const double share =
      device.attention_forward_share * (op.backward ? device.attention_backward_ratio : 1) * head / (1 + half / op.n);
  return combine(device.kernel_floor * op.kernels,
                 op.flops.value() / (share * device.peak_wide.value()) * eight_bit_factor(op, device),
                 memory_time(op, device));
}

/// The products of unfused attention, forward scores and values, backward the gradients of both factors of each.
std::array<ProductShape, 4> attention_products(const Operator& op, double bytes) {
  const auto shape = [&](double m, double n, double k) { return ProductShape{m, n, k, op.batch, bytes, bytes, false}; };
  if (!op.backward) return {shape(op.m, op.n, op.k), shape(op.m, op.k, op.n)};
  return {shape(op.n, op.k, op.m), shape(op.m, op.n, op.k), shape(op.m, op.k, op.n), shape(op.n, op.k, op.m)};
}

/// Batched products by their shape, at a share of plain ones' rate, then the scores' traffic between them: the kernels
/// run one after another.
Seconds unfused_attention_time(const Operator& op, const Device& device) {
  const double aligned = !device.wide_loads || std::fmod(op.k, kAlignedHead) == 0 ? 1 : kUnalignedRate;
  Seconds products;
  for (const ProductShape& shape : attention_products(op, device.element_bytes))
    if (shape.m > 0) products += sustained_time(shape, device.sixteen_bit);
  return device.kernel_floor * op.kernels + products / (aligned * device.unfused_attention_gemm_share) +
         Seconds(memory_time(op, device));
}

/// Share of its rate that a convolution keeps whose result has few channels. A matrix unit multiplies each pixel that
/// it reads with the filters of one tile, so it waits for pixels where filters are few (docs/models/compute.md).
double fed_share(const Operator& op, const Device& device) {
  return op.width > 0 ? std::min(1.0, op.width / std::max(device.convolution_full_width, 1.0)) : 1;
}

/// Channels of a group that convolution_grouped_share stands for (ResNeXt-50 32x4d has 4 to 32, 9 in the mean).
constexpr double kGroupChannels = 8;

/// Of matrix units that a group's few channels keep waiting, in proportion to them; `most`: of one group.
double grouped_share(const Operator& op, const Device& device, double most) {
  if (op.width == 0 || device.convolution_full_width == 0) return device.grouped_share;
  return std::min(most, device.grouped_share * op.width / kGroupChannels);
}

/// Share of device.peak_wide of a convolution by its kind.
double convolution_share(const Operator& op, const Device& device) {
  const auto or_any = [&](double share) { return share > 0 ? share : device.convolution_share; };
  switch (op.convolution) {
    case ConvolutionKind::window:
      return or_any(device.window_share) * fed_share(op, device);
    case ConvolutionKind::three_by_three:
      return or_any(device.three_by_three_share) * fed_share(op, device);
    case ConvolutionKind::pointwise:
      return or_any(device.pointwise_share) * fed_share(op, device);
    case ConvolutionKind::depthwise:
      // One channel's window is no matrix product, so the matrix unit's peak does not matter.
      if (device.depthwise_share > 0) return device.depthwise_share * (device.peak_fp32 / device.peak_wide);
      [[fallthrough]];
    case ConvolutionKind::grouped:
      return or_any(grouped_share(op, device, or_any(device.window_share)));
  }
  return device.convolution_share;
}

/// Grouped and depthwise convolutions run in kernels of their own, whose share is FLOPs over time.
bool is_one_product(ConvolutionKind kind) {
  return kind != ConvolutionKind::grouped && kind != ConvolutionKind::depthwise;
}

/// Depth of the tiles that products are summed up from: no slice of a product is shallower (CUTLASS's default tiles for
/// tensor cores are 32 deep).
constexpr double kTileDepth = 32;

/// Few weights are many pixels' gradient: libraries cut such a product's depth k into s slices that fill the
/// multiprocessors together (split-K), so (k/s + k0)·(s·m·n + tail) at the s that is best, never below 1.
double split_product_time(const Operator& op, const Device& device, double rate) {
  const double outputs = op.batch * op.m * op.n;
  const double start_up = device.convolution_k_overhead * outputs;
  const double most = op.k / kTileDepth;
  const double best = start_up > 0 ? std::min(most, std::sqrt(op.k * device.convolution_tail / start_up)) : most;
  const double slices = std::max(1.0, best);
  return 2 * (op.k / slices + device.convolution_k_overhead) * (slices * outputs + device.convolution_tail) / rate;
}

/// What trains in 8 or 4 bit are linear layers (Transformer Engine has no convolution among its modules; its API
/// reference for PyTorch and JAX): convolutions beside them stay in 16.
Seconds convolution_time(const Operator& op, const Device& device) {
  const double rate = convolution_share(op, device) * device.peak_wide.value();
  const double arithmetic =
      is_one_product(op.convolution) ? split_product_time(op, device, rate) : op.flops.value() / rate;
  return combine(device.kernel_floor * op.kernels, arithmetic, memory_time(op, device));
}

}  // namespace

Seconds operator_time(const Operator& op, const Device& device) {
  switch (op.kind) {
    case OperatorKind::gemm:
    case OperatorKind::grouped_gemm:
      return gemm_time(op, device);
    case OperatorKind::attention:
      return op.fused ? fused_attention_time(op, device) : unfused_attention_time(op, device);
    case OperatorKind::convolution:
      return convolution_time(op, device);
    case OperatorKind::memory:
      break;
  }
  return device.kernel_floor * op.kernels + Seconds(std::max(memory_time(op, device), small_products_time(op, device)));
}

Seconds optimizer_time(double parameters, double bytes_per_parameter, const Device& device) {
  if (parameters <= 0) return Seconds(0);
  return device.kernel_floor + Seconds(parameters * bytes_per_parameter / device.memory_bandwidth.value());
}

}  // namespace stepcast
