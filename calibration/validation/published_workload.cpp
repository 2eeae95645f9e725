#include "calibration/validation/published_row.hpp"
#include "calibration/validation/stated_words.hpp"
#include "fields/plain_text.hpp"

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
  const std::string stated = lower_case(reading.row.text("precision"));
  if (stated.empty()) {
    reading.unstated("precision");
    return std::string(reading.defaults->precision);
  }
  const bool either = stated.find(" or ") != std::string::npos && stated.find("fp4") != std::string::npos;
  if (either) reading.unstated(kUnstatedWidth);
  if (stated.find("assumed") != std::string::npos) reading.unstated("precision");
  if (either && !is_four_bit_recipe(stated, reading.row.whole("gpus").value_or(0))) return "fp8";
  const std::string_view format = stated_format(stated);
  if (format.empty()) reading.refuse(not_understood("precision", stated, format_choices()));
  return std::string(format);
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
