#include <cstdlib>

#include "calibration/validation/published_row.hpp"

namespace stepcast {

namespace {

/// The data-parallel degree that a table prints where its degrees do not multiply to its number of GPUs: "data parallel
/// printed as 4, which does not multiply to the GPU count".
std::optional<long> printed_replicas(const CsvRow& row) {
  constexpr std::string_view kMark = "data parallel printed as ";
  const std::string notes = row.text("notes");
  const std::size_t at = notes.find(kMark);
  if (at == std::string::npos) return std::nullopt;
  const long degree = std::strtol(notes.c_str() + at + kMark.size(), nullptr, 10);
  return degree > 0 ? std::optional(degree) : std::nullopt;
}

/// Two rows of one line of a table: the same training, mapped in two ways.
bool same_line(const CsvRow& one, const CsvRow& other) {
  for (const char* column : {"source", "model", "accelerator_id", "gpus", "global_batch", "seq_len"})
    if (one.text(column) != other.text(column)) return false;
  return true;
}

}  // namespace

std::optional<long> contradicted_devices(const CsvRow& row) {
  for (std::size_t i = 0; i < row.table().rows.size(); ++i) {
    const CsvRow other = row.sibling(i);
    if (!same_line(row, other)) continue;
    const std::optional<long> replicas = printed_replicas(other), tp = other.whole("tp");
    if (replicas && tp) return *replicas * *tp * other.whole("pp").value_or(1) * other.whole("cp").value_or(1);
  }
  return std::nullopt;
}

}  // namespace stepcast
