#include "calibration/validation/operators/completed_profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "calibration/validation/operators/completed_attention.hpp"
#include "calibration/validation/operators/nearest_families.hpp"
#include "calibration/validation/operators/prediction.hpp"

namespace stepcast {
namespace {

/// Rates of short benchmarks in 16 bit over those that steps sustain, where steps alone tell: long phases run at the
/// board's power limit, 1.13 to 1.15 times slower. Other formats are slower than 16 bit and do not reach that limit, or
/// hold casts: their measured bursts are 0.66 to 1.15 of what steps sustain (the profiles of both).
constexpr double kBurstOverSustained = 1.14;

/// Accesses of every score of unfused attention, forward and backward (docs/models/workload.md, attention).
constexpr double kScoreAccesses = 6, kBackwardScoreAccesses = 9;

bool shaped_by_own_products(const OperatorProfile& profile) {
  return profile.product && (!profile.fit || profile.fit->rows.contains("product"));
}

bool has_own_power(const OperatorProfile& profile) {
  return profile.power &&
         (!profile.fit || profile.fit->rows.contains("power") || profile.fit->rows.contains("sustained"));
}

/// The nearest family that holds something.
template <class Holds>
const OperatorFamily* nearest_with(const std::vector<OperatorFamily>& nearest, Holds holds) {
  const auto found = std::find_if(nearest.begin(), nearest.end(), [&](const OperatorFamily& family) {
    return family.profile != nullptr && holds(*family.profile);
  });
  return found == nearest.end() ? nullptr : &*found;
}

std::string by_steps(const OperatorFamily& own) { return fmt::format("by what steps use of {}", own.compute->id); }

std::map<std::string, double> shares_of_steps(const ComputeProfile& compute) {
  std::map<std::string, double> out;
  for (const auto& [format, share] : compute.gemm_sustained_share) {
    const bool half = format == "bf16" || format == "fp16";
    out[format] = half ? std::min(1.0, share * kBurstOverSustained) : share;
  }
  return out;
}

/// Shares of the peak follow those that steps sustain: they hold what clocks and power do to each board.
ProductConstants carried_products(const ProductConstants& from, const OperatorFamily& own,
                                  const OperatorFamily& sibling) {
  ProductConstants out = from;
  for (auto& [format, share] : out.burst_share) {
    const std::optional<double> mine = sustained_in(own.compute, format),
                                theirs = sustained_in(sibling.compute, format);
    if (mine && theirs) share = std::min(1.0, share * *mine / *theirs);
  }
  if (own.compute == nullptr) return out;
  for (const auto& [format, share] : shares_of_steps(*own.compute))
    if (format_key(out.burst_share, format).empty()) out.burst_share[format] = share;
  return out;
}

/// Products of which steps alone are known: whole tiles, no loss but for the start-up (models/compute/device.cpp).
ProductConstants products_of_steps(const ComputeProfile& compute) {
  ProductConstants out;
  out.burst_share = shares_of_steps(compute);
  out.memory_share = compute.memory_share;
  out.launch = compute.kernel_floor;
  out.start_up_k = compute.gemm_k_overhead;
  return out;
}

void complete_products(OperatorProfile& out, const OperatorFamily& own, const std::vector<OperatorFamily>& nearest) {
  if (out.product) return;
  if (const OperatorFamily* sibling = nearest_with(nearest, shaped_by_own_products)) {
    out.product = carried_products(*sibling->profile->product, own, *sibling);
    note_estimate(out, "product",
                  fmt::format("as {}, shares of peaks by the ratio of what steps sustain", sibling->profile->id));
  } else if (own.compute != nullptr) {
    out.product = products_of_steps(*own.compute);
    note_estimate(out, "product", by_steps(own));
  }
  if (!out.product || out.product->eager_launch > Seconds(0)) return;
  // A host's launch is the host's and the framework's, whatever it launches on.
  const auto holds = [](const OperatorProfile& profile) {
    return profile.product && profile.product->eager_launch > Seconds(0);
  };
  if (const OperatorFamily* sibling = nearest_with(nearest, holds))
    out.product->eager_launch = sibling->profile->product->eager_launch;
}

/// The rate at the power limit follows the energy of a FLOP, which is the generation's: share × peak ÷ limit stays.
void complete_power(OperatorProfile& out, const OperatorFamily& own, const std::vector<OperatorFamily>& nearest) {
  const OperatorFamily* sibling = out.power ? nullptr : nearest_with(nearest, has_own_power);
  if (sibling == nullptr || sibling->part == nullptr) return;
  out.power = sibling->profile->power;
  for (auto& [format, share] : out.power->sustained_share) {
    const FlopsPerSecond peak = peak_of_format(*own.part, format), other = peak_of_format(*sibling->part, format);
    if (peak.value() > 0 && other.value() > 0) share *= other / peak * (own.part->tdp / sibling->part->tdp);
  }
  note_estimate(out, "power", fmt::format("as {}, by equal energy of a FLOP", sibling->profile->id));
}

/// A kernel's share of the bandwidth and its launch are those of the same multiprocessors on the same kind of memory:
/// another board that timed it tells both. Across generations what steps use is nearer.
void complete_streaming(OperatorProfile& out, const OperatorFamily& own, const std::vector<OperatorFamily>& nearest) {
  if (out.streaming.empty() && own.compute != nullptr) {
    out.streaming["default"] = {own.compute->memory_share, 1, own.compute->kernel_floor};
    note_estimate(out, "streaming", by_steps(own));
  }
  for (const OperatorFamily& sibling : nearest) {
    if (sibling.profile == nullptr || !measured_on_family(*sibling.profile, "streaming")) continue;
    if (!same_generation(own.part->family, sibling.profile->id)) continue;
    for (const auto& [kernel, constants] : sibling.profile->streaming)
      if (kernel != "default" && out.streaming.emplace(kernel, constants).second)
        note_estimate(out, "streaming." + kernel, fmt::format("as {}, shares of the bandwidth", sibling.profile->id));
  }
}

ConvolutionConstants convolutions_of_steps(const ComputeProfile& compute, bool single) {
  ConvolutionConstants out;
  out.direct_share =
      single && compute.convolution_share_fp32 > 0 ? compute.convolution_share_fp32 : compute.convolution_share;
  out.memory_share = compute.memory_share;
  out.launch = compute.kernel_floor;
  return out;
}

void complete_convolutions(OperatorProfile& out, const OperatorFamily& own,
                           const std::vector<OperatorFamily>& nearest) {
  for (const std::string format : {"bf16", "tf32", "fp32"}) {
    if (!convolution_format(out, format).empty()) continue;
    const auto holds = [&](const OperatorProfile& profile) {
      const std::string theirs = convolution_format(profile, format);
      return !theirs.empty() && measured_on_family(profile, "convolution." + theirs);
    };
    if (const OperatorFamily* sibling = nearest_with(nearest, holds)) {
      out.convolution[format] = sibling->profile->convolution.at(convolution_format(*sibling->profile, format));
      note_estimate(out, "convolution." + format, fmt::format("as {}, shares of peaks", sibling->profile->id));
    } else if (own.compute != nullptr) {
      out.convolution[format] = convolutions_of_steps(*own.compute, format == "fp32");
      note_estimate(out, "convolution." + format, by_steps(own));
    }
  }
}

void complete_unfused(OperatorProfile& out, const OperatorFamily& own, const std::vector<OperatorFamily>& nearest) {
  if (out.unfused_attention) return;
  const auto holds = [](const OperatorProfile& profile) {
    return profile.unfused_attention && measured_on_family(profile, "unfused_attention");
  };
  const std::optional<double> products = sustained_in(own.compute, "bf16");
  if (const OperatorFamily* sibling = nearest_with(nearest, holds)) {
    out.unfused_attention = sibling->profile->unfused_attention;
    note_estimate(out, "unfused_attention", fmt::format("as {}, accesses of every score", sibling->profile->id));
  } else if (products) {
    const double share = *products * own.compute->unfused_attention_gemm_share;
    out.unfused_attention =
        UnfusedAttentionConstants{share, share, kScoreAccesses, kBackwardScoreAccesses, 3 * own.compute->kernel_floor};
    note_estimate(out, "unfused_attention", by_steps(own));
  }
}

}  // namespace

std::string stated_key(const Provenance& provenance, std::string key) {
  while (!provenance.evidence.contains(key)) {
    const std::size_t dot = key.rfind('.');
    if (dot == std::string::npos) return "all";
    key.resize(dot);
  }
  return key;
}

bool measured_on_family(const OperatorProfile& profile, const std::string& key) {
  const auto found = profile.provenance.evidence.find(stated_key(profile.provenance, key));
  return found != profile.provenance.evidence.end() && found->second == Evidence::measured;
}

void note_estimate(OperatorProfile& profile, const std::string& key, std::string source) {
  profile.provenance.sources[key] = std::move(source);
  profile.provenance.evidence[key] = Evidence::estimated;
}

std::optional<double> sustained_in(const ComputeProfile* compute, std::string_view format) {
  if (compute == nullptr) return std::nullopt;
  std::string key = format_key(compute->gemm_sustained_share, format);
  if (key.empty()) key = name_of(precision_of_format(format).value_or(Precision::bf16));
  if (key == "mxfp8" && !compute->gemm_sustained_share.contains(key)) key = "fp8";
  const auto found = compute->gemm_sustained_share.find(key);
  return found == compute->gemm_sustained_share.end() ? std::nullopt : std::optional(found->second);
}

OperatorProfile completed_profile(const OperatorFamily& own, const std::vector<OperatorFamily>& nearest) {
  OperatorProfile out;
  if (own.profile != nullptr)
    out = *own.profile;
  else
    out.id = own.part->family;
  complete_products(out, own, nearest);
  complete_power(out, own, nearest);
  complete_streaming(out, own, nearest);
  complete_convolutions(out, own, nearest);
  complete_unfused(out, own, nearest);
  complete_attention(out, own, nearest);
  return out;
}

}  // namespace stepcast
