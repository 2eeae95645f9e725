#include "sweeps/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/humane.hpp"
#include "sweeps/export.hpp"

namespace stepcast {

namespace {

using Table = std::vector<std::vector<std::string>>;

std::string aligned(const Table& table) {
  std::vector<int> widths(table.front().size());
  for (const auto& row : table)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  std::string out;
  for (const auto& row : table) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += "  " + pad_left(row[i], widths[i]);
    out += line + "\n";
  }
  return out;
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? significant(value.get<double>()) : value.dump();
}

Table ranked_table(const ResultStore& store, const Ranking& ranking, const std::vector<SweepRow>& rows) {
  std::vector<std::string> columns = store.points().paths();
  for (const char* name : {"step_time_s", "samples_per_s", "mfu", "memory.peak_GiB", "largest_loss"})
    columns.emplace_back(name);
  if (std::find(columns.begin(), columns.end(), ranking.column) == columns.end()) columns.push_back(ranking.column);
  Table out{{"point"}};
  out.front().insert(out.front().end(), columns.begin(), columns.end());
  for (const SweepRow& row : rows) {
    const Json object = row_json(store, row);
    std::vector<std::string>& line = out.emplace_back();
    line.push_back(std::to_string(row.point));
    for (const std::string& column : columns) line.push_back(value_text(object.value(column, Json())));
  }
  return out;
}

/// Reasons that a summary names of each status; the rest are in the rows.
constexpr std::int64_t kMostReasons = 3;

std::string reasons_text(const ResultStore& store) {
  std::string out;
  for (const StoreReason& reason : store.reasons(kMostReasons))
    out += fmt::format("  {} × {}{}{}\n", whole(reason.count), reason.status == PointStatus::failed ? "failed: " : "",
                       reason.error, reason.alike ? " (and alike, with other numbers)" : "");
  return out;
}

}  // namespace

std::string summary_text(const ResultStore& store, const Ranking& ranking) {
  const StoreCounts counts = store.counts();
  std::string out =
      fmt::format("{} of {} configurations: {} predicted, {} not legal, {} failed\n", whole(counts.done()),
                  whole(counts.points), whole(counts.ok), whole(counts.invalid), whole(counts.failed)) +
      reasons_text(store);
  const std::vector<SweepRow> rows = store.best(ranking.column, ranking.largest, ranking.most);
  if (rows.empty()) return out + "none that fits memory\n";
  out += fmt::format("\nby {}, {} first, those that fit memory\n", ranking.column,
                     ranking.largest ? "largest" : "smallest");
  return out + aligned(ranked_table(store, ranking, rows));
}

Json summary_json(const ResultStore& store, const Ranking& ranking) {
  const StoreCounts counts = store.counts();
  Json best = Json::array();
  for (const SweepRow& row : store.best(ranking.column, ranking.largest, ranking.most))
    best.push_back(row_json(store, row));
  Json reasons = Json::array();
  for (const StoreReason& reason : store.reasons(kMostReasons))
    reasons.push_back({{"status", name_of(reason.status)},
                       {"error", reason.error},
                       {"count", reason.count},
                       {"alike", reason.alike}});
  return {{"points", counts.points},   {"done", counts.done()},   {"ok", counts.ok},
          {"invalid", counts.invalid}, {"failed", counts.failed}, {"reasons", std::move(reasons)},
          {"by", ranking.column},      {"best", std::move(best)}};
}

}  // namespace stepcast
