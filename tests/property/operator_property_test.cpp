#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "models/compute/device.hpp"

namespace stepcast::operator_property_test {
namespace {

double between(double low, double high) { return low + (high - low) * *rc::gen::inRange(0, 1000001) / 1e6; }
double log_between(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }

ProductDevice any_products(const Device& device) {
  ProductDevice out;
  out.multiprocessors = std::floor(between(1, 300));
  out.multiprocessor_rate = device.peak * between(0.1, 1) / out.multiprocessors;
  out.sustained_rate = device.peak * between(0.1, 1);
  out.memory = device.memory_bandwidth;
  out.launch = device.kernel_floor;
  out.start_up_k = between(0, 200);
  out.whole_wave_share = between(0, 1);
  out.split_cost = Seconds(between(0, 1e-5));
  out.accumulate_share = between(0.8, 1);
  for (std::size_t i = 0; i < kTiles.size(); ++i) out.tile_cost[i] = kTiles[i].m * kTiles[i].n;
  return out;
}

Device any_device() {
  Device device;
  device.peak = FlopsPerSecond(log_between(1e12, 5e15));
  device.peak_fp32 = device.peak_wide = device.peak;
  device.convolution_k_overhead = between(0, 200);
  device.convolution_tail = between(0, 5e5);
  device.kernel_floor = Seconds(between(1e-6, 3e-5));
  device.memory_bandwidth = BytesPerSecond(log_between(1e10, 1e13));
  device.product = device.sixteen_bit = any_products(device);
  device.expert_half_rows = between(0, 500);
  device.attention_forward_share = between(0.1, 0.9);
  device.attention_backward_ratio = between(0.3, 1);
  device.attention_half_sequence = between(0, 2000);
  device.attention_head64_factor = between(0.5, 1);
  device.unfused_attention_gemm_share = between(0.1, 1);
  device.convolution_share = between(0.1, 1.5);
  return device;
}

Operator any_operator() {
  Operator op;
  op.kind = static_cast<OperatorKind>(*rc::gen::inRange(0, 5));
  op.m = std::floor(log_between(1, 1e6));
  op.n = std::floor(log_between(1, 1e5));
  op.k = op.kind == OperatorKind::attention ? std::floor(log_between(16, 257)) : std::floor(log_between(1, 1e5));
  op.batch = std::floor(log_between(1, 1e3));
  op.rows = op.m;
  op.causal = *rc::gen::arbitrary<bool>();
  op.backward = *rc::gen::arbitrary<bool>();
  op.fused = *rc::gen::arbitrary<bool>();
  op.fp32_output = *rc::gen::arbitrary<bool>();
  op.flops = op.kind == OperatorKind::memory ? Flops(0) : Flops(2 * op.batch * op.m * op.n * op.k);
  op.bytes = Bytes(2 * op.batch * (op.m * op.k + op.n * op.k + op.m * op.n));
  op.kernels = *rc::gen::inRange(1, 8);
  return op;
}

RC_GTEST_PROP(OperatorTime, IsFiniteAndAtLeastItsFloor, ()) {
  const Operator op = any_operator();
  const Device device = any_device();
  const Seconds time = operator_time(op, device);
  RC_ASSERT(is_finite(time));
  const bool product = op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
  RC_ASSERT(time >= device.kernel_floor * (product ? 1 : op.kernels));
}

// No operator beats the peak that its share allows, nor its bytes at the bandwidth.
RC_GTEST_PROP(OperatorTime, KeepsToTheRoofline, ()) {
  const Operator op = any_operator();
  const Device device = any_device();
  const double time = operator_time(op, device).value();
  if (op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm) {
    RC_ASSERT(time >= op.flops.value() / device.product.sustained_rate.value());
    // Operands once; what a cache keeps is none here.
    RC_ASSERT(time >= device.product_bytes * op.batch * (op.m + op.n) * op.k / device.memory_bandwidth.value());
  } else {
    RC_ASSERT(time >= op.bytes.value() / device.memory_bandwidth.value());
  }
}

RC_GTEST_PROP(OperatorTime, MoreWorkIsNeverFaster, ()) {
  const Operator op = any_operator();
  const Device device = any_device();
  Operator more = op;
  more.batch = op.batch * between(1, 4);
  more.flops = op.flops * (more.batch / op.batch);
  RC_ASSERT(operator_time(more, device) >= operator_time(op, device));
  more = op;
  more.bytes = op.bytes * between(1, 4);
  RC_ASSERT(operator_time(more, device) >= operator_time(op, device));
}

RC_GTEST_PROP(OperatorTime, AFasterDeviceIsNeverSlower, ()) {
  const Operator op = any_operator();
  const Device device = any_device();
  Device faster = device;
  faster.memory_bandwidth = device.memory_bandwidth * between(1, 4);
  RC_ASSERT(operator_time(op, faster) <= operator_time(op, device));
  // Small groups of rows fill a larger matrix unit less well, never so badly that it loses. The slack is rounding.
  faster = device;
  faster.peak = faster.peak_wide = device.peak * between(1, 4);
  RC_ASSERT(operator_time(op, faster).value() <= operator_time(op, device).value() * (1 + 1e-12));
}

}  // namespace
}  // namespace stepcast::operator_property_test
