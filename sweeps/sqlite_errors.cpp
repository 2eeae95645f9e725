#include "sweeps/sqlite_errors.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include "fields/diagnostics.hpp"
#include "sim/protocol/environment_error.hpp"

namespace stepcast {

void throw_store_error(const std::filesystem::path& file, const SQLite::Exception& error, const char* doing) {
  const std::string name = file.string();
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
      throw InputError({{name, "", "is no result store", "`stepcast sweep … --store FILE` makes one"}});
    case SQLITE_CORRUPT:
    // Our own statements are right: it is the file's tables that are not ours.
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    // Rows of ours are kilobytes: a length that no memory holds is none that we wrote.
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      throw InputError({{name, "", fmt::format("is damaged: {}", error.what()),
                         "take a copy of it, or run the sweep into a new store"}});
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw InputError({{name, "", fmt::format("cannot be {}: {}", doing, error.what()), ""}});
    case SQLITE_FULL:
      throw EnvironmentError(
          fmt::format("{}: the disk is full; what was computed before is in the store, and --resume goes on", name));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw EnvironmentError(fmt::format("{}: another program keeps the store locked", name));
    default:
      throw EnvironmentError(
          fmt::format("{}: cannot be {}: {}; what was committed before is in the store", name, doing, error.what()));
  }
}

}  // namespace stepcast
