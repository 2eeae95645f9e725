#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>
#include <vector>

#include "sweeps/definition.hpp"

namespace stepcast {

/// Writes tables and identity into an empty database, in one transaction.
void create_store(SQLite::Database& database, const SweepIdentity& identity, const SweepPoints& points);

/// Throws InputError when the database is no store, or one of another format.
void require_store(SQLite::Database& database, const std::filesystem::path& file);

SweepIdentity read_identity(SQLite::Database& database, const std::filesystem::path& file);

/// A name as SQL wants it, whatever it holds.
std::string quoted_name(std::string_view name);

}  // namespace stepcast
