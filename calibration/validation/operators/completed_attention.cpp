#include "calibration/validation/operators/completed_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/validation/operators/attention_kernels.hpp"
#include "models/compute/attention_generation.hpp"

namespace stepcast {
namespace {

/// Queries of a tile where steps alone tell of attention: the size that most kernels are compiled for.
constexpr int kUsualTile = 128;

std::string library_of(const std::string& key) { return key.substr(0, key.find('.')); }
std::string format_of(const std::string& key) { return key.substr(library_of(key).size()); }

/// Geometric mean of ratios.
class MeanRatio {
 public:
  void add(double ratio) {
    sum_ += std::log(ratio);
    ++count_;
  }
  [[nodiscard]] std::optional<double> value() const {
    return count_ == 0 ? std::nullopt : std::optional(std::exp(sum_ / count_));
  }

 private:
  double sum_ = 0;
  int count_ = 0;
};

bool alike(const KnownAttentionKernel& one, const std::string& key) {
  const KnownAttentionKernel* other = known_attention_kernel(library_of(key));
  return other != nullptr && other->written_for == one.written_for;
}

/// Shares of kernels that are measured on both families and take a generation's instructions alike, over each other.
std::optional<double> by_common_kernels(const KnownAttentionKernel& kernel, const std::string& key,
                                        const OperatorFamily& own, const OperatorProfile& sibling) {
  MeanRatio mean;
  if (own.profile == nullptr) return std::nullopt;
  for (const auto& [other, constants] : own.profile->attention) {
    const auto theirs = sibling.attention.find(other);
    if (theirs == sibling.attention.end() || format_of(other) != format_of(key) || !alike(kernel, other)) continue;
    if (!measured_on_family(*own.profile, "attention." + other)) continue;
    if (!measured_on_family(sibling, "attention." + other)) continue;
    mean.add(constants.share / theirs->second.share);
  }
  return mean.value();
}

std::optional<double> share_of_steps(const ComputeProfile* compute, AttentionKernel generation) {
  if (compute == nullptr || compute->attention_forward_share.empty()) return std::nullopt;
  return compute->attention_forward_share.at(std::string(name_of(measured_generation(*compute, generation))));
}

/// The rate of the makers' kernels in steps, where steps that were measured tell it.
std::optional<double> measured_in_steps(const ComputeProfile* compute) {
  if (compute == nullptr) return std::nullopt;
  const std::string key = stated_key(compute->provenance, "attention_forward_share.native");
  if (compute->provenance.evidence_of(key) != Evidence::measured) return std::nullopt;
  return share_of_steps(compute, AttentionKernel::native);
}

/// Share of a multiprocessor's FLOPs that the kernel's instructions reach.
double reached(const KnownAttentionKernel& kernel, const OperatorFamily& family) {
  if (kernel.written_for == 0 || family.flops_per_cycle == 0) return 1;
  return std::min(1.0, kernel.written_for / family.flops_per_cycle);
}

/// A kernel's share of the peak here over there: as that of kernels which both have; else as that of the makers' in
/// steps, and as what its instructions reach.
double carried(const KnownAttentionKernel& kernel, const std::string& key, const OperatorFamily& own,
               const OperatorFamily& sibling) {
  if (const auto common = by_common_kernels(kernel, key, own, *sibling.profile)) return *common;
  const auto mine = measured_in_steps(own.compute), theirs = measured_in_steps(sibling.compute);
  return (mine && theirs ? *mine / *theirs : 1) * reached(kernel, own) / reached(kernel, sibling);
}

AttentionConstants scaled(AttentionConstants constants, double by) {
  constants.share = std::min(1.0, constants.share * by);
  constants.backward_share = std::min(1.0, constants.backward_share * by);
  return constants;
}

void take_kernels(OperatorProfile& out, const OperatorFamily& own, const OperatorFamily& sibling) {
  if (sibling.profile == nullptr) return;
  for (const auto& [key, constants] : sibling.profile->attention) {
    const KnownAttentionKernel* kernel = known_attention_kernel(library_of(key));
    if (kernel == nullptr || out.attention.contains(key)) continue;
    if (!measured_on_family(*sibling.profile, "attention." + key)) continue;
    const double by = carried(*kernel, key, own, sibling);
    out.attention[key] = scaled(constants, by);
    note_estimate(out, "attention." + key, fmt::format("as {}, {:.2f} of its share", sibling.profile->id, by));
  }
}

/// The kernels that run on any maker's accelerators, at the rate of their generation in steps.
void take_steps(OperatorProfile& out, const OperatorFamily& own) {
  const ComputeProfile& compute = *own.compute;
  for (const std::string& name : attention_kernel_names()) {
    const KnownAttentionKernel* kernel = known_attention_kernel(name);
    if (kernel == nullptr || kernel->nvidia_only) continue;
    const std::optional<double> share = share_of_steps(own.compute, kernel->generation);
    if (!share) continue;
    AttentionConstants constants;
    constants.share = *share;
    constants.backward_share = std::min(1.0, *share * compute.attention_backward_ratio);
    constants.tile_queries = kUsualTile;
    // Half of the rate at a sequence of s½ under a causal mask, where a tile sees half of the keys and its own.
    constants.start_up_keys = std::max(0.0, (compute.attention_half_sequence - kUsualTile) / 2);
    constants.backward_start_up_keys = constants.start_up_keys;
    constants.head64_factor = compute.attention_head64_factor;
    constants.memory_share = compute.memory_share;
    constants.launch = compute.kernel_floor;
    out.attention[name] = constants;
    note_estimate(out, "attention." + name, fmt::format("by what steps use of {}", compute.id));
  }
}

/// Backward rates of kernels that were timed forward alone: over their forward rate as that of a kernel of the same
/// kind, else as in steps.
void complete_backward(OperatorProfile& out, const ComputeProfile* compute) {
  const std::map<std::string, AttentionConstants> timed = out.attention;
  for (auto& [key, constants] : out.attention) {
    const KnownAttentionKernel* kernel = known_attention_kernel(library_of(key));
    if (kernel == nullptr || constants.backward_share > 0) continue;
    MeanRatio mean;
    double start_up = constants.start_up_keys;
    for (const auto& [other, theirs] : timed) {
      const KnownAttentionKernel* known = known_attention_kernel(library_of(other));
      if (known == nullptr || known->generation != kernel->generation || theirs.backward_share <= 0) continue;
      if (format_of(other) != format_of(key) || library_of(other).ends_with("-deterministic")) continue;
      mean.add(theirs.backward_share / theirs.share);
      start_up = std::max(start_up, theirs.backward_start_up_keys);
    }
    std::optional<double> ratio = mean.value();
    if (!ratio && compute != nullptr) ratio = compute->attention_backward_ratio;
    if (!ratio) continue;
    constants.backward_share = std::min(1.0, constants.share * *ratio);
    constants.backward_start_up_keys = start_up;
    note_estimate(out, fmt::format("attention.{}.backward_share", key),
                  fmt::format("{:.2f} of the forward rate, as other kernels of its kind", *ratio));
  }
}

/// Kernels of a maker's in 8 bit that nobody timed: as cuDNN's two formats stand.
void complete_narrow(OperatorProfile& out) {
  const auto half = out.attention.find("cudnn");
  if (half == out.attention.end()) return;
  for (const std::string format : {".fp8", ".mxfp8"}) {
    const auto narrow = out.attention.find("cudnn" + format);
    if (narrow == out.attention.end()) continue;
    const double by = narrow->second.share / half->second.share;
    const std::map<std::string, AttentionConstants> all = out.attention;
    for (const auto& [key, constants] : all) {
      const KnownAttentionKernel* kernel = known_attention_kernel(key);
      if (kernel == nullptr || kernel->generation != AttentionKernel::native || !format_of(key).empty()) continue;
      if (!out.attention.emplace(key + format, scaled(constants, by)).second) continue;
      note_estimate(out, "attention." + key + format, fmt::format("{:.2f} of its share in 16 bit, as cudnn's", by));
    }
  }
}

}  // namespace

void complete_attention(OperatorProfile& out, const OperatorFamily& own, const std::vector<OperatorFamily>& nearest) {
  for (const OperatorFamily& sibling : nearest) take_kernels(out, own, sibling);
  if (out.attention.empty() && own.compute != nullptr) take_steps(out, own);
  complete_narrow(out);
  complete_backward(out, own.compute);
}

}  // namespace stepcast
