#include "models/compute/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/compute/attention_generation.hpp"
#include "models/power/device_power.hpp"

namespace stepcast {
namespace {

/// Tiles that a matrix product is cut into, for the tail of its last wave (docs/sources.md, operator timings).
constexpr double kTileElements = 128.0 * 128.0;

/// Elements that share a scale of one byte (OCP Microscaling formats, v1.0, table 1).
constexpr double kMxBlock = 32;

/// Peak at which FrameworkProfile::expert_half_rows holds (A100, 16 bit).
constexpr FlopsPerSecond kExpertReferencePeak(312e12);

/// Sustained share of a precision; where the profile has no figure of its own for it, of 8 bit with other scales, or of
/// 16 bit.
double sustained_share(const ComputeProfile& profile, Precision precision) {
  const Precision near = precision == Precision::mxfp8 ? Precision::fp8 : precision;
  for (const Precision p : {precision, near, Precision::bf16, Precision::fp16})
    if (const auto found = profile.gemm_sustained_share.find(std::string(name_of(p)));
        found != profile.gemm_sustained_share.end())
      return found->second;
  throw std::logic_error(fmt::format("compute profile {}: no gemm_sustained_share", profile.id));
}

/// Names of a precision among the formats of measured products, the nearest first.
std::vector<std::string_view> formats_of(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return {"fp16", "fp16-tensor", "bf16"};
    case Precision::bf16:
      return {"bf16", "fp16", "fp16-tensor"};
    case Precision::mxfp8:
      return {"mxfp8", "fp8"};
    default:
      return {name_of(precision)};
  }
}

/// Format of a profile's products that stands for a precision; empty: none was measured.
std::string_view measured_format(const OperatorProfile* profile, Precision precision) {
  if (profile == nullptr || !profile->product) return {};
  for (const std::string_view format : formats_of(precision))
    if (profile->product->burst_share.contains(std::string(format))) return format;
  return {};
}

/// Whether a calibration timed products of a format on these very devices, without casts: it states a source of its own
/// for the share, which the shipped profiles have of their products as a whole.
bool calibrated(const OperatorProfile& profile, std::string_view format) {
  return profile.product->burst_share.contains(std::string(format)) &&
         profile.provenance.sources.contains(fmt::format("product.burst_share.{}", format));
}

/// Share of the peak that bursts reach in a format whose shapes another one's stand for: what a calibration says, else
/// as far above the sustained share as those of `stand_in` are above that of 16 bit.
double stand_in_burst(const ComputeProfile& profile, const OperatorProfile& operators, Precision precision,
                      std::string_view stand_in) {
  const std::map<std::string, double>& shares = operators.product->burst_share;
  for (const std::string_view format : formats_of(precision))
    if (calibrated(operators, format)) return shares.at(std::string(format));
  const double above = shares.at(std::string(stand_in)) / sustained_share(profile, Precision::bf16);
  // Benchmarks may be older than the runs that the sustained share is of; these devices' own bursts are not.
  return sustained_share(profile, precision) * (calibrated(operators, stand_in) ? above : std::max(1.0, above));
}

/// Products of a family that nobody measured: whole tiles, no loss but for the start-up.
ProductDevice unmeasured_products(const ComputeProfile& profile, FlopsPerSecond peak, double share) {
  ProductDevice out;
  out.peak = peak;
  out.multiprocessor_rate = peak * share;
  out.launch = profile.kernel_floor;
  out.start_up_k = profile.gemm_k_overhead;
  for (std::size_t i = 0; i < kTiles.size(); ++i) out.tile_cost[i] = kTiles[i].m * kTiles[i].n;
  return out;
}

/// Products of an accelerator in training: shapes lose what single operators of the family lose, and long phases
/// sustain what the compute profile says. Formats without measured operators (8 and 4 bit: benchmarks hold their casts)
/// lose as 16 bit does.
ProductDevice training_products(const Accelerator& part, const ComputeProfile& profile,
                                const OperatorProfile* operators, Precision precision, FlopsPerSecond peak) {
  const double sustained = sustained_share(profile, precision);
  const std::string_view own = below_16_bit(precision) ? std::string_view{} : measured_format(operators, precision);
  const std::string_view format = own.empty() ? measured_format(operators, Precision::bf16) : own;
  ProductDevice out;
  if (format.empty()) {
    out = unmeasured_products(profile, peak, sustained);
  } else {
    out = product_device(part, *operators, format, peak);
    if (own.empty())
      out.multiprocessor_rate = peak * stand_in_burst(profile, *operators, precision, format) / out.multiprocessors;
  }
  out.memory = part.memory_bandwidth * profile.memory_share;
  out.sustained_rate = peak * sustained;
  return out;
}

/// A share by precision, 16 bit of either kind standing for the other; 0 when the profile has none.
double share_in(const std::map<std::string, double>& shares, Precision precision) {
  const auto find = [&](Precision p) {
    const auto found = shares.find(std::string(name_of(p)));
    return found == shares.end() ? 0.0 : found->second;
  };
  const double own = find(precision);
  if (own > 0 || precision == Precision::fp32 || precision == Precision::tf32) return own;
  return std::max(find(Precision::fp16), find(Precision::bf16));
}

/// Shares of the device's peak, which is set. TF32 permits libraries its products and does not forbid them fp32's,
/// which are faster where the matrix unit is slow or Winograd's algorithm helps.
void take_convolutions(Device& device, const ComputeProfile& profile, Precision precision) {
  const double of_fp32 = precision == Precision::tf32 ? device.peak_fp32 / device.peak : 0;
  const auto share = [&](const std::map<std::string, double>& shares) {
    return std::max(share_in(shares, precision), of_fp32 * share_in(shares, Precision::fp32));
  };
  const bool single = precision == Precision::fp32 && profile.convolution_share_fp32 > 0;
  device.convolution_share = single ? profile.convolution_share_fp32
                                    : std::max(profile.convolution_share, of_fp32 * profile.convolution_share_fp32);
  device.three_by_three_share = share(profile.convolution_3x3_share);
  device.window_share = share(profile.convolution_window_share);
  device.pointwise_share = share(profile.convolution_pointwise_share);
  device.grouped_share = share(profile.convolution_grouped_share);
  const bool wide = precision == Precision::fp32 || precision == Precision::tf32;
  device.depthwise_share = wide && profile.convolution_depthwise_share_fp32 > 0
                               ? profile.convolution_depthwise_share_fp32
                               : profile.convolution_depthwise_share;
  device.convolution_full_width = precision == Precision::fp32 ? 0 : profile.convolution_full_width;
}

void take_profile(Device& device, const ComputeProfile& profile, Precision precision, BytesPerSecond bandwidth) {
  device.convolution_k_overhead = profile.gemm_k_overhead;
  device.kernel_floor = profile.kernel_floor;
  device.memory_bandwidth = bandwidth * profile.memory_share;
  device.attention_backward_ratio = profile.attention_backward_ratio;
  device.attention_half_sequence = profile.attention_half_sequence;
  device.unfused_attention_gemm_share = profile.unfused_attention_gemm_share;
  take_convolutions(device, profile, precision);
}

/// Rate of a generation of fused attention kernels. The first FlashAttention, in CUDA and in Triton, is no slower at
/// heads of 64 than at 128, unlike what came after it.
void take_attention(Device& device, const ComputeProfile& profile, AttentionKernel kernel) {
  const AttentionKernel measured = measured_generation(profile, kernel);
  const bool first = kernel == AttentionKernel::flash_1 || kernel == AttentionKernel::flash_triton;
  device.attention_forward_share = profile.attention_forward_share.at(std::string(name_of(measured)));
  device.attention_head64_factor = first && measured == kernel ? 1 : profile.attention_head64_factor;
}

FlopsPerSecond peak_or_throw(const Accelerator& accelerator, Precision precision) {
  const FlopsPerSecond peak = accelerator.product_peak(precision);
  if (peak.value() > 0) return peak;
  throw std::logic_error(fmt::format("{} has no {} peak", accelerator.id, name_of(precision)));
}

FlopsPerSecond wide_peak(const Accelerator& accelerator, Precision precision) {
  if (!below_16_bit(precision)) return peak_or_throw(accelerator, precision);
  const FlopsPerSecond bf16 = accelerator.peak(Precision::bf16);
  return bf16.value() > 0 ? bf16 : peak_or_throw(accelerator, Precision::fp16);
}

/// FLOPs of fp32 that a multiprocessor does in a cycle: 128 multiply-adds on Hopper, Ada, Blackwell and CDNA 3.
constexpr double kVectorFlopsPerCycle = 256;

/// Of parts that count no multiprocessors (TPUs, sockets): as many for a byte of memory as an H100 has.
double cycles_by_memory(BytesPerSecond bandwidth) {
  constexpr double kBytesPerCycleOfH100 = 3350e9 / (132 * 1980e6);
  return bandwidth.value() / kBytesPerCycleOfH100;
}

/// Cycles of all multiprocessors in a second at their boost clock; where the catalogue lacks it, by the fp32 rate.
double multiprocessor_cycles(const Accelerator& part) {
  constexpr double kHertz = 1e6;
  if (part.sm_count > 0 && part.boost_clock_MHz > 0) return part.sm_count * part.boost_clock_MHz * kHertz;
  const double by_vectors = part.peak(Precision::fp32).value() / kVectorFlopsPerCycle;
  return by_vectors > 0 ? by_vectors : cycles_by_memory(part.memory_bandwidth);
}

Device accelerator_device(const Scenario& scenario) {
  const Accelerator& part = *scenario.accelerator;
  Device device;
  device.wide_loads = !scenario.compute->any_row_length;
  device.peak = peak_or_throw(part, scenario.precision);
  const FlopsPerSecond fp32 = part.peak(Precision::fp32);
  device.peak_fp32 = fp32.value() > 0 ? fp32 : device.peak;
  device.peak_wide = wide_peak(part, scenario.precision);
  take_profile(device, *scenario.compute, scenario.precision, part.memory_bandwidth);
  device.product = training_products(part, *scenario.compute, scenario.operators, scenario.precision, device.peak);
  device.sixteen_bit = below_16_bit(scenario.precision) ? training_products(part, *scenario.compute, scenario.operators,
                                                                            Precision::bf16, device.peak_wide)
                                                        : device.product;
  device.product_bytes = product_bytes(scenario.precision);
  device.element_bytes = element_bytes(scenario.precision);
  if (scenario.operators != nullptr && scenario.operators->product)  // as products start up in this format
    device.convolution_k_overhead *= device.product.start_up_k / scenario.operators->product->start_up_k;
  device.convolution_tail = scenario.compute->gemm_tail_share * part.sm_count * kTileElements;
  device.narrow_attention = narrow_attention(part, scenario.operators);
  device.multiprocessor_cycles = multiprocessor_cycles(part);
  device.memory = part.usable_memory();
  return device;
}

Device socket_device(const Scenario& scenario) {
  if (!scenario.cpu) throw std::logic_error("a node without accelerators needs a known CPU");
  const Cpu& part = *scenario.cpu;
  Device device;
  device.is_cpu = true;
  // The catalogue knows a socket's fp32 rate only; narrower formats gain nothing on most of them.
  device.peak = device.peak_fp32 = device.peak_wide = part.peak_fp32;
  take_profile(device, *scenario.compute, Precision::fp32, part.memory_bandwidth);
  const double share = sustained_share(*scenario.compute, Precision::fp32);
  device.product = unmeasured_products(*scenario.compute, device.peak, share);
  device.product.memory = device.memory_bandwidth;
  device.multiprocessor_cycles = cycles_by_memory(part.memory_bandwidth);
  device.product.sustained_rate = device.peak * share;
  device.sixteen_bit = device.product;
  device.product_bytes = device.element_bytes = element_bytes(Precision::fp32);
  device.memory = scenario.node->memory / std::max(scenario.node->cpu_count, 1);
  return device;
}

/// Clocks of the cores and of the memory, over those that the rates hold at.
void set_clocks(Device& device, double products, double bandwidth) {
  for (FlopsPerSecond* rate :
       {&device.peak, &device.peak_fp32, &device.peak_wide, &device.product.multiprocessor_rate,
        &device.product.sustained_rate, &device.sixteen_bit.multiprocessor_rate, &device.sixteen_bit.sustained_rate})
    *rate *= products;
  device.multiprocessor_cycles *= products;
  for (BytesPerSecond* rate : {&device.memory_bandwidth, &device.product.memory, &device.sixteen_bit.memory})
    *rate *= bandwidth;
}

}  // namespace

