#include <algorithm>
#include <cmath>

#include "models/compute/device.hpp"

namespace stepcast {
namespace {

/// Rate of a product that accumulates into fp32, over one that writes 16 bit. Prototype fit over training runs, 2026-11
/// (MODEL-HINTS.md section 3); SimuMax's single products: 0.94 (B200), 0.95 (A100).
constexpr double kFp32OutputRate = 0.92;

/// s½ without a mask over that with one: the diagonal's tiles are half empty. OPERATORS.md, attention: causal s½ is 2–3
/// times the other.
constexpr double kUnmaskedHalfSequence = 0.4;

/// Head sizes between which the rate rises from attention_head64_factor to 1 (OPERATORS.md: 64 and 128 measured; linear
/// between them, held outside).
constexpr double kSmallHead = 64, kLargeHead = 128;

/// Compute and memory time overlap but for their sum in quadrature (OPERATORS.md: p = 1.6–2.3 for most parts).
Seconds combine(Seconds floor, double compute, double memory) {
  return floor + Seconds(std::sqrt(compute * compute + memory * memory));
}

double memory_time(const Operator& op, const Device& device) {
  return op.bytes.value() / device.memory_bandwidth.value();
}

/// 2·(k + k0)·(batch·m·n + tail) / rate: start-up of every tile, and one tail for the whole batch.
double product_time(const Operator& op, const Device& device, double rate) {
  const double padded = 2 * (op.k + device.gemm_k_overhead) * (op.batch * op.m * op.n + device.gemm_tail_flops);
  return padded / rate;
}

Seconds gemm_time(const Operator& op, const Device& device) {
  double rate = op.sixteen_bit ? device.sixteen_bit_rate.value() : device.gemm_share * device.peak.value();
  if (op.fp32_output) rate *= kFp32OutputRate;
  if (op.kind == OperatorKind::grouped_gemm) rate /= 1 + device.expert_half_rows / op.rows;
  return combine(device.kernel_floor * op.kernels, product_time(op, device, rate), memory_time(op, device));
}

Seconds fused_attention_time(const Operator& op, const Device& device) {
  const double between = std::clamp((op.k - kSmallHead) / (kLargeHead - kSmallHead), 0.0, 1.0);
  const double head = device.attention_head64_factor + (1 - device.attention_head64_factor) * between;
  const double half = device.attention_half_sequence * (op.causal ? 1 : kUnmaskedHalfSequence);
  const double share =
      device.attention_forward_share * (op.backward ? device.attention_backward_ratio : 1) * head / (1 + half / op.n);
  return combine(device.kernel_floor * op.kernels, op.flops.value() / (share * device.peak_attention.value()),
                 memory_time(op, device));
}

/// Products at a share of the plain products' rate, then the scores' traffic: the kernels run one after another.
Seconds unfused_attention_time(const Operator& op, const Device& device) {
  const double rate = device.gemm_share * device.unfused_attention_gemm_share * device.peak_attention.value();
  return device.kernel_floor * op.kernels + Seconds(op.flops.value() / rate + memory_time(op, device));
}

Seconds convolution_time(const Operator& op, const Device& device) {
  return combine(device.kernel_floor * op.kernels,
                 product_time(op, device, device.convolution_share * device.peak.value()), memory_time(op, device));
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
  return device.kernel_floor * op.kernels + Seconds(memory_time(op, device));
}

Seconds optimizer_time(double parameters, double bytes_per_parameter, const Device& device) {
  if (parameters <= 0) return Seconds(0);
  return device.kernel_floor + Seconds(parameters * bytes_per_parameter / device.memory_bandwidth.value());
}

}  // namespace stepcast
