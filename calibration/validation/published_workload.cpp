#include <fmt/format.h>

#include <array>

#include "calibration/validation/published_row.hpp"

namespace stepcast {

std::string published_precision(PublishedRow& reading) {
  struct Format {
    std::string_view words, name;
  };
  // The first that a row names. bf16 and fp16 run at one rate on every GPU here, so which of the two does not matter.
  // Low-precision recipes keep some layers wider, which goes with the format.
  constexpr std::array kFormats{Format{"nvfp4", "fp4"},     Format{"mxfp4", "fp4"}, Format{"float8", "fp8"},
                                Format{"fp8", "fp8"},       Format{"int8", "int8"}, Format{"bf16", "bf16"},
                                Format{"bfloat16", "bf16"}, Format{"fp16", "fp16"}, Format{"tf32", "tf32"},
                                Format{"fp32", "fp32"}};
  const std::string stated = reading.row.text("precision");
  if (stated.empty()) {
    reading.unstated("precision");
    return std::string(reading.defaults->precision);
  }
  // "fp8 or nvfp4": submissions of the round in which the vendor's recipes turned to fp4.
  const bool either = stated.find(" or ") != std::string::npos && stated.find("fp4") != std::string::npos;
  if (either || stated.find("assumed") != std::string::npos) reading.unstated("precision");
  for (const Format& format : kFormats)
    if (stated.find(format.words) != std::string::npos) return std::string(format.name);
  reading.refuse(fmt::format("precision \"{}\" has no description", stated));
  return "";
}

std::optional<long> published_batch(PublishedRow& reading) {
  if (const std::optional<long> batch = reading.row.whole("global_batch")) return batch;
  // Without a pipeline the batch decides little: what is done once a step is small beside 0.5 M tokens.
  const std::optional<long> stages = reading.row.whole("pp");
  if (!stages || *stages > 1) {
    reading.refuse("the batch is not stated");
    return std::nullopt;
  }
  reading.unstated("global_batch");
  const long replicas =
      std::max(1L, reading.gpus / reading.row.whole("tp").value_or(1)) * reading.row.whole("micro_batch").value_or(1);
  const long samples = kUnstatedBatchTokens / reading.row.required_whole("seq_len");
  return std::max(1L, samples / replicas) * replicas;
}

}  // namespace stepcast
