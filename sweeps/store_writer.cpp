#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "sweeps/result_store.hpp"
#include "sweeps/sqlite_errors.hpp"
#include "sweeps/store_lock.hpp"
#include "sweeps/store_schema.hpp"

namespace stepcast {

namespace {

/// A reader that exports a million rows holds a commit up for as long.
constexpr int kWriterPatience = 600'000;  // ms

bool is_there(const std::filesystem::path& file) {
  std::error_code error;
  return std::filesystem::exists(file, error) && std::filesystem::file_size(file, error) > 0;
}

void require_absent(const std::filesystem::path& file, StoreMode mode) {
  if (mode == StoreMode::fresh && is_there(file))
    throw InputError({{file.string(), "", "is there already", "--resume goes on with it; or name another file"}});
}

/// Which part of an identity differs, in words.
std::string difference(const SweepIdentity& stored, const SweepIdentity& wanted) {
  if (stored.version != wanted.version)
    return fmt::format("was computed by version {}, this is {}", stored.version, wanted.version);
  if (stored.catalog_hash != wanted.catalog_hash)
    return fmt::format("was computed with another catalogue or calibration ({}, now {})", stored.catalog_hash,
                       wanted.catalog_hash);
  if (stored.models_hash != wanted.models_hash)
    return fmt::format("was computed with other framework profiles or model presets ({}, now {})", stored.models_hash,
                       wanted.models_hash);
  const Json before = Json::parse(stored.definition, nullptr, false);
  const Json now = Json::parse(wanted.definition, nullptr, false);
  if (before.is_object() && before.value("scenario", Json()) != now.value("scenario", Json()))
    return "holds a sweep of another scenario";
  if (before.is_object() && before.value("axes", Json()) != now.value("axes", Json()))
    return "holds a sweep of other values";
  return "holds another sample of the grid";
}

void require_same(const std::filesystem::path& file, const SweepIdentity& stored, const SweepIdentity& wanted) {
  if (stored.definition == wanted.definition && stored.version == wanted.version &&
      stored.catalog_hash == wanted.catalog_hash && stored.models_hash == wanted.models_hash)
    return;
  throw InputError({{file.string(), "", difference(stored, wanted), "name another store; this one is as it was"}});
}

/// Damage is found before anything is computed.
void require_intact(SQLite::Database& database, const std::filesystem::path& file) {
  const std::string answer = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (answer != "ok")
    throw InputError({{file.string(), "", fmt::format("is damaged: {}", answer), "run the sweep into a new store"}});
}

std::string insertion(std::size_t inputs) {
  const std::size_t columns = 1 + inputs + 2 + figure_columns().size() + kWordColumns.size();
  std::string out = "INSERT INTO points VALUES (?";
  for (std::size_t i = 1; i < columns; ++i) out += ",?";
  return out + ")";
}

/// Numbers and words as such; what SQL has no type for as JSON text.
void bind_value(SQLite::Statement& insert, int column, const Json& value) {
  if (value.is_number_integer()) {
    insert.bind(column, value.get<std::int64_t>());
  } else if (value.is_number()) {
    insert.bind(column, value.get<double>());
  } else if (value.is_string()) {
    insert.bind(column, value.get_ref<const std::string&>());
  } else {
    insert.bind(column, value.dump());
  }
}

void bind_figure(SQLite::Statement& insert, int column, const FigureColumn& figure, double value) {
  if (std::isnan(value)) {
    insert.bind(column);
  } else if (figure.kind == FigureKind::number) {
    insert.bind(column, value);
  } else {
    insert.bind(column, static_cast<std::int64_t>(value));
  }
}

}  // namespace

struct StoreWriter::Impl {
  explicit Impl(const std::filesystem::path& store) : file(store), lock(store) {}

  std::filesystem::path file;
  StoreLock lock;
  std::unique_ptr<SQLite::Database> database;
  std::optional<SQLite::Statement> insert;
  bool open_transaction = false;
  StoreCounts counts;
  std::vector<const Json*> values;

  void begin() {
    if (!open_transaction) database->exec("BEGIN IMMEDIATE");
    open_transaction = true;
  }
};

StoreWriter::StoreWriter(const std::filesystem::path& file, const SweepIdentity& identity, std::int64_t points,
                         StoreMode mode) {
  require_absent(file, mode);
  impl_ = std::make_unique<Impl>(file);
  require_absent(file, mode);  // another sweep may have made it meanwhile
  with_store_errors(file, "written", [&] {
    const bool fresh = !is_there(file);
    impl_->database = std::make_unique<SQLite::Database>(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE,
                                                         kWriterPatience);
    SQLite::Database& database = *impl_->database;
    // A kill loses nothing in either mode; NORMAL leaves a small risk to a power failure, and is much faster.
    database.exec("PRAGMA synchronous = NORMAL");
    const SweepPoints axes = points_of(identity.definition);
    if (fresh) {
      create_store(database, identity, axes);
    } else {
      require_store(database, file);
      require_intact(database, file);
      require_same(file, read_identity(database, file), identity);
    }
    impl_->insert.emplace(database, insertion(axes.paths().size()));
  });
  impl_->counts.points = points;
}

StoreWriter::~StoreWriter() = default;

std::vector<bool> StoreWriter::done() const {
  return with_store_errors(impl_->file, "read", [&] {
    std::vector<bool> out(static_cast<std::size_t>(impl_->counts.points));
    StoreCounts counts{impl_->counts.points};
    SQLite::Statement select(*impl_->database, "SELECT point, status FROM points");
    while (select.executeStep()) {
      const auto point = static_cast<std::size_t>(select.getColumn(0).getInt64());
      const std::string_view status = select.getColumn(1).getText();
      if (point < out.size()) out[point] = true;
      ++(status == name_of(PointStatus::ok)        ? counts.ok
         : status == name_of(PointStatus::invalid) ? counts.invalid
                                                   : counts.failed);
    }
    impl_->counts = counts;
    return out;
  });
}

const StoreCounts& StoreWriter::counts() const { return impl_->counts; }

void StoreWriter::forget_failed() {
  with_store_errors(impl_->file, "written",
                    [&] { impl_->database->exec("DELETE FROM points WHERE status = 'failed'"); });
}

void StoreWriter::add(const SweepPoints& points, const SweepRow& row) {
  with_store_errors(impl_->file, "written", [&] {
    impl_->begin();
    SQLite::Statement& insert = *impl_->insert;
    int column = 1;
    insert.bind(column++, row.point);
    points.values(row.point, impl_->values);
    for (const Json* value : impl_->values) bind_value(insert, column++, *value);
    insert.bind(column++, EnumNames<PointStatus>::names[static_cast<std::size_t>(row.status)]);
    if (row.status == PointStatus::ok) {
      insert.bind(column++);
      for (std::size_t i = 0; i < row.figures.size(); ++i)
        bind_figure(insert, column++, figure_columns()[i], row.figures[i]);
      for (const std::string& word : row.words) insert.bindNoCopy(column++, word);
    } else {
      insert.bindNoCopy(column++, row.error);
    }
    insert.exec();
    insert.reset();
    insert.clearBindings();
  });
  ++(row.status == PointStatus::ok        ? impl_->counts.ok
     : row.status == PointStatus::invalid ? impl_->counts.invalid
                                          : impl_->counts.failed);
}

void StoreWriter::commit() {
  if (!impl_->open_transaction) return;
  with_store_errors(impl_->file, "written", [&] { impl_->database->exec("COMMIT"); });
  impl_->open_transaction = false;
}

}  // namespace stepcast
