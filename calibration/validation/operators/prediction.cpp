#include "calibration/validation/operators/prediction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "calibration/validation/accelerator_names.hpp"
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

OperatorPrediction nothing(std::string reason) {
  OperatorPrediction out;
  out.reason = std::move(reason);
  return out;
}

const StreamingConstants* find_kernel(const OperatorProfile& profile, const std::string& kernel) {
  if (const auto found = profile.streaming.find(kernel); found != profile.streaming.end()) return &found->second;
  // Another implementation of the operator, before any other operator of the implementation.
  const std::string operation = kernel.substr(0, kernel.rfind('.') + 1);
  for (const auto& [name, constants] : profile.streaming)
    if (name.compare(0, operation.size(), operation) == 0) return &constants;
  if (const auto found = profile.streaming.find("default"); found != profile.streaming.end()) return &found->second;
  return nullptr;
}

std::optional<double> share_in(const OperatorProfile& profile, std::string_view format) {
  if (!profile.product) return std::nullopt;
  const std::string key = format_key(profile.product->burst_share, format);
  if (key.empty()) return std::nullopt;
  return profile.product->burst_share.at(key);
}

/// Share of the peak in a format that nobody measured on this family: a sibling's, as the two stand in 16 bit; else the
/// family's own in 16 bit, else in whatever format it has.
std::optional<double> estimated_share(const OperatorMachine& machine, std::string_view format) {
  const std::optional<double> half = share_in(*machine.profile, "bf16");
  for (const OperatorProfile* sibling : machine.siblings) {
    const std::optional<double> theirs = share_in(*sibling, format), their_half = share_in(*sibling, "bf16");
    if (theirs) return half && their_half ? std::min(1.0, *theirs * *half / *their_half) : *theirs;
  }
  if (half) return half;
  const auto& known = machine.profile->product->burst_share;
  return known.empty() ? std::nullopt : std::optional(known.begin()->second);
}

OperatorPrediction predict(const ProductWork& work, const MeasuredOperator& measured, const OperatorMachine& machine) {
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  if (peak.value() <= 0) return nothing(fmt::format("no {} peak of {}", measured.format, machine.accelerator->id));
  if (!machine.profile->product) return nothing("no constants of products");
  const std::string format = format_key(machine.profile->product->burst_share, measured.format);
  if (format.empty()) {
    const std::optional<double> share = estimated_share(machine, measured.format);
    if (!share) return nothing(fmt::format("no constants of {} products of {}", measured.format, machine.profile->id));
    OperatorProfile estimated = *machine.profile;
    estimated.product->burst_share[measured.format] = *share;
    return predict(work, measured, {machine.accelerator, &estimated, {}});
  }
  ProductDevice device = product_device(*machine.accelerator, *machine.profile, format, peak);
  if (measured.conditions.eager) device.launch = std::max(device.launch, machine.profile->product->eager_launch);
  OperatorPrediction out;
  out.time = product_time(work.shape, measured.conditions.call, device);
  if (measured.power) out.power = product_power(work.shape, measured.conditions.call, device);
  if (work.quantises) {
    const StreamingConstants* quantise = find_kernel(*machine.profile, "fp8_quantise_static.fwd.inference");
    if (quantise == nullptr) return nothing("no constants of quantisation");
    *out.time += streaming_time(*quantise, Bytes(work.shape.m * work.shape.k * 3), *machine.accelerator);
  }
  return out;
}

/// The kernel of a name, in a profile that has one for the pass; else its plain form ("flash-2" of "flash-2-paged"), or
/// the best-known library's, in the format and then in 16 bit.
const AttentionConstants* find_attention(const OperatorProfile& profile, const std::string& kernel,
                                         const std::string& format, AttentionPass pass) {
  const auto usable = [&](const std::string& name) -> const AttentionConstants* {
    const auto found = profile.attention.find(name);
    if (found == profile.attention.end()) return nullptr;
    return pass == AttentionPass::forward || found->second.backward_share > 0 ? &found->second : nullptr;
  };
  const std::string plain = kernel.substr(0, std::min(kernel.find("-paged"), kernel.find("-deterministic")));
  for (const std::string& in : {format, std::string("bf16")})
    for (const std::string& name :
         {kernel, plain, std::string("cudnn"), std::string("flash-3"), std::string("flash-2"), std::string("flash-4")})
      if (const AttentionConstants* found = usable(attention_key(name, in))) return found;
  return nullptr;
}

