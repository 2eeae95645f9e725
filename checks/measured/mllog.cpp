#include <optional>

#include "calibration/importers/text_file.hpp"
#include "checks/measured/log_text.hpp"
#include "checks/measured/measured_results.hpp"
#include "fields/json_text.hpp"

namespace stepcast {

namespace {

/// What stands before each event of a benchmark of MLPerf Training (mlperf_logging, mllog/mllog.py).
constexpr std::string_view kMark = ":::MLLOG ";

/// An event of a line; nothing where the line holds none, or a cut one.
std::optional<Json> event_in(std::string_view line) {
  const auto mark = line.find(kMark);
  if (mark == std::string_view::npos) return std::nullopt;
  Diagnostics syntax("");
  Json event = parse_json(std::string(line.substr(mark + kMark.size())), syntax);
  if (!syntax.ok() || !event.is_object() || !event.value("key", Json()).is_string()) return std::nullopt;
  return event;
}

std::optional<double> number_at(const Json& object, const char* key) {
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

/// What GPT-3 calls epochs are tokens (50,331,648 from one evaluation to the next); no benchmark has as many of the
/// others.
constexpr double kFewestTokens = 1e6;

/// A stretch of training, evaluations between its parts.
struct Block {
  double start_ms = 0, evaluated_ms = 0;
  std::optional<double> samples, epochs;  ///< samples before it, and epochs that it has
};

/// Follows the events of a run.
class MllogReader {
 public:
  explicit MllogReader(std::set<long>& global_batches) : global_batches_(global_batches) {}

  void take(const Json& event) {
    const auto& key = event.at("key").get_ref<const std::string&>();
    const Json value = event.value("value", Json()), metadata = event.value("metadata", Json());
    if (key == "global_batch_size" && value.is_number()) take_batch(value.get<double>());
    if (key == "train_samples" && value.is_number()) samples_of_epoch_ = value.get<double>();
    if (key == "tracked_stats") take_told(value);
    if (const auto time = number_at(event, "time_ms")) follow(key, *time, metadata);
  }

  /// Rates over the blocks, by the samples or tokens that they count; else what the program tells, else by epochs.
  NamedSeries finish() {
    if (!counted_.empty()) return std::move(counted_);
    // A program tells its rate in what its blocks count.
    if (counts_tokens_)
      if (auto rates = told_.extract("samples_per_s")) told_["tokens_per_s"] = std::move(rates.mapped());
    return told_.empty() ? std::move(by_epochs_) : std::move(told_);
  }

 private:
  void take_batch(double batch) {
    if (batch >= 1 && batch < kMostBatch) global_batches_.insert(static_cast<long>(batch));
  }

  void take_told(const Json& stats) {
    for (const char* name : {"throughput", "imgs_sec"})
      if (const auto rate = number_at(stats, name)) add_sample(told_, "samples_per_s", *rate);
    if (const auto time = number_at(stats, "train_step_time")) add_sample(told_, "step_time_s", *time);
  }

  void follow(const std::string& key, double time, const Json& metadata) {
    if (key == "block_start") begin_block(time, metadata);
    if (key == "eval_start") evaluates_since_ = time;
    if (key == "eval_stop" && evaluates_since_) {
      if (block_ && *evaluates_since_ >= block_->start_ms) block_->evaluated_ms += time - *evaluates_since_;
      evaluates_since_.reset();
    }
    if (key == "block_stop" && block_) end_block(time, number_at(metadata, "samples_count"));
  }

  void begin_block(double time, const Json& metadata) {
    block_ = Block{time, 0, number_at(metadata, "samples_count"), number_at(metadata, "epoch_count")};
    counts_tokens_ = counts_tokens_ || block_->epochs.value_or(0) >= kFewestTokens;
  }

  void end_block(double time, std::optional<double> samples) {
    const double seconds = (time - block_->start_ms - block_->evaluated_ms) * 1e-3;
    const auto add = [&](NamedSeries& to, const char* rate, double trained) {
      if (trained > 0 && seconds > 0) add_sample(to, rate, trained / seconds);
    };
    if (samples && block_->samples)
      add(counted_, "samples_per_s", *samples - *block_->samples);
    else if (block_->epochs && *block_->epochs >= kFewestTokens)
      add(counted_, "tokens_per_s", *block_->epochs);
    else if (block_->epochs && samples_of_epoch_)
      add(by_epochs_, "samples_per_s", *block_->epochs * *samples_of_epoch_);
    block_.reset();
  }

  std::set<long>& global_batches_;
  NamedSeries counted_, told_, by_epochs_;
  std::optional<Block> block_;
  std::optional<double> samples_of_epoch_, evaluates_since_;
  bool counts_tokens_ = false;
};

}  // namespace

bool is_mllog(std::string_view text) { return text.find(std::string(kMark) + "{") != std::string_view::npos; }

NamedSeries read_mllog(std::string_view text, std::set<long>& global_batches) {
  MllogReader reader(global_batches);
  for (const std::string_view line : lines_of(text))
    if (const auto event = event_in(line)) reader.take(*event);
  return reader.finish();
}

}  // namespace stepcast
