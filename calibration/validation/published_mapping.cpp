#include <cmath>
#include <limits>

#include "calibration/validation/published_row.hpp"
#include "fields/data_directory.hpp"

namespace stepcast {

namespace {

bool same_job(const CsvRow& one, const CsvRow& other) {
  for (const char* column : {"model", "accelerator_id", "layers", "seq_len"})
    if (one.text(column) != other.text(column)) return false;
  return task_of(one) == task_of(other);
}

/// How far apart two rows are in GPUs and in samples a GPU, in powers of e.
double distance(const CsvRow& one, const CsvRow& other) {
  const auto log_of = [](const CsvRow& row, const char* column) {
    return std::log(static_cast<double>(row.whole(column).value_or(1)));
  };
  const double gpus = log_of(one, "gpus") - log_of(other, "gpus");
  const double batch = log_of(one, "global_batch") - log_of(other, "global_batch");
  return std::abs(gpus) + std::abs(batch - gpus);
}

}  // namespace

std::optional<StatedMapping> nearest_mapping(const CsvRow& row) {
  std::optional<StatedMapping> out;
  double nearest = std::numeric_limits<double>::infinity();
  std::vector<Fault> unread;
  for (const CsvTable* table : {&row.table(), &published_runs()}) {
    for (std::size_t i = 0; i < table->rows.size(); ++i) {
      const CsvRow other(*table, i, unread);
      const std::optional<long> tp = other.whole("tp"), pp = other.whole("pp");
      if (!tp || !pp || !same_job(row, other)) continue;
      if (row.whole("gpus").value_or(1) % (*tp * *pp) != 0 || !(distance(row, other) < nearest)) continue;
      nearest = distance(row, other);
      out = StatedMapping{*tp,
                          *pp,
                          other.whole("cp").value_or(1),
                          other.whole("vpp"),
                          other.whole("micro_batch"),
                          other.text("zero_or_fsdp"),
                          other.text("recompute")};
    }
    if (out) break;
  }
  return out;
}

const CsvTable& published_runs() {
  static const CsvTable kRuns = read_csv(data_directory("calibration/data") / "llm-runs-published.csv");
  return kRuns;
}

}  // namespace stepcast
