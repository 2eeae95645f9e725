#include "checks/measured/measured_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

#include "calibration/importers/python_json.hpp"
#include "calibration/importers/text_file.hpp"
#include "checks/check_metric.hpp"
#include "checks/measured/keras_bars.hpp"
#include "checks/measured/series_names.hpp"
#include "checks/measured/wandb.hpp"

namespace stepcast {

namespace {

/// Largest log or table that is read: a line a step, for millions of steps.
constexpr std::size_t kMostMeasuredBytes = 512u << 20;

/// What a metric's series holds, where it holds nothing that can be compared.
std::string unusable(const std::string& series, const SampleParts& parts) {
  std::size_t below = 0, none = 0;
  for (const std::vector<double>& part : parts)
    for (const double value : part) (std::isfinite(value) ? below : none) += 1;
  return fmt::format("\"{}\" holds no number above 0: {} of its {} samples are 0 or less, {} are no numbers", series,
                     below, below + none, none);
}

/// Takes what can be compared of a series and notes the rest; false where nothing can.
bool take_series(MeasuredResults& run, const std::string& metric, const std::string& series, double factor,
                 const SampleParts& parts) {
  SampleParts sound;
  for (const std::vector<double>& part : parts) {
    std::vector<double>& samples = sound.emplace_back();
    for (const double value : part)
      if (std::isfinite(value) && value > 0) samples.push_back(value * factor);
    if (samples.empty()) sound.pop_back();
  }
  if (sound.empty()) return false;
  if (series != metric)
    run.notes.push_back(fmt::format("{} is \"{}\"{}", metric, series, factor == 1 ? "" : fmt::format(" × {}", factor)));
  const std::size_t all = count_of(parts), left_out = all - count_of(sound);
  if (left_out > 0)
    run.notes.push_back(
        fmt::format("{}: {} of {} samples are no number above 0 and do not count", metric, left_out, all));
  run.samples[metric] = std::move(sound);
  run.from[metric] = series;
  return true;
}

std::vector<std::string> names_in(const NamedSeries& series) {
  std::vector<std::string> out;
  for (const auto& [name, values] : series) out.push_back(name);
  return out;
}

/// A series under a known name, or under it in a group of charts.
NamedSeries::const_iterator find_known(const NamedSeries& series, std::string_view name) {
  const auto exact = series.find(std::string(name));
  if (exact != series.end()) return exact;
  return std::find_if(series.begin(), series.end(), [&](const auto& one) { return without_group(one.first) == name; });
}

/// A series of the source and what it is.
struct KnownSeries {
  NamedSeries::const_iterator series;
  SeriesMeaning meaning;
};

/// In the order in which they count: by frameworks' own names, then by what people call such things.
std::vector<KnownSeries> known_series(const NamedSeries& series) {
  std::vector<KnownSeries> out;
  std::set<std::string_view> taken;
  const auto add = [&](NamedSeries::const_iterator found, const SeriesMeaning& meaning) {
    if (found != series.end() && taken.insert(found->first).second) out.push_back({found, meaning});
  };
  for (const KnownName& known : known_names()) add(find_known(series, known.series), known.meaning);
  if (is_of_megatron(series)) add(series.find(std::string(kThroughput)), {"model_tflops_per_gpu"});
  for (auto one = series.begin(); one != series.end(); ++one)
    if (const auto meaning = meaning_of(without_group(one->first))) add(one, *meaning);
  return out;
}

/// Seconds a step of steps a second.
SampleParts inverses_of(SampleParts parts) {
  for (std::vector<double>& part : parts)
    for (double& sample : part) sample = 1 / sample;
  return parts;
}

/// Utilization above 1 is a percentage.
double factor_of(const SeriesMeaning& known, const SampleParts& parts) {
  if (known.metric != "mfu" || known.factor != 1) return known.factor;
  for (const std::vector<double>& part : parts)
    for (const double sample : part)
      if (sample > 1.5) return 0.01;
  return 1;
}

/// The series that were asked for, by metric.
std::map<std::string, std::string> take_named(MeasuredResults& run, const NamedSeries& series,
                                              const std::vector<SeriesName>& names, Diagnostics& diagnostics) {
  std::map<std::string, std::string> from;
  for (const SeriesName& name : names) {
    from[name.metric] = name.series;
    const auto found = series.find(name.series);
    if (found == series.end()) {
      const std::string near = did_you_mean(name.series, names_in(series));
      diagnostics.error("", fmt::format("holds no series \"{}\"", name.series),
                        near.empty() ? expected_one_of(names_in(series)) : near);
      continue;
    }
    if (!take_series(run, name.metric, name.series, name.factor, found->second))
      diagnostics.error("", unusable(found->first, found->second));
  }
  return from;
}

/// What Megatron-LM calls throughput is none of others, who count one of two things by that name.
bool is_of_two_meanings(const NamedSeries& series, const std::map<std::string, std::string>& asked) {
  if (!series.contains(std::string(kThroughput)) || is_of_megatron(series)) return false;
  return std::none_of(asked.begin(), asked.end(), [](const auto& one) { return one.second == kThroughput; });
}

/// Where nothing can be compared.
void refuse_series(const NamedSeries& series, std::vector<std::string> unsound, bool of_two_meanings,
                   Diagnostics& diagnostics) {
  for (std::string& one : unsound) diagnostics.error("", std::move(one), "--series METRIC=NAME names another");
  if (!unsound.empty()) return;
  if (of_two_meanings)
    diagnostics.error("", "\"throughput\" may be samples or tokens a second",
                      "say which: --series samples_per_s=throughput or --series tokens_per_s=throughput");
  else
    diagnostics.error("", "holds no series under a name that is known",
                      series.empty() ? std::string("is this what a training run writes?")
                                     : "name one: --series step_time_s=NAME; " + expected_one_of(names_in(series)));
}

/// The series that were asked for, else those whose names are known; the first known name of a metric counts.
void choose_series(MeasuredResults& run, const NamedSeries& series, const std::vector<SeriesName>& names,
                   Diagnostics& diagnostics) {
  std::map<std::string, std::string> from = take_named(run, series, names, diagnostics);
  const bool of_two_meanings = is_of_two_meanings(series, from);
  std::vector<std::string> unsound;
  for (const KnownSeries& known : known_series(series)) {
    const std::string metric(known.meaning.metric);
    const auto& [name, found] = *known.series;
    if (const auto taken = from.find(metric); taken != from.end()) {
      if (taken->second != name)
        run.notes.push_back(fmt::format("{} is \"{}\": \"{}\" does not count", metric, taken->second, name));
      continue;
    }
    const SampleParts parts = known.meaning.inverse ? inverses_of(found) : found;
    if (take_series(run, metric, name, factor_of(known.meaning, found), parts))
      from[metric] = name;
    else
      unsound.push_back(unusable(name, found));
  }
  if (const auto of_device = run.samples.extract(std::string(kSamplesOfDevice)))
    run.samples_per_s_per_device = of_device.mapped();
  const bool any = !run.samples.empty() || !run.samples_per_s_per_device.empty();
  if (!any && diagnostics.ok()) return refuse_series(series, std::move(unsound), of_two_meanings, diagnostics);
  run.notes.insert(run.notes.end(), unsound.begin(), unsound.end());
  if (of_two_meanings)
    run.notes.emplace_back("\"throughput\" may be samples or tokens a second and does not count: --series says which");
}

/// The Trainer's tokens a second, unless asked for, are of one device or of all: settle_tokens tells which.
void set_apart_trainers_tokens(MeasuredResults& run, const NamedSeries& series, const std::vector<SeriesName>& names) {
  const auto taken = run.from.find("tokens_per_s");
  if (taken == run.from.end() || without_group(taken->second) != kTrainersTokens) return;
  for (const SeriesName& name : names) {
    if (name.series != taken->second) continue;
    if (name.metric != "tokens_per_s") run.samples.erase("tokens_per_s");
    return;
  }
  run.trainers_tokens_per_s = run.samples.extract("tokens_per_s").mapped();
  std::erase(run.notes, fmt::format("tokens_per_s is \"{}\"", taken->second));
  run.counts_all_tokens = std::any_of(series.begin(), series.end(), [](const auto& one) {
    return without_group(one.first) == "num_input_tokens_seen";
  });
}

bool has_event_files(const std::filesystem::path& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().find("tfevents") != std::string::npos) return true;
  return false;
}

/// Objects, or an array of them; lines of logs begin with brackets, too: "[2021-05-01 12:00:00,123] [INFO]".
bool looks_like_json(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[')) return text.starts_with('{');
  return trimmed(text.substr(1)).starts_with('{');
}

/// By its place, its name, and last by what it holds.
MeasuredFormat format_of(const std::filesystem::path& file, std::string& text, Diagnostics& diagnostics) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    if (std::filesystem::is_directory(file / "metrics", error)) return MeasuredFormat::mlflow;
    if (has_event_files(file)) return MeasuredFormat::tensorboard;
    diagnostics.error("",
                      "is a folder, but holds neither MLflow's metrics/ nor TensorBoard's event files, nor files of "
                      "Weights & Biases (wandb-history.jsonl, wandb-summary.json)");
    return MeasuredFormat::automatic;
  }
  if (file.filename().string().find("tfevents") != std::string::npos) return MeasuredFormat::tensorboard;
  if (file.extension() == ".csv") return MeasuredFormat::csv;
  text = read_description(file, diagnostics, kMostMeasuredBytes);
  if (!diagnostics.ok()) return MeasuredFormat::automatic;
  if (is_mllog(text)) return MeasuredFormat::mlperf;
  const MeasuredFormat log = format_of_log(text);
  if (log != MeasuredFormat::automatic) return log;
  // Dictionaries that Python prints are no JSON: their keys are in single quotes.
  if (looks_like_json(text) && !trimmed(text).starts_with("{'")) return MeasuredFormat::json;
  std::set<long> batches;
  if (!read_plain_log(text, batches).empty()) return MeasuredFormat::log;
  if (keras_bars_hold_validation(text)) {
    diagnostics.error("", "the times of its steps hold the validation of each epoch, as Keras 2 counts them",
                      "the log of a fit without validation_data");
    return MeasuredFormat::automatic;
  }
  diagnostics.error("", "is none of the kinds of results that are known by their look",
                    expected_one_of(names_of<MeasuredFormat>()));
  return MeasuredFormat::automatic;
}

/// One document, or one a line; what Prometheus answers is a document.
NamedSeries read_json_text(std::string_view text, MeasuredResults& run, Diagnostics& diagnostics) {
  if (is_llama_factory(text)) return read_llama_factory(text);
  Diagnostics whole("");
  const Json document = parse_json(without_infinities(std::string(text)), whole);
  if (!whole.ok()) return read_json_lines(text, run.notes, diagnostics);
  if (document.is_object() && document.contains("status") &&
      (document.contains("data") || document.contains("errorType"))) {
    run.format = MeasuredFormat::prometheus;
    return read_prometheus(document, diagnostics);
  }
  // trainer_state.json of transformers' Trainer: what it logged stands in a list beside settings.
  if (document.is_object() && document.value("log_history", Json()).is_array())
    return read_json_series(document.at("log_history"), diagnostics);
  return read_json_series(document, diagnostics);
}

NamedSeries read_series(const std::filesystem::path& file, std::string_view text, MeasuredResults& run,
                        Diagnostics& diagnostics) {
  switch (run.format) {
    case MeasuredFormat::csv: {
      NamedSeries columns = read_csv_series(file, diagnostics);
      join_wandb_runs(columns, run.notes);
      return columns;
    }
    case MeasuredFormat::mlflow:
      return read_mlflow(file, diagnostics);
    case MeasuredFormat::tensorboard:
      return read_tensorboard(file, diagnostics);
    case MeasuredFormat::json:
    case MeasuredFormat::prometheus:
      return read_json_text(text, run, diagnostics);
    case MeasuredFormat::mlperf: {
      NamedSeries rates = read_mllog(text, run.global_batches);
      if (rates.empty())
        diagnostics.error("", "its blocks count neither samples nor epochs of known length, and it tells no throughput",
                          "block_start and block_stop with samples_count, or tracked_stats");
      return rates;
    }
    case MeasuredFormat::log:
      return read_plain_log(text, run.global_batches);
    default:
      return read_log(text, run.format, run.global_batches);
  }
}

bool reads_text(MeasuredFormat format) {
  return format != MeasuredFormat::csv && format != MeasuredFormat::mlflow && format != MeasuredFormat::tensorboard;
}

}  // namespace

