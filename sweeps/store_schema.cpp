#include "sweeps/store_schema.hpp"

#include <fmt/format.h>

#include "sweeps/result_store.hpp"

namespace stepcast {

namespace {

/// Names of the columns of `points` that are not inputs.
std::string result_columns() {
  std::string out = "status TEXT NOT NULL, error TEXT";
  for (const FigureColumn& column : figure_columns())
    out += fmt::format(", {} {}", quoted_name(column.name), column.kind == FigureKind::number ? "REAL" : "INTEGER");
  for (const char* word : kWordColumns) out += fmt::format(", {} TEXT", quoted_name(word));
  return out;
}

void put(SQLite::Database& database, const char* key, const std::string& value) {
  SQLite::Statement insert(database, "INSERT INTO sweep VALUES (?, ?)");
  insert.bind(1, key);
  insert.bindNoCopy(2, value);
  insert.exec();
}

std::string get(SQLite::Database& database, const char* key, const std::filesystem::path& file) {
  SQLite::Statement select(database, "SELECT value FROM sweep WHERE key = ?");
  select.bind(1, key);
  if (!select.executeStep())
    throw InputError({{file.string(), "", fmt::format("is damaged: its table sweep lacks {}", key), ""}});
  return select.getColumn(0).getString();
}

constexpr const char* kProvenance[] = {"version", "catalog_hash", "models_hash"};

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

void create_store(SQLite::Database& database, const SweepIdentity& identity, const SweepPoints& points) {
  SQLite::Transaction transaction(database);
  database.exec(fmt::format("PRAGMA application_id = {}", kStoreApplicationId));
  database.exec(fmt::format("PRAGMA user_version = {}", kStoreFormatVersion));
  database.exec("CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
  std::string inputs;
  for (const std::string& path : points.paths()) inputs += quoted_name(path) + ", ";
  database.exec(fmt::format("CREATE TABLE points (point INTEGER PRIMARY KEY, {}{})", inputs, result_columns()));
  std::string provenance;
  for (const char* key : kProvenance)
    provenance += fmt::format(", (SELECT value FROM sweep WHERE key = '{0}') AS {0}", key);
  database.exec(fmt::format("CREATE VIEW results AS SELECT points.*{} FROM points", provenance));
  put(database, "definition", identity.definition);
  put(database, "file", identity.file);
  put(database, "version", identity.version);
  put(database, "catalog_hash", identity.catalog_hash);
  put(database, "models_hash", identity.models_hash);
  transaction.commit();
}

void require_store(SQLite::Database& database, const std::filesystem::path& file) {
  const int application = database.execAndGet("PRAGMA application_id").getInt();
  if (application != kStoreApplicationId)
    throw InputError(
        {{file.string(), "", "is a database, but no result store", "`stepcast sweep … --store FILE` makes one"}});
  const int version = database.execAndGet("PRAGMA user_version").getInt();
  if (version != kStoreFormatVersion)
    throw InputError({{file.string(), "",
                       fmt::format("is a result store of format {}, but this version of Stepcast reads format {}",
                                   version, kStoreFormatVersion),
                       version > kStoreFormatVersion ? "update Stepcast" : "read it with the version that wrote it"}});
}

SweepIdentity read_identity(SQLite::Database& database, const std::filesystem::path& file) {
  return {get(database, "definition", file), get(database, "file", file), get(database, "version", file),
          get(database, "catalog_hash", file), get(database, "models_hash", file)};
}

}  // namespace stepcast
