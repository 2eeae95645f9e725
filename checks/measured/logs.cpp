#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/log_text.hpp"
#include "checks/measured/measured_results.hpp"

namespace stepcast {

namespace {

/// What stands before a figure in a line of a log, and what turns its unit into ours.
struct LogKey {
  MeasuredFormat format;
  std::string_view before, metric;
  double factor = 1;
};

constexpr LogKey kLogKeys[]{
    // Megatron-LM, megatron/training/training.py: training_log. Seconds in Megatron-DeepSpeed's form of it.
    {MeasuredFormat::megatron, "elapsed time per iteration (ms):", "step_time_s", 1e-3},
    {MeasuredFormat::megatron, "elapsed time per iteration (s):", "step_time_s"},
    {MeasuredFormat::megatron, "throughput per GPU (TFLOP/s/GPU):", "model_tflops_per_gpu"},
    {MeasuredFormat::megatron, "samples per second:", "samples_per_s"},
    {MeasuredFormat::megatron, "tokens per gpu per second (tgs):", "tokens_per_s_per_gpu"},
    // Forks of it: Primus of AMD, which writes the mean behind a slash, and Swiss AI's.
    {MeasuredFormat::megatron, "Compute per GPU (TFLOP/s/GPU):", "model_tflops_per_gpu"},
    {MeasuredFormat::megatron, "tokens per GPU (tokens/s/GPU):", "tokens_per_s_per_gpu"},
    {MeasuredFormat::megatron, "tokens/sec/gpu:", "tokens_per_s_per_gpu"},
    // DeepSpeed, deepspeed/utils/timer.py: ThroughputTimer. Its GB is 1024^3 bytes.
    {MeasuredFormat::deepspeed, "CurrSamplesPerSec=", "samples_per_s"},
    {MeasuredFormat::deepspeed, "MaxMemAllocated=", "memory.peak_GiB"},
    // The same until 2021: an average since the start.
    {MeasuredFormat::deepspeed, "SamplesPerSec=", "samples_per_s"},
    // DeepSpeed, deepspeed/runtime/pipe/engine.py: train_batch.
    {MeasuredFormat::deepspeed, "iter time (s):", "step_time_s"},
    {MeasuredFormat::deepspeed, "samples/sec:", "samples_per_s"},
    // torchtitan, torchtitan/components/metrics.py; tps (wps before 2025) are tokens per second and device.
    {MeasuredFormat::torchtitan, "tps:", "tokens_per_s_per_gpu"},
    {MeasuredFormat::torchtitan, "wps:", "tokens_per_s_per_gpu"},
    {MeasuredFormat::torchtitan, "tflops:", "model_tflops_per_gpu"},
    {MeasuredFormat::torchtitan, "mfu:", "mfu", 0.01},
    {MeasuredFormat::torchtitan, "memory:", "memory.peak_GiB"},
};

/// What only a line of that log has, of a training step.
struct Mark {
  MeasuredFormat format;
  std::string_view text, beside;
  std::string_view without = {};  ///< what a line of other steps has
  bool beside_others = false;     ///< lines of another log may stand beside it, which tell more
};
constexpr std::array kMarks{
    Mark{MeasuredFormat::megatron, "elapsed time per iteration (", "iteration"},
    Mark{MeasuredFormat::deepspeed, "CurrSamplesPerSec=", "RunningAvgSamplesPerSec="},
    Mark{MeasuredFormat::deepspeed, ", SamplesPerSec=", "[timer.py:"},
    // Megatron-DeepSpeed's lines follow those of the pipeline engine.
    Mark{
        .format = MeasuredFormat::deepspeed, .text = "iter time (s):", .beside = "samples/sec:", .beside_others = true},
    // torchtitan, components/metrics.py: log_validation prints "validate step:".
    Mark{MeasuredFormat::torchtitan, "tps:", "step:", "validate step:"},
    Mark{MeasuredFormat::torchtitan, "wps:", "step:", "validate step:"}};

bool is_mark(std::string_view line, const Mark& mark) {
  const auto holds = [&](std::string_view what) { return line.find(what) != std::string_view::npos; };
  return holds(mark.text) && holds(mark.beside) && (mark.without.empty() || !holds(mark.without));
}

/// A line without colours and without separators of thousands.
std::string plain(std::string_view raw) {
  const std::string line = without_colours(raw);
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool between_digits = line[i] == ',' && i > 0 && i + 1 < line.size() && line[i - 1] >= '0' &&
                                line[i - 1] <= '9' && line[i + 1] >= '0' && line[i + 1] <= '9';
    if (!between_digits) out += line[i];
  }
  return out;
}

/// The number behind a key that stands at the start of a word; NaN where something else stands there.
std::optional<double> figure_after(std::string_view line, std::string_view key) {
  std::optional<double> found;
  for (auto at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    if (at > 0 && line[at - 1] != ' ' && line[at - 1] != '|' && line[at - 1] != ',') continue;
    std::string_view rest = line.substr(at + key.size());
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    double out = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out);
    if (error == std::errc{}) return out;
    found = std::numeric_limits<double>::quiet_NaN();
  }
  return found;
}

}  // namespace

MeasuredFormat format_of_log(std::string_view text) {
  MeasuredFormat out = MeasuredFormat::automatic;
  for (const std::string_view line : lines_of(text)) {
    // Colours stand between a name and its value.
    const std::string without = plain(line);
    for (const Mark& mark : kMarks) {
      if (!is_mark(without, mark)) continue;
      if (!mark.beside_others) return mark.format;
      out = mark.format;
    }
  }
  return out;
}

NamedSeries read_log(std::string_view text, MeasuredFormat format, std::set<long>& global_batches) {
  NamedSeries out;
  for (const std::string_view raw : lines_of(text)) {
    const std::string line = plain(raw);
    bool marked = false;
    for (const Mark& mark : kMarks) marked = marked || (mark.format == format && is_mark(line, mark));
    if (!marked) continue;
    for (const LogKey& key : kLogKeys)
      if (key.format == format)
        if (const auto value = figure_after(line, key.before))
          add_sample(out, std::string(key.metric), *value * key.factor);
    if (format == MeasuredFormat::megatron)
      if (const auto batch = figure_after(line, "global batch size:"); batch && *batch >= 1 && *batch < kMostBatch)
        global_batches.insert(static_cast<long>(*batch));
  }
  return out;
}

}  // namespace stepcast
