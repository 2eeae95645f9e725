#include "sweeps/result_store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "sweeps/sqlite_errors.hpp"
#include "sweeps/store_schema.hpp"

namespace stepcast {

namespace {

/// A writer commits in milliseconds.
constexpr int kReaderPatience = 10'000;  // ms

/// What comes of the file before anything of it is believed.
std::unique_ptr<SQLite::Database> open_to_read(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) throw InputError({{file.string(), "", "there is no such store", ""}});
  return with_store_errors(file, "read", [&] {
    auto database = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READONLY, kReaderPatience);
    require_store(*database, file);
    return database;
  });
}

SweepPoints read_points_of(const SweepIdentity& identity, const std::filesystem::path& file) {
  try {
    return points_of(identity.definition);
  } catch (const std::exception& error) {
    throw InputError({{file.string(), "", fmt::format("is damaged: {}", error.what()), ""}});
  }
}

std::string selected_columns() {
  std::string out = "point, status, error";
  for (const FigureColumn& column : figure_columns()) out += ", " + quoted_name(column.name);
  for (const char* word : kWordColumns) out += ", " + quoted_name(word);
  return out;
}

/// Ends as damage: a cell of ours is never so.
[[noreturn]] void throw_bad_cell(std::int64_t point, std::string_view column, std::string_view expected) {
  throw SQLite::Exception(fmt::format("{} of point {} is no {}", column, point, expected), SQLITE_MISMATCH);
}

double figure_in(const SQLite::Column& cell, const FigureColumn& column, std::int64_t point) {
  if (cell.isNull()) return std::numeric_limits<double>::quiet_NaN();
  if (column.kind != FigureKind::number) {
    if (!cell.isInteger()) throw_bad_cell(point, column.name, "whole number");
    return static_cast<double>(cell.getInt64());
  }
  const bool number = cell.isFloat() || cell.isInteger();
  if (!number || !std::isfinite(cell.getDouble())) throw_bad_cell(point, column.name, "number");
  return cell.getDouble();
}

void read_row(SQLite::Statement& select, SweepRow& row) {
  int column = 0;
  row.point = select.getColumn(column++).getInt64();
  const std::optional<PointStatus> status = parse_enum<PointStatus>(select.getColumn(column++).getText());
  if (!status) throw_bad_cell(row.point, "status", "status of a point");
  row.status = *status;
  row.error = select.getColumn(column++).getText();
  row.figures.clear();
  if (row.status != PointStatus::ok) return;
  for (const FigureColumn& figure : figure_columns())
    row.figures.push_back(figure_in(select.getColumn(column++), figure, row.point));
  for (std::string& word : row.words) word = select.getColumn(column++).getText();
}

/// A message without its numbers; digits of a name, as in "h100", are no number.
std::string without_numbers(std::string_view message) {
  const auto of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (std::size_t i = 0; i < message.size();) {
    if (!is_digit(message[i]) || (i > 0 && of_word(message[i - 1]))) {
      out += message[i++];
      continue;
    }
    while (i < message.size() && (is_digit(message[i]) || message[i] == '.' || message[i] == ',')) ++i;
    out += '#';
  }
  return out;
}

/// The first of each status, those that broke before the others.
std::vector<StoreReason> most_frequent(std::vector<StoreReason> reasons, std::int64_t most) {
  std::stable_sort(reasons.begin(), reasons.end(), [](const StoreReason& a, const StoreReason& b) {
    const bool a_broke = a.status == PointStatus::failed, b_broke = b.status == PointStatus::failed;
    return a_broke != b_broke ? a_broke : a.count > b.count;
  });
  std::int64_t broke = 0, illegal = 0;
  std::erase_if(reasons, [&](const StoreReason& reason) {
    return (reason.status == PointStatus::failed ? broke : illegal)++ >= most;
  });
  return reasons;
}

}  // namespace

struct ResultStore::Impl {
  std::filesystem::path file;
  std::unique_ptr<SQLite::Database> database;
  SweepIdentity identity;
  SweepPoints points;
};

