#include "models/compute/attention_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace stepcast {
namespace {

/// Head sizes that kernels are compiled for (FlashAttention 2 and 3, csrc: head dimensions); others are padded.
constexpr std::array<double, 6> kHeadSizes{32, 64, 96, 128, 192, 256};

/// The library whose 8-bit attention trains, in Transformer Engine; FlashAttention 3's is for inference alone.
constexpr std::string_view kNarrowLibrary = "cudnn";

/// Bytes of an element of Q, K and V in 8 bit; results stay in 16, a difference that is lost in the products' time.
constexpr double kNarrowElement = 1;

double padded(double head) {
  const auto* fits = std::lower_bound(kHeadSizes.begin(), kHeadSizes.end(), head);
  return fits == kHeadSizes.end() ? head : *fits;
}

/// Rate at a head size over that at 128: linear between the sizes that are measured, held outside.
double head_factor(double head, const AttentionConstants& kernel) {
  if (head <= 128) {
    const double between = std::clamp((head - 64) / 64, 0.0, 1.0);
    return kernel.head64_factor + (1 - kernel.head64_factor) * between;
  }
  return 1 + (kernel.head256_factor - 1) * std::min(1.0, (head - 128) / 128);
}

/// Keys that a tile of queries sees on average, the diagonal's tile whole.
double keys_seen(const AttentionShape& s, double tile) {
  if (!s.causal) return s.keys;
  return std::min(s.keys, s.keys - (s.queries - tile) / 2);
}

double kernel_seconds(const AttentionShape& s, const AttentionConstants& kernel, const AttentionDevice& device,
                      bool backward) {
  const double tile = kernel.tile_queries;
  const double size = padded(s.head_size) + padded(s.value_size);
  const double share = (backward ? kernel.backward_share : kernel.share) * head_factor(size / 2, kernel);
  const double per_key =
      2 * size * tile * (backward ? kBackwardFused : 1) / (share * device.peak.value() / device.multiprocessors);
  const double start_up = backward ? kernel.backward_start_up_keys : kernel.start_up_keys;
  const double filled = s.batch * s.heads * std::ceil(s.queries / tile) / device.multiprocessors;
  const double waves =
      std::max(1.0, kernel.whole_wave_share * std::ceil(filled) + (1 - kernel.whole_wave_share) * filled);
  // Under a causal mask the last tile sees every key: no launch is shorter than it.
  return std::max(waves * (keys_seen(s, tile) + start_up), s.keys + start_up) * per_key;
}

/// Q, K, V in and the result out; backward those, its gradient in, and three gradients out.
double tensor_bytes(const AttentionShape& s, bool backward) {
  const double rows = s.batch * s.element_bytes;
  const double size = s.head_size + s.value_size;
  return rows * size * (s.heads * s.queries + s.key_heads * s.keys) * (backward ? 2 : 1);
}

template <class Time>
Seconds over_passes(AttentionPass pass, Time time) {
  Seconds out;
  if (pass != AttentionPass::backward) out += time(false);
  if (pass != AttentionPass::forward) out += time(true);
  return out;
}

}  // namespace

AttentionDevice attention_device(const Accelerator& accelerator, FlopsPerSecond peak) {
  return {peak, accelerator.memory_bandwidth, static_cast<double>(std::max(accelerator.sm_count, 1))};
}

Seconds fused_attention_time(const AttentionShape& shape, const AttentionConstants& kernel,
                             const AttentionDevice& device) {
  return over_passes(shape.pass, [&](bool backward) {
    return kernel.launch + Seconds(kernel_seconds(shape, kernel, device, backward)) +
           Bytes(tensor_bytes(shape, backward)) / (device.memory * kernel.memory_share);
  });
}

Seconds unfused_attention_time(const AttentionShape& s, const UnfusedAttentionConstants& kernels,
                               const AttentionDevice& device) {
  const double scores = s.batch * s.heads * s.queries * s.keys;
  // Scores are computed whole and masked: a causal mask saves nothing and is one more access.
  return over_passes(s.pass, [&](bool backward) {
    const double flops = 2 * scores * (s.head_size + s.value_size) * (backward ? kBackwardUnfused : 1);
    const double share = backward ? kernels.backward_share : kernels.share;
    const double accesses =
        (backward ? kernels.backward_score_accesses : kernels.score_accesses) + (s.causal ? 2.0 : 0.0);
    return kernels.launch + Flops(flops) / (device.peak * share) +
           Bytes(scores * s.element_bytes * accesses) / device.memory;
  });
}

std::optional<NarrowAttention> narrow_attention(const Accelerator& accelerator, const OperatorProfile* operators) {
  const FlopsPerSecond half_peak = accelerator.peak(Precision::fp16), narrow_peak = accelerator.peak(Precision::fp8);
  if (operators == nullptr || half_peak.value() <= 0 || narrow_peak.value() <= 0) return std::nullopt;
  const auto half = operators->attention.find(attention_key(kNarrowLibrary, "fp16"));
  const auto narrow = operators->attention.find(attention_key(kNarrowLibrary, "fp8"));
  if (half == operators->attention.end() || narrow == operators->attention.end()) return std::nullopt;
  if (half->second.backward_share <= 0 || narrow->second.backward_share <= 0) return std::nullopt;
  return NarrowAttention{half->second, narrow->second, attention_device(accelerator, half_peak),
                         attention_device(accelerator, narrow_peak)};
}

double narrow_over_half(const AttentionShape& shape, const NarrowAttention& kernels) {
  AttentionShape narrow = shape;
  narrow.element_bytes = kNarrowElement;
  return fused_attention_time(narrow, kernels.narrow, kernels.narrow_device) /
         fused_attention_time(shape, kernels.half, kernels.half_device);
}

}  // namespace stepcast
