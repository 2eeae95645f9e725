#include "calibration/validation/known_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "calibration/collectives/measured_collective.hpp"
#include "calibration/validation/column_sets.hpp"
#include "calibration/validation/data_sets.hpp"
#include "calibration/validation/operators/measured_operator.hpp"

namespace stepcast {

namespace {

/// Every kind, in the order in which a header is held against them.
const std::vector<KnownTable>& known_tables() {
  static const std::vector<KnownTable> kTables = [] {
    std::vector<KnownTable> out;
    for (const std::vector<KnownTable>& kinds : {collective_tables(), operator_tables(), run_tables()})
      out.insert(out.end(), kinds.begin(), kinds.end());
    return out;
  }();
  return kTables;
}

const KnownTable* kind_of(const CsvTable& table) {
  for (const KnownTable& kind : known_tables())
    if (is_of(table, kind)) return &kind;
  return nullptr;
}

std::vector<std::string> names_of(const std::vector<CsvField>& header) {
  std::vector<std::string> out;
  out.reserve(header.size());
  for (const CsvField& field : header) out.push_back(field.text);
  return out;
}

std::vector<std::string> header_of_set(const std::string& name) {
  const std::filesystem::path file = run_set_file(name);
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return names_of(parse_csv(line + "\n", file.string()).header);
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> lacking(const CsvTable& table, const KnownTable& kind) {
  std::vector<std::string> out;
  for (const std::string_view column : kind.columns)
    if (!table.column(column)) out.emplace_back(column);
  return out;
}

/// The kind of which the smallest share of the columns lacks.
const KnownTable& nearest_kind(const CsvTable& table) {
  const auto share = [&](const KnownTable& kind) {
    return static_cast<double>(lacking(table, kind).size()) / static_cast<double>(kind.columns.size());
  };
  const auto nearer = [&](const KnownTable& a, const KnownTable& b) { return share(a) < share(b); };
  return *std::min_element(known_tables().begin(), known_tables().end(), nearer);
}

}  // namespace

bool is_of(const CsvTable& table, const KnownTable& kind) { return lacking(table, kind).empty(); }

void refuse_columns(const CsvTable& table) {
  const KnownTable& kind = nearest_kind(table);
  std::vector<std::string> others, lacks = lacking(table, kind);
  for (const std::string& name : names_of(table.header))
    if (std::find(kind.columns.begin(), kind.columns.end(), name) == kind.columns.end()) others.push_back(name);
  for (std::string& column : lacks)
    if (const std::string* meant = nearest(column, others)) column += fmt::format(" (is it \"{}\"?)", *meant);
  throw InputError({{table.file + ":1:1", "", "found the columns of no known set",
                     fmt::format("{} would also need {}", kind.title, fmt::join(lacks, ", "))}});
}

void check_measurements(const CsvTable& table) {
  if (kind_of(table) == nullptr) refuse_columns(table);
  if (table.rows.empty())
    throw InputError(
        {{table.file + ":1:1", "", "found a header and no rows, expected a row for every measurement", ""}});
}

std::string unread_columns(const CsvTable& table) {
  const KnownTable* kind = kind_of(table);
  if (kind == nullptr) return "";
  std::vector<std::string> known, absent;
  for (const std::string_view set : kind->sets)
    for (std::string& name : header_of_set(std::string(set))) known.push_back(std::move(name));
  for (const std::string& name : known)
    if (!table.column(name)) absent.push_back(name);
  std::vector<std::string> unread;
  for (const std::string& name : names_of(table.header)) {
    if (holds(known, name)) continue;
    const std::string hint = did_you_mean(name, absent);
    unread.push_back(fmt::format("\"{}\"{}", name, hint.empty() ? "" : " (" + hint + ")"));
  }
  if (unread.empty()) return "";
  return fmt::format("{}: columns that are not read: {}", table.file, fmt::join(unread, ", "));
}

}  // namespace stepcast