ResultStore::ResultStore(const std::filesystem::path& file) {
  auto database = open_to_read(file);
  SweepIdentity identity = with_store_errors(file, "read", [&] { return read_identity(*database, file); });
  SweepPoints points = read_points_of(identity, file);
  impl_ = std::make_unique<Impl>(Impl{file, std::move(database), std::move(identity), std::move(points)});
}

ResultStore::~ResultStore() = default;
ResultStore::ResultStore(ResultStore&&) noexcept = default;
ResultStore& ResultStore::operator=(ResultStore&&) noexcept = default;

const SweepIdentity& ResultStore::identity() const { return impl_->identity; }
const SweepPoints& ResultStore::points() const { return impl_->points; }

StoreCounts ResultStore::counts() const {
  return with_store_errors(impl_->file, "read", [&] {
    StoreCounts out;
    out.points = impl_->points.size();
    SQLite::Statement select(*impl_->database, "SELECT status, count(*) FROM points GROUP BY status");
    while (select.executeStep()) {
      const std::string status = select.getColumn(0).getString();
      const std::int64_t count = select.getColumn(1).getInt64();
      (status == name_of(PointStatus::ok)        ? out.ok
       : status == name_of(PointStatus::invalid) ? out.invalid
                                                 : out.failed) = count;
    }
    return out;
  });
}

void ResultStore::each_row(const std::function<void(const SweepRow&)>& take, std::int64_t first,
                           std::int64_t most) const {
  with_store_errors(impl_->file, "read", [&] {
    SQLite::Statement select(
        *impl_->database,
        fmt::format("SELECT {} FROM points WHERE point >= ? ORDER BY point LIMIT ?", selected_columns()));
    select.bind(1, first);
    select.bind(2, most);
    SweepRow row;
    while (select.executeStep()) {
      read_row(select, row);
      take(row);
    }
  });
}

std::optional<SweepRow> ResultStore::row(std::int64_t point) const {
  std::optional<SweepRow> out;
  each_row(
      [&](const SweepRow& row) {
        if (row.point == point) out = row;
      },
      point, 1);
  return out;
}

std::vector<SweepRow> ResultStore::best(const std::string& column, bool largest, std::int64_t most) const {
  std::vector<std::string> names;
  for (const FigureColumn& figure : figure_columns()) names.push_back(figure.name);
  if (std::find(names.begin(), names.end(), column) == names.end())
    throw InputError({{impl_->file.string(), "", fmt::format("has no column of figures \"{}\"", column),
                       did_you_mean(column, names)}});
  return with_store_errors(impl_->file, "read", [&] {
    SQLite::Statement select(*impl_->database,
                             fmt::format("SELECT {0} FROM points WHERE {1} IS NOT NULL AND \"memory.fits\" = 1 "
                                         "ORDER BY {1} {2}, point LIMIT ?",
                                         selected_columns(), quoted_name(column), largest ? "DESC" : "ASC"));
    select.bind(1, most);
    std::vector<SweepRow> out;
    while (select.executeStep()) read_row(select, out.emplace_back());
    return out;
  });
}

std::vector<StoreReason> ResultStore::reasons(std::int64_t most) const {
  return with_store_errors(impl_->file, "read", [&] {
    SQLite::Statement select(*impl_->database,
                             "SELECT status, error, count(*) FROM points WHERE error IS NOT NULL "
                             "GROUP BY status, error ORDER BY count(*) DESC, error");
    std::vector<StoreReason> out;
    std::unordered_map<std::string, std::size_t> places;
    while (select.executeStep()) {
      const bool failed = select.getColumn(0).getString() == name_of(PointStatus::failed);
      StoreReason reason{failed ? PointStatus::failed : PointStatus::invalid, select.getColumn(1).getString(),
                         select.getColumn(2).getInt64()};
      const auto [place, fresh] = places.emplace((failed ? "f" : "i") + without_numbers(reason.error), out.size());
      if (fresh) {
        out.push_back(std::move(reason));
      } else {
        out[place->second].count += reason.count;
        out[place->second].alike = true;
      }
    }
    return most_frequent(std::move(out), most);
  });
}

}  // namespace stepcast
