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

/// A stretch of training between two evaluations.
struct Block {
  double start_ms = 0;
  std::optional<double> samples, epochs;  ///< samples before it, and epochs that it has
};

/// Follows the events of a run.
class MllogReader {
 public:
  explicit MllogReader(std::set<long>& global_batches) : global_batches_(global_batches) {}

  void take(const Json& event) {
    const auto& key = event.at("key").get_ref<const std::string&>();
    const Json value = event.value("value", Json()), metadata = event.value("metadata", Json());
    const std::optional<double> time = number_at(event, "time_ms");
    if (key == "global_batch_size" && value.is_number()) take_batch(value.get<double>());
    if (key == "train_samples" && value.is_number()) samples_of_epoch_ = value.get<double>();
    if (key == "tracked_stats")
      if (const auto rate = number_at(value, "throughput")) add_sample(told_, "samples_per_s", *rate);
    if (key == "block_start" && time)
      block_ = Block{*time, number_at(metadata, "samples_count"), number_at(metadata, "epoch_count")};
    if (key == "block_stop" && time && block_) end_block(*time, number_at(metadata, "samples_count"));
  }

  /// Rates over the blocks; where these do not tell their samples those that the program tells.
  NamedSeries finish() { return measured_.empty() ? std::move(told_) : std::move(measured_); }

 private:
  void take_batch(double batch) {
    if (batch >= 1 && batch < kMostBatch) global_batches_.insert(static_cast<long>(batch));
  }

  void end_block(double time, std::optional<double> samples) {
    std::optional<double> trained;
    if (samples && block_->samples)
      trained = *samples - *block_->samples;
    else if (block_->epochs && samples_of_epoch_)
      trained = *block_->epochs * *samples_of_epoch_;
    const double seconds = (time - block_->start_ms) * 1e-3;
    if (trained && *trained > 0 && seconds > 0) add_sample(measured_, "samples_per_s", *trained / seconds);
    block_.reset();
  }

  std::set<long>& global_batches_;
  NamedSeries measured_, told_;
  std::optional<Block> block_;
  std::optional<double> samples_of_epoch_;
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