void slow_down(Device& device, double share) {
  set_clocks(device, share, share);
  for (Seconds* floor : {&device.kernel_floor, &device.product.launch, &device.sixteen_bit.launch}) *floor /= share;
}

double element_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return 8;
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    default:
      return 2;
  }
}

double product_bytes(Precision precision) {
  if (precision == Precision::fp4) return 0.5;
  if (precision == Precision::mxfp8) return 1 + 1.0 / kMxBlock;
  return below_16_bit(precision) ? 1 : element_bytes(precision);
}

Device device_of(const Scenario& scenario) {
  if (!scenario.compute) throw std::logic_error("device_of: the scenario has no compute profile");
  Device device = scenario.accelerator ? accelerator_device(scenario) : socket_device(scenario);
  // Step graphs run on bare devices, without a framework.
  static const FrameworkProfile kNone;
  const FrameworkProfile& framework = scenario.framework ? *scenario.framework : kNone;
  take_attention(device, *scenario.compute, framework.attention_kernel);
  device.expert_half_rows = framework.expert_half_rows * (device.peak.value() / kExpertReferencePeak.value());
  if (scenario.spec.cluster.power_cap || scenario.spec.cluster.clock_MHz) {
    const ClockState clocks = clock_state(scenario);
    set_clocks(device, clocks.products, clocks.bandwidth);
  }
  return device;
}

}  // namespace stepcast