std::size_t count_of(const SampleParts& parts) {
  std::size_t out = 0;
  for (const std::vector<double>& part : parts) out += part.size();
  return out;
}

void add_sample(NamedSeries& series, const std::string& name, double sample) {
  SampleParts& parts = series[name];
  if (parts.empty()) parts.emplace_back();
  parts.back().push_back(sample);
}

std::vector<SeriesName> parse_series_names(const std::vector<std::string>& given, Diagnostics& diagnostics) {
  std::vector<SeriesName> out;
  for (const std::string& text : given) {
    const auto equals = std::min(text.find('='), text.size());
    SeriesName name{text.substr(0, equals), text.substr(std::min(equals + 1, text.size())), 1};
    // A factor is what follows the last asterisk, if that is a number: names may hold asterisks.
    if (const auto star = name.series.rfind('*'); star != std::string::npos) {
      const char* begin = name.series.data() + star + 1;
      const char* end = name.series.data() + name.series.size();
      const auto [stop, error] = std::from_chars(begin, end, name.factor);
      if (error == std::errc{} && stop == end && name.factor > 0 && std::isfinite(name.factor))
        name.series.resize(star);
      else
        name.factor = 1;
    }
    if (name.series.empty() || find_check_metric(name.metric) == nullptr) {
      const std::string near = did_you_mean(name.metric, check_metric_names());
      diagnostics.error("", fmt::format("--series {}: expected metric=series or metric=series*factor", text),
                        near.empty() ? expected_one_of(check_metric_names()) : near);
      continue;
    }
    if (std::any_of(out.begin(), out.end(), [&](const SeriesName& other) { return other.metric == name.metric; })) {
      diagnostics.error("", fmt::format("--series {}: {} has a series already", text, name.metric),
                        "one --series for each metric");
      continue;
    }
    out.push_back(std::move(name));
  }
  return out;
}

