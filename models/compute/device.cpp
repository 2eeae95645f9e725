#include "models/compute/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace stepcast {
namespace {

/// Tiles that a matrix product is cut into, for the tail of its last wave (OPERATORS.md, "Tail and start-up").
constexpr double kTileElements = 128.0 * 128.0;

/// Peak at which FrameworkProfile::expert_half_rows holds (A100, 16 bit).
constexpr FlopsPerSecond kExpertReferencePeak(312e12);

/// Sustained share of a precision; of 16 bit where the profile has no figure of its own for it.
double sustained_share(const ComputeProfile& profile, Precision precision) {
  for (const std::string_view name : {name_of(precision), name_of(Precision::bf16), name_of(Precision::fp16)})
    if (const auto found = profile.gemm_sustained_share.find(std::string(name));
        found != profile.gemm_sustained_share.end())
      return found->second;
  throw std::logic_error(fmt::format("compute profile {}: no gemm_sustained_share", profile.id));
}

void take_profile(Device& device, const ComputeProfile& profile, Precision precision, BytesPerSecond bandwidth) {
  device.gemm_share = sustained_share(profile, precision);
  device.gemm_k_overhead = profile.gemm_k_overhead;
  device.kernel_floor = profile.kernel_floor;
  device.memory_bandwidth = bandwidth * profile.memory_share;
  device.attention_backward_ratio = profile.attention_backward_ratio;
  device.attention_half_sequence = profile.attention_half_sequence;
  device.attention_head64_factor = profile.attention_head64_factor;
  device.unfused_attention_gemm_share = profile.unfused_attention_gemm_share;
  const bool single = precision == Precision::fp32 && profile.convolution_share_fp32 > 0;
  device.convolution_share = single ? profile.convolution_share_fp32 : profile.convolution_share;
}

/// Rate of a generation of fused attention kernels; where the profile has no figure of its own for it, of the vendor's.
double attention_share(const ComputeProfile& profile, AttentionKernel kernel) {
  for (const std::string_view name : {name_of(kernel), name_of(AttentionKernel::native)})
    if (const auto found = profile.attention_forward_share.find(std::string(name));
        found != profile.attention_forward_share.end())
      return found->second;
  throw std::logic_error(fmt::format("compute profile {}: no attention_forward_share", profile.id));
}

FlopsPerSecond peak_or_throw(const Accelerator& accelerator, Precision precision) {
  const FlopsPerSecond peak = accelerator.peak(precision);
  if (peak.value() > 0) return peak;
  throw std::logic_error(fmt::format("{} has no {} peak", accelerator.id, name_of(precision)));
}

FlopsPerSecond attention_peak(const Accelerator& accelerator, Precision precision) {
  if (!below_16_bit(precision)) return peak_or_throw(accelerator, precision);
  const FlopsPerSecond bf16 = accelerator.peak(Precision::bf16);
  return bf16.value() > 0 ? bf16 : peak_or_throw(accelerator, Precision::fp16);
}

Device accelerator_device(const Scenario& scenario) {
  const Accelerator& part = *scenario.accelerator;
  Device device;
  device.peak = peak_or_throw(part, scenario.precision);
  const FlopsPerSecond fp32 = part.peak(Precision::fp32);
  device.peak_fp32 = fp32.value() > 0 ? fp32 : device.peak;
  device.peak_attention = attention_peak(part, scenario.precision);
  take_profile(device, *scenario.compute, scenario.precision, part.memory_bandwidth);
  device.sixteen_bit_rate =
      device.peak_attention *
      sustained_share(*scenario.compute, below_16_bit(scenario.precision) ? Precision::bf16 : scenario.precision);
  device.gemm_tail_flops = scenario.compute->gemm_tail_share * part.sm_count * kTileElements;
  device.memory = part.usable_memory();
  return device;
}

Device socket_device(const Scenario& scenario) {
  if (!scenario.cpu) throw std::logic_error("a node without accelerators needs a known CPU");
  const Cpu& part = *scenario.cpu;
  Device device;
  device.is_cpu = true;
  // The catalogue knows a socket's fp32 rate only; narrower formats gain nothing on most of them.
  device.peak = device.peak_fp32 = device.peak_attention = part.peak_fp32;
  take_profile(device, *scenario.compute, Precision::fp32, part.memory_bandwidth);
  device.sixteen_bit_rate = device.peak * device.gemm_share;
  device.memory = scenario.node->memory / std::max(scenario.node->cpu_count, 1);
  return device;
}

}  // namespace

bool below_16_bit(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::fp4 || precision == Precision::int8;
}

Device device_of(const Scenario& scenario) {
  if (!scenario.compute) throw std::logic_error("device_of: the scenario has no compute profile");
  Device device = scenario.accelerator ? accelerator_device(scenario) : socket_device(scenario);
  device.attention_forward_share = attention_share(*scenario.compute, scenario.framework->attention_kernel);
  device.expert_half_rows = scenario.framework->expert_half_rows * (device.peak.value() / kExpertReferencePeak.value());
  return device;
}

}  // namespace stepcast
