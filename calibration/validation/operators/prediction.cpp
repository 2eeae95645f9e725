#include "calibration/validation/operators/prediction.hpp"

#include <fmt/format.h>

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

OperatorPrediction predict(const ProductWork& work, const MeasuredOperator& measured, const OperatorMachine& machine) {
  const FlopsPerSecond peak = peak_of_format(*machine.accelerator, measured.format);
  if (peak.value() <= 0) return nothing(fmt::format("no {} peak of {}", measured.format, machine.accelerator->id));
  if (!machine.profile->product) return nothing("no constants of products");
  const std::string format = format_key(machine.profile->product->burst_share, measured.format);
  if (format.empty())
    return nothing(fmt::format("no constants of {} products of {}", measured.format, machine.profile->id));
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
  const std::string name = attention_key(work.kernel, measured.format);
  const auto found = machine.profile->attention.find(name);
  if (found == machine.profile->attention.end())
    return nothing(fmt::format("no constants of attention by {} on {}", name, machine.profile->id));
  const AttentionConstants& kernel = found->second;
  if (work.shape.pass != AttentionPass::forward && kernel.backward_share <= 0)
    return nothing(fmt::format("no constants of the backward kernel of {}", name));
  out.time = fused_attention_time(work.shape, kernel, device);
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
  const auto found = machine.profile->convolution.find(measured.format);
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
  return predict_operator(measured, machine);
}

}  // namespace stepcast
