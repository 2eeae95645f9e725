#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fields/field_table.hpp"

namespace stepcast {

/// Where measured results come from.
enum class MeasuredFormat { automatic, csv, json, mlflow, tensorboard, prometheus, megatron, deepspeed, torchtitan };
template <>
struct EnumNames<MeasuredFormat> {
  static constexpr std::array names{"auto",       "csv",      "json",      "mlflow",    "tensorboard",
                                    "prometheus", "megatron", "deepspeed", "torchtitan"};
};

/// Figures of a run, step by step, by name of check_metrics().
struct MeasuredResults {
  MeasuredFormat format = MeasuredFormat::automatic;
  std::map<std::string, std::vector<double>> samples;
  std::vector<std::string> notes;  ///< what was taken for what
};

/// Series of numbers under the names that their source gives them.
using NamedSeries = std::map<std::string, std::vector<double>>;

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

/// The sources. Faults go to the diagnostics.
NamedSeries read_csv_series(const std::filesystem::path& file, Diagnostics& diagnostics);
NamedSeries read_json_series(const Json& document, Diagnostics& diagnostics);
NamedSeries read_json_lines(std::string_view text, Diagnostics& diagnostics);
NamedSeries read_mlflow(const std::filesystem::path& run, Diagnostics& diagnostics);
NamedSeries read_tensorboard(const std::filesystem::path& file, Diagnostics& diagnostics);
NamedSeries read_prometheus(const Json& document, Diagnostics& diagnostics);
/// Log lines give series under the names of metrics.
NamedSeries read_log(std::string_view text, MeasuredFormat format);
/// Which of the three a log is; `automatic` when none.
MeasuredFormat format_of_log(std::string_view text);

}  // namespace stepcast
