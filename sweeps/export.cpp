#include "sweeps/export.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "report/csv.hpp"

namespace stepcast {

namespace {

/// Rows are gathered to pieces of this size.
constexpr std::size_t kPiece = 1u << 16;

std::string figure_text(const FigureColumn& column, double value) {
  if (std::isnan(value)) return {};
  if (column.kind == FigureKind::truth) return value != 0 ? "true" : "false";
  if (column.kind == FigureKind::whole) return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{:.12g}", value);
}

Json figure_json(const FigureColumn& column, double value) {
  if (std::isnan(value)) return nullptr;
  if (column.kind == FigureKind::truth) return value != 0;
  if (column.kind == FigureKind::whole) return static_cast<std::int64_t>(value);
  const std::string text = figure_text(column, value);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded;
}

/// Texts as they are; everything else as JSON.
std::string input_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::vector<std::string> header_of(const ResultStore& store) {
  std::vector<std::string> out;
  out.emplace_back("point");
  for (const std::string& path : store.points().paths()) out.push_back(path);
  out.emplace_back("status");
  for (const FigureColumn& column : figure_columns()) out.push_back(column.name);
  for (const char* word : kWordColumns) out.emplace_back(word);
  for (const char* name : {"error", "version", "catalog_hash", "models_hash"}) out.emplace_back(name);
  return out;
}

std::vector<std::string> cells_of(const ResultStore& store, const SweepRow& row) {
  std::vector<std::string> out{std::to_string(row.point)};
  std::vector<const Json*> values;
  store.points().values(row.point, values);
  for (const Json* value : values) out.push_back(input_text(*value));
  out.emplace_back(name_of(row.status));
  const bool ok = row.status == PointStatus::ok;
  for (std::size_t i = 0; i < figure_columns().size(); ++i)
    out.push_back(ok ? figure_text(figure_columns()[i], row.figures[i]) : std::string());
  for (const std::string& word : row.words) out.push_back(ok ? word : std::string());
  const SweepIdentity& identity = store.identity();
  for (const std::string* text : {&row.error, &identity.version, &identity.catalog_hash, &identity.models_hash})
    out.push_back(*text);
  return out;
}

}  // namespace

Json row_json(const ResultStore& store, const SweepRow& row) {
  Json out;
  out["point"] = row.point;
  std::vector<const Json*> values;
  store.points().values(row.point, values);
  for (std::size_t i = 0; i < values.size(); ++i) out[store.points().paths()[i]] = *values[i];
  out["status"] = name_of(row.status);
  const bool ok = row.status == PointStatus::ok;
  for (std::size_t i = 0; i < figure_columns().size(); ++i)
    out[figure_columns()[i].name] = ok ? figure_json(figure_columns()[i], row.figures[i]) : Json(nullptr);
  for (std::size_t i = 0; i < row.words.size(); ++i) out[kWordColumns[i]] = ok ? Json(row.words[i]) : Json(nullptr);
  out["error"] = ok ? Json(nullptr) : Json(row.error);
  out["version"] = store.identity().version;
  out["catalog_hash"] = store.identity().catalog_hash;
  out["models_hash"] = store.identity().models_hash;
  return out;
}

void export_store(const ResultStore& store, ExportFormat format, const std::function<void(std::string_view)>& write) {
  std::string piece = format == ExportFormat::csv ? csv_line(header_of(store)) : std::string();
  store.each_row([&](const SweepRow& row) {
    piece += format == ExportFormat::csv
                 ? csv_line(cells_of(store, row))
                 : row_json(store, row).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    if (piece.size() < kPiece) return;
    write(piece);
    piece.clear();
  });
  write(piece);
}

}  // namespace stepcast