OperatorPrediction predict(const AttentionWork& work, const MeasuredOperator& measured,
                           const OperatorMachine& machine) {
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  if (peak.value() <= 0) return nothing(fmt::format("no {} peak of {}", measured.format, machine.accelerator->id));
  const AttentionDevice device = attention_device(*machine.accelerator, peak);
  OperatorPrediction out;
  if (work.kernel == "unfused") {
    if (!machine.profile->unfused_attention) return nothing("no constants of unfused attention");
    out.time = unfused_attention_time(work.shape, *machine.profile->unfused_attention, device);
    return out;
  }
  const AttentionConstants* kernel = find_attention(*machine.profile, work.kernel, measured.format, work.shape.pass);
  if (kernel == nullptr)
    return nothing(fmt::format("no constants of attention by {} on {}", attention_key(work.kernel, measured.format),
                               machine.profile->id));
  out.time = fused_attention_time(work.shape, *kernel, device);
  return out;
}

OperatorPrediction predict(const StreamingWork& work, const MeasuredOperator& /*measured*/,
                           const OperatorMachine& machine) {
  if (!work.bytes) return nothing("the table does not say how many bytes the operator moves");
  const StreamingConstants* kernel = find_kernel(*machine.profile, work.kernel);
  if (kernel == nullptr) return nothing(fmt::format("no constants of memory-bound kernels of {}", machine.profile->id));
  OperatorPrediction out;
  out.time = streaming_time(*kernel, *work.bytes, *machine.accelerator);
  return out;
}

OperatorPrediction predict(const ConvolutionWork& work, const MeasuredOperator& measured,
                           const OperatorMachine& machine) {
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  const auto found = machine.profile->convolution.find(convolution_format(*machine.profile, measured.format));
  if (peak.value() <= 0 || found == machine.profile->convolution.end())
    return nothing(fmt::format("no constants of {} convolutions of {}", measured.format, machine.profile->id));
  OperatorPrediction out;
  out.time =
      convolution_time(work.shape, convolution_device(*machine.accelerator, *machine.profile, found->second, peak));
  return out;
}

}  // namespace

FlopsPerSecond peak_of_format(const Accelerator& accelerator, std::string_view format) {
  for (const FormatPeak& known : kFormats)
    if (known.format == format) return accelerator.product_peak(known.precision);
  const std::optional<Precision> precision = parse_enum<Precision>(format);
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

OperatorPrediction predict_operator(const MeasuredOperator& measured, const Catalog& catalog) {
  if (!measured.refusal.empty()) return nothing(measured.refusal);
  OperatorMachine machine;
  machine.accelerator = catalog.find<Accelerator>(measured.accelerator);
  // The user's own entries come first, and have names of their own.
  if (machine.accelerator == nullptr)
    machine.accelerator = catalog.find<Accelerator>(accelerator_of(measured.accelerator));
  if (machine.accelerator == nullptr) {
    const std::string hint = accelerator_hint(measured.accelerator);
    return nothing(fmt::format("{} is not in the catalogue{}", measured.accelerator, hint.empty() ? "" : ": " + hint));
  }
  machine.profile = catalog.find<OperatorProfile>(machine.accelerator->family);
  if (machine.profile == nullptr) return nothing(fmt::format("no operator profile of {}", machine.accelerator->family));
  for (const OperatorProfile* next = machine.profile; next != nullptr && !next->sibling.empty();) {
    next = catalog.find<OperatorProfile>(next->sibling);
    if (next != nullptr) machine.siblings.push_back(next);
  }
  return predict_operator(measured, machine);
}

}  // namespace stepcast
