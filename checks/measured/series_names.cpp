#include "checks/measured/series_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string>

#include "checks/measured/log_text.hpp"

namespace stepcast {

namespace {

/// Names under which frameworks write what we predict, with what turns their unit into ours.
constexpr KnownName kKnownNames[]{
    // Ours.
    {"step_time_s", {"step_time_s"}},
    {"samples_per_s", {"samples_per_s"}},
    {"tokens_per_s", {"tokens_per_s"}},
    {"tokens_per_s_per_gpu", {"tokens_per_s_per_gpu"}},
    {"model_tflops_per_gpu", {"model_tflops_per_gpu"}},
    {"mfu", {"mfu"}},
    {"memory.peak_GiB", {"memory.peak_GiB"}},
    {"energy.per_sample_J", {"energy.per_sample_J"}},
    // Megatron-LM, training.py: writer.add_scalar('iteration-time', elapsed seconds).
    {"iteration-time", {"step_time_s"}},
    // torchtitan, components/metrics.py.
    {"time_metrics/end_to_end(s)", {"step_time_s"}},
    {"throughput(tps)", {"tokens_per_s_per_gpu"}},
    {"tflops", {"model_tflops_per_gpu"}},
    {"mfu(%)", {"mfu", 0.01}},
    {"memory/max_reserved(GiB)", {"memory.peak_GiB"}},
    // Hugging Face Trainer, trainer_utils.py: speed_metrics.
    {"train_samples_per_second", {"samples_per_s"}},
    {"train/train_samples_per_second", {"samples_per_s"}},
    {"train_tokens_per_second", {"tokens_per_s"}},
    {"train/train_tokens_per_second", {"tokens_per_s"}},
    // NeMo's TimingCallback and ThroughputMonitor (Lightning).
    {"train_step_timing in s", {"step_time_s"}},
    {"samples_per_sec", {"samples_per_s"}},
    {kSamplesOfDevice, {kSamplesOfDevice}},
    {"device/samples_per_sec", {kSamplesOfDevice}},
    // Composer's SpeedMonitor and OLMo-core's callback.
    {"throughput/device/tokens_per_sec", {"tokens_per_s_per_gpu"}},
    {"throughput/device/tokens_per_second", {"tokens_per_s_per_gpu"}},
    {"throughput/device/samples_per_sec", {kSamplesOfDevice}},
    {"throughput/device/mfu", {"mfu"}},
    {"throughput/device/mfu (%)", {"mfu", 0.01}},
    // MaxText, metric_logger.py.
    {"perf/step_time_seconds", {"step_time_s"}},
    {"perf/per_device_tokens_per_sec", {"tokens_per_s_per_gpu"}},
    {"perf/per_device_tflops_per_sec", {"model_tflops_per_gpu"}},
    // nanotron, trainer.py.
    {"elapsed_time_per_iteration_ms", {"step_time_s", 1e-3}},
    {"tokens_per_sec_per_gpu", {"tokens_per_s_per_gpu"}},
    // ms-swift, trainers/patcher.py: means since the start.
    {"train_speed(s/it)", {"step_time_s"}},
    {"train_speed(iter/s)", {"step_time_s", 1, true}},
    // Prometheus' custom of totals, and what people write themselves.
    {"train_samples_per_second_total", {"samples_per_s"}},
    {"tflops_per_gpu", {"model_tflops_per_gpu"}},
    {"TFLOPS_per_GPU", {"model_tflops_per_gpu"}},
};

/// One spelling of a name: small letters, and lines below for blanks and dashes.
std::string spelled(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    c = c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

/// "step_time", "iteration_time (ms)", "time_per_step_s": seconds where no unit is told.
std::optional<SeriesMeaning> step_time_of(const std::string& name) {
  // Behind a line below, "min" is the smallest and "h" nothing: such units stand in brackets.
  static const std::regex kTime(
      R"((?:train(?:ing)?_)?(?:(?:step|iteration|iter)_time|time_per_(?:step|iteration|iter))(?:_(?:in_)?(s|secs?|seconds?|ms|msecs?|milliseconds?|us|usecs?)|_?[(\[](?:in_)?([^)\]]+)[)\]])?)");
  static const std::regex kUnitOfStep(R"((s|sec|seconds|ms|milliseconds)(?:_per_|/)(?:step|iteration|iter|it))");
  std::smatch found;
  const bool named = std::regex_match(name, found, kTime);
  if (!named && !std::regex_match(name, found, kUnitOfStep)) return std::nullopt;
  const std::string unit = found[1].matched ? found[1].str() : named && found[2].matched ? found[2].str() : "s";
  const std::optional<double> seconds = seconds_of_unit(unit);
  if (!seconds) return std::nullopt;
  return SeriesMeaning{"step_time_s", *seconds};
}

/// "tokens_per_sec_per_gpu", "images/s": a sequence and an image are a sample of their models.
std::optional<SeriesMeaning> rate_of(const std::string& name) {
  static const std::regex kRate(
      R"((?:train(?:ing)?_)?(tokens|samples|sequences|images|imgs|img|examples)(?:(?:_per_|/)(gpu|device|chip))?(?:_per_|/)(?:s|sec|second)(?:(?:_per_|/)(gpu|device|chip))?)");
  std::smatch found;
  if (!std::regex_match(name, found, kRate)) return std::nullopt;
  const bool of_device = found[2].matched || found[3].matched;
  if (found[1] == "tokens") return SeriesMeaning{of_device ? "tokens_per_s_per_gpu" : "tokens_per_s"};
  return SeriesMeaning{of_device ? kSamplesOfDevice : "samples_per_s"};
}

}  // namespace

std::span<const KnownName> known_names() { return kKnownNames; }

std::optional<SeriesMeaning> meaning_of(std::string_view name) {
  const std::string word = spelled(name);
  if (const auto time = step_time_of(word)) return time;
  // "throughput (tokens/s)": the unit is what it counts.
  static const std::regex kInBrackets(R"((?:throughput|speed)_?[(\[]([^)\]]+)[)\]])");
  std::smatch found;
  return rate_of(std::regex_match(word, found, kInBrackets) ? found[1].str() : word);
}

bool is_of_megatron(const NamedSeries& series) {
  constexpr std::array<const char*, 2> kOfMegatron{"iteration-time", "lm loss"};
  return std::any_of(kOfMegatron.begin(), kOfMegatron.end(), [&](const char* name) { return series.contains(name); });
}

}  // namespace stepcast
