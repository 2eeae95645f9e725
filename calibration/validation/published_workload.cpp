#include <fmt/format.h>

#include <array>

#include "calibration/validation/published_row.hpp"

namespace stepcast {

namespace {

/// Whether a submission to MLPerf Training v5.1 in "fp8 or nvfp4" follows NVIDIA's 4-bit recipe. Where its
/// configuration was found and does not say so by its name it is in 8 bit: NVIDIA's own end in _fp4 where they read
/// config_common_fp4.sh, and set FP8=True elsewhere. Where none was found, NVIDIA's of its size stands: of Llama 3.1 8B
/// and Llama 2 70B LoRA those for 8 GPUs are in 4 bit, larger ones in 8 (config_GB300_18x4x1xtp1pp1cp2_8b.sh,
/// config_GB300_128x4x1xtp1pp1cp8.sh).
bool is_four_bit_recipe(const std::string& stated, long gpus) {
  return stated.find("configuration name") == std::string::npos && gpus <= 8;
}

}  // namespace

std::string published_precision(PublishedRow& reading) {
  struct Format {
    std::string_view words, name;
  };
  // The first that a row names. bf16 and fp16 run at one rate on every GPU here, so which of the two does not matter.
  // Low-precision recipes keep some layers wider, which goes with the format.
  constexpr std::array kFormats{Format{"nvfp4", "fp4"},  Format{"mxfp4", "fp4"},     Format{"mxfp8", "mxfp8"},
                                Format{"float8", "fp8"}, Format{"fp8", "fp8"},       Format{"int8", "int8"},
                                Format{"bf16", "bf16"},  Format{"bfloat16", "bf16"}, Format{"fp16", "fp16"},
                                Format{"tf32", "tf32"},  Format{"fp32", "fp32"}};
  const std::string stated = reading.row.text("precision");
  if (stated.empty()) {
    reading.unstated("precision");
    return std::string(reading.defaults->precision);
  }
  const bool either = stated.find(" or ") != std::string::npos && stated.find("fp4") != std::string::npos;
  if (either) reading.unstated(kUnstatedWidth);
  if (stated.find("assumed") != std::string::npos) reading.unstated("precision");
  if (either && !is_four_bit_recipe(stated, reading.row.whole("gpus").value_or(0))) return "fp8";
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