MeasuredResults read_measured(const std::filesystem::path& place, MeasuredFormat format,
                              const std::vector<SeriesName>& names) {
  const std::filesystem::path of_wandb = wandb_file(place);
  const std::filesystem::path& file = of_wandb.empty() ? place : of_wandb;
  Diagnostics diagnostics(file.string());
  MeasuredResults run;
  std::string text;
  run.format = format == MeasuredFormat::automatic ? format_of(file, text, diagnostics) : format;
  diagnostics.throw_if_faulty();
  if (text.empty() && reads_text(run.format)) text = read_description(file, diagnostics, kMostMeasuredBytes);
  diagnostics.throw_if_faulty();
  const NamedSeries series = read_series(file, text, run, diagnostics);
  diagnostics.throw_if_faulty();
  choose_series(run, series, names, diagnostics);
  diagnostics.throw_if_faulty();
  set_apart_trainers_tokens(run, series, names);
  return run;
}

std::vector<double> after_warmup(const std::vector<double>& samples, std::optional<std::size_t> warmup) {
  // A tenth; of three or more samples at least the first, which holds compilation and the first reading of data.
  const std::size_t skipped = warmup.value_or(samples.size() < 3 ? 0 : std::max<std::size_t>(1, samples.size() / 10));
  return {samples.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, samples.size())), samples.end()};
}

std::vector<double> after_warmup(const SampleParts& parts, std::optional<std::size_t> warmup) {
  std::vector<double> out;
  for (const std::vector<double>& part : parts) {
    const std::vector<double> steady = after_warmup(part, warmup);
    out.insert(out.end(), steady.begin(), steady.end());
  }
  return out;
}

}  // namespace stepcast
