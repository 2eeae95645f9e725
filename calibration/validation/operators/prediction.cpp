#include "calibration/validation/operators/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/validation/operators/completed_profile.hpp"
#include "fields/diagnostics.hpp"
#include "models/compute/streaming_time.hpp"

namespace stepcast {
namespace {

struct FormatPeak {
  std::string_view format;
  Precision precision;
};
// fp16-storage keeps 16 bit and multiplies in fp32.
constexpr std::array kFormats{FormatPeak{"fp16-tensor", Precision::fp16}, FormatPeak{"fp16-storage", Precision::fp32},
                              FormatPeak{"fp8_block", Precision::fp8}, FormatPeak{"mxfp8", Precision::fp8}};

/// "family: product as other, …" where a part of a profile is not the family's own; else empty.
std::string estimate_of(const OperatorProfile& profile, std::string_view what, const std::string& key) {
  const Provenance& provenance = profile.provenance;
  if (provenance.evidence.empty() || measured_on_family(profile, key)) return {};
  return fmt::format("{}: {} {}", profile.id, what, provenance.source_of(stated_key(provenance, key)));
}

OperatorPrediction nothing(std::string reason) {
  OperatorPrediction out;
  out.reason = std::move(reason);
  return out;
}

/// Constants of a memory-bound kernel and the name that a profile has them under.
using FoundKernel = std::map<std::string, StreamingConstants>::const_iterator;

std::optional<FoundKernel> find_kernel(const OperatorProfile& profile, const std::string& kernel) {
  const auto end = profile.streaming.end();
  if (const auto found = profile.streaming.find(kernel); found != end) return found;
  // Another implementation of the operator, before any other operator of the implementation.
  const std::string operation = kernel.substr(0, kernel.rfind('.') + 1);
  const auto other = profile.streaming.lower_bound(operation);
  if (other != end && other->first.starts_with(operation)) return other;
  const auto usual = profile.streaming.find("default");
  return usual == end ? std::nullopt : std::optional(usual);
}

std::optional<double> share_in(const OperatorProfile& profile, std::string_view format) {
  if (!profile.product) return std::nullopt;
  const std::string key = format_key(profile.product->burst_share, format);
  if (key.empty()) return std::nullopt;
  return profile.product->burst_share.at(key);
}

/// A share of the peak and where it is from.
struct EstimatedShare {
  double share = 0;
  std::string source;
};

/// Shares of one profile over another's: in 16 bit where both have it, else in the first format that they share.
std::optional<double> in_common(const OperatorProfile& one, const OperatorProfile& other) {
  const std::optional<double> half = share_in(one, "bf16"), other_half = share_in(other, "bf16");
  if (half && other_half) return *half / *other_half;
  for (const auto& [format, share] : one.product->burst_share)
    if (const std::optional<double> theirs = share_in(other, format)) return share / *theirs;
  return std::nullopt;
}

/// Share of the peak in a format that nobody measured on this family: a sibling's, as the two stand in a format that
/// both have; else the family's own in 16 bit or whatever it has, as steps sustain the two.
std::optional<EstimatedShare> estimated_share(const OperatorMachine& machine, std::string_view format) {
  const OperatorProfile& own = *machine.profile;
  for (const OperatorProfile* sibling : machine.siblings) {
    if (!sibling->product || !measured_on_family(*sibling, "product")) continue;
    if (const std::optional<double> theirs = share_in(*sibling, format))
      return EstimatedShare{std::min(1.0, *theirs * in_common(own, *sibling).value_or(1)),
                            fmt::format("as {} beside other formats", sibling->id)};
  }
  if (own.product->burst_share.empty()) return std::nullopt;
  const std::string half = format_key(own.product->burst_share, "bf16");
  const std::string known = half.empty() ? own.product->burst_share.begin()->first : half;
  const std::optional<double> wanted = sustained_in(machine.compute, format),
                              have = sustained_in(machine.compute, known);
  const double share = own.product->burst_share.at(known);
  if (!wanted || !have) return EstimatedShare{share, fmt::format("as in {}", known)};
  return EstimatedShare{std::min(1.0, share * *wanted / *have), fmt::format("over {} as steps sustain the two", known)};
}

OperatorPrediction predict(const ProductWork& work, const MeasuredOperator& measured, const OperatorMachine& machine) {
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  if (peak.value() <= 0) return nothing(fmt::format("no {} peak of {}", measured.format, machine.accelerator->id));
  if (!machine.profile->product) return nothing("no constants of products");
  const std::string format = format_key(machine.profile->product->burst_share, measured.format);
  if (format.empty()) {
    const std::optional<EstimatedShare> known = estimated_share(machine, measured.format);
    if (!known) return nothing(fmt::format("no constants of {} products of {}", measured.format, machine.profile->id));
    OperatorProfile estimated = *machine.profile;
    estimated.product->burst_share[measured.format] = known->share;
    note_estimate(estimated, "product.burst_share." + measured.format, known->source);
    return predict(work, measured, {machine.accelerator, &estimated});
  }
  ProductDevice device = product_device(*machine.accelerator, *machine.profile, format, peak);
  if (measured.conditions.eager) device.launch = std::max(device.launch, machine.profile->product->eager_launch);
  OperatorPrediction out;
  out.estimate = estimate_of(*machine.profile, fmt::format("{} products", format), "product.burst_share." + format);
  out.time = product_time(work.shape, measured.conditions.call, device);
  if (measured.power) out.power = product_power(work.shape, measured.conditions.call, device);
  if (work.quantises) {
    const std::optional<FoundKernel> quantise = find_kernel(*machine.profile, "fp8_quantise_static.fwd.inference");
    if (!quantise) return nothing("no constants of quantisation");
    *out.time += streaming_time((*quantise)->second, Bytes(work.shape.m * work.shape.k * 3), *machine.accelerator);
  }
  return out;
}

/// Constants of a kernel and the key that a profile has them under.
struct FoundAttention {
  std::string key;
  const AttentionConstants* constants = nullptr;
};

/// A kernel that is the same but for how it is called: with and without serving's cache.
std::string other_form(const std::string& kernel) {
  constexpr std::string_view kPaged = "-paged";
  return kernel.ends_with(kPaged) ? kernel.substr(0, kernel.size() - kPaged.size()) : kernel + std::string(kPaged);
}

/// The kernel of a name, in a profile that has one for the pass; else its other form ("flash-2" of "flash-2-paged"), or
/// the one that may add up in any order; in the format, and then in 16 bit.
std::optional<FoundAttention> find_attention(const OperatorProfile& profile, const std::string& kernel,
                                             const std::string& format, AttentionPass pass) {
  const std::string free = kernel.substr(0, kernel.find("-deterministic"));
  for (const std::string& in : {format, std::string("bf16")})
    for (const std::string& name : {kernel, other_form(kernel), free, other_form(free)}) {
      const auto found = profile.attention.find(attention_key(name, in));
      if (found == profile.attention.end()) continue;
      if (pass == AttentionPass::forward || found->second.backward_share > 0)
        return FoundAttention{found->first, &found->second};
    }
  return std::nullopt;
}

/// Names of the kernels that a profile has constants of.
std::vector<std::string> kernels_of(const OperatorProfile& profile) {
  std::vector<std::string> out;
  for (const auto& [key, constants] : profile.attention)
    if (key.find('.') == std::string::npos) out.push_back(key);
  return out;
}

OperatorPrediction predict_unfused(const AttentionWork& work, const OperatorProfile& profile,
                                   const AttentionDevice& device) {
  if (!profile.unfused_attention) return nothing(fmt::format("no constants of unfused attention of {}", profile.id));
  OperatorPrediction out;
  out.estimate = estimate_of(profile, "unfused attention", "unfused_attention");
  out.time = unfused_attention_time(work.shape, *profile.unfused_attention, device);
  return out;
}

OperatorPrediction predict(const AttentionWork& work, const MeasuredOperator& measured,
                           const OperatorMachine& machine) {
  const OperatorProfile& profile = *machine.profile;
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  if (peak.value() <= 0) return nothing(fmt::format("no {} peak of {}", measured.format, machine.accelerator->id));
  const AttentionDevice device = attention_device(*machine.accelerator, peak);
  if (work.kernel == "unfused") return predict_unfused(work, profile, device);
  const std::optional<FoundAttention> kernel = find_attention(profile, work.kernel, measured.format, work.shape.pass);
  if (!kernel)
    return nothing(fmt::format("no constants of attention by {} on {}, {}", attention_key(work.kernel, measured.format),
                               profile.id, expected_one_of(kernels_of(profile))));
  OperatorPrediction out;
  const char* pass = work.shape.pass == AttentionPass::forward ? "" : ".backward_share";
  out.estimate = estimate_of(profile, "attention by " + kernel->key, fmt::format("attention.{}{}", kernel->key, pass));
  out.time = fused_attention_time(work.shape, *kernel->constants, device);
  return out;
}

OperatorPrediction predict(const StreamingWork& work, const MeasuredOperator& /*measured*/,
                           const OperatorMachine& machine) {
  if (!work.bytes) return nothing("the table does not say how many bytes the operator moves");
  const std::optional<FoundKernel> kernel = find_kernel(*machine.profile, work.kernel);
  if (!kernel) return nothing(fmt::format("no constants of memory-bound kernels of {}", machine.profile->id));
  OperatorPrediction out;
  out.estimate = estimate_of(*machine.profile, "memory-bound kernels", "streaming." + (*kernel)->first);
  out.time = streaming_time((*kernel)->second, *work.bytes, *machine.accelerator);
  return out;
}

OperatorPrediction predict(const ConvolutionWork& work, const MeasuredOperator& measured,
                           const OperatorMachine& machine) {
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  if (peak.value() <= 0) return nothing(fmt::format("no {} peak of {}", measured.format, machine.accelerator->id));
  const auto found = machine.profile->convolution.find(convolution_format(*machine.profile, measured.format));
  if (found == machine.profile->convolution.end())
    return nothing(fmt::format("no constants of {} convolutions of {}", measured.format, machine.profile->id));
  OperatorPrediction out;
  out.estimate = estimate_of(*machine.profile, found->first + " convolutions", "convolution." + found->first);
  out.time =
      convolution_time(work.shape, convolution_device(*machine.accelerator, *machine.profile, found->second, peak));
  return out;
}

}  // namespace

std::optional<Precision> precision_of_format(std::string_view format) {
  for (const FormatPeak& known : kFormats)
    if (known.format == format) return known.precision;
  return parse_enum<Precision>(format);
}

FlopsPerSecond peak_of_format(const Accelerator& accelerator, std::string_view format) {
  const std::optional<Precision> precision = precision_of_format(format);
  return precision ? accelerator.product_peak(*precision) : FlopsPerSecond(0);
}

std::string format_key(const std::map<std::string, double>& by_format, std::string_view format) {
  std::string own(format);
  if (by_format.count(own) != 0) return own;
  const bool half = own == "bf16" || own == "fp16" || own == "fp16-tensor";
  for (const char* other : {"bf16", "fp16", "fp16-tensor"})
    if (half && by_format.count(other) != 0) return other;
  return {};
}

std::string convolution_format(const OperatorProfile& profile, std::string_view format) {
  std::map<std::string, double> shares;
  for (const auto& [name, constants] : profile.convolution) shares[name] = constants.direct_share;
  return format_key(shares, format);
}

OperatorPrediction predict_operator(const MeasuredOperator& measured, const OperatorMachine& machine) {
  return std::visit([&](const auto& work) { return predict(work, measured, machine); }, measured.work);
}

}  // namespace stepcast
