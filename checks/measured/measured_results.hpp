#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// Where measured results come from. `log`: of another program, that names step times.
enum class MeasuredFormat {
  automatic,
  csv,
  json,
  mlflow,
  tensorboard,
  prometheus,
  megatron,
  deepspeed,
  torchtitan,
  mlperf,
  log
};
template <>
struct EnumNames<MeasuredFormat> {
  static constexpr std::array names{"auto",     "csv",       "json",       "mlflow", "tensorboard", "prometheus",
                                    "megatron", "deepspeed", "torchtitan", "mlperf", "log"};
};

/// Samples of one name in the order of steps: a part of each source that has it, as the ranks of a Prometheus query.
using SampleParts = std::vector<std::vector<double>>;
std::size_t count_of(const SampleParts& parts);

/// Figures of a run, step by step, by name of check_metrics().
struct MeasuredResults {
  MeasuredFormat format = MeasuredFormat::automatic;
  std::map<std::string, SampleParts> samples;
  std::map<std::string, std::string> from;  ///< series of the source, by metric
  std::set<long> global_batches;            ///< that the log names
  SampleParts samples_per_s_per_device;     ///< where the source counts those of each device
  SampleParts trainers_tokens_per_s;        ///< of each device or of all, as the Trainer was told: see settle_tokens
  bool counts_all_tokens = false;           ///< the Trainer gathers what every device has read
  std::vector<std::string> notes;           ///< what was taken for what
};

/// Name of a series of the samples of one device, which no check compares (MeasuredResults::samples_per_s_per_device).
inline constexpr std::string_view kSamplesOfDevice = "samples_per_s_per_device";

/// transformers' Trainer writes tokens a second of each device (include_tokens_per_second) or of all
/// (include_num_input_tokens_seen) under one name.
inline constexpr std::string_view kTrainersTokens = "train_tokens_per_second";

/// Series of numbers under the names that their source gives them; NaN stands for what is no number.
using NamedSeries = std::map<std::string, SampleParts>;
/// Adds to the part of a name that was begun last.
void add_sample(NamedSeries& series, const std::string& name, double sample);

/// A name of the source that stands for a metric: `step_time_s=elapsed_ms*0.001`.
struct SeriesName {
  std::string metric, series;
  double factor = 1;  ///< metric = series × factor
};

/// Reads `metric=series` and `metric=series*factor`. What is none is a fault.
std::vector<SeriesName> parse_series_names(const std::vector<std::string>& given, Diagnostics& diagnostics);

/// Reads a file, or the folder of a run (MLflow, TensorBoard). Of the series, those named in `names`, else those with a
/// name that frameworks use. Throws InputError when nothing can be made of it; a result has at least one metric.
MeasuredResults read_measured(const std::filesystem::path& file, MeasuredFormat format,
                              const std::vector<SeriesName>& names);

/// Samples without those of the start; by default a tenth of them, in which kernels are chosen and caches filled.
std::vector<double> after_warmup(const std::vector<double>& samples, std::optional<std::size_t> warmup);
/// Those of all parts, each without its own start.
std::vector<double> after_warmup(const SampleParts& parts, std::optional<std::size_t> warmup);

/// The sources. Faults go to the diagnostics.
NamedSeries read_csv_series(const std::filesystem::path& file, Diagnostics& diagnostics);
NamedSeries read_json_series(const Json& document, Diagnostics& diagnostics);
/// A last line that is cut, as a run that goes on leaves it, is noted.
NamedSeries read_json_lines(std::string_view text, std::vector<std::string>& notes, Diagnostics& diagnostics);
NamedSeries read_mlflow(const std::filesystem::path& run, Diagnostics& diagnostics);
NamedSeries read_tensorboard(const std::filesystem::path& file, Diagnostics& diagnostics);
NamedSeries read_prometheus(const Json& document, Diagnostics& diagnostics);
/// Log lines give series under the names of metrics, and the global batches that they name.
NamedSeries read_log(std::string_view text, MeasuredFormat format, std::set<long>& global_batches);
/// Which of the three a log is; `automatic` when none.
MeasuredFormat format_of_log(std::string_view text);
/// Whether a text holds events of MLPerf Training (`:::MLLOG {…}`).
bool is_mllog(std::string_view text);
/// Samples (of GPT-3: tokens) per second of each block, without evaluations, by the samples that it counts; else what
/// tracked_stats tell; else by epochs. And the global batches that the log names.
NamedSeries read_mllog(std::string_view text, std::set<long>& global_batches);
/// Whether lines of JSON are LLaMA-Factory's trainer_log.jsonl.
bool is_llama_factory(std::string_view text);
/// Time of a step, and tokens per second where they are counted, from its elapsed times; those of evaluations apart.
NamedSeries read_llama_factory(std::string_view text);
/// A log of another program: "step_time", "iteration_time", "step time", "s/it" or "it/s", a word of its own, in the
/// unit that the text names, or else in seconds; and the figures of nanotron, MaxText, InternEvo, OLMo-core, Composer,
/// fairseq, transformers' Trainer, timm, torchvision, Detectron2, MMEngine, MXNet, TensorFlow's Estimators and
/// tf_cnn_benchmarks by their own names; else bars of Keras. Empty where no line has any. And the global batches that
/// lines with such figures name, as NeMo's and nanotron's do.
NamedSeries read_plain_log(std::string_view text, std::set<long>& global_batches);

}  // namespace stepcast
