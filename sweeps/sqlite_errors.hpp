#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <utility>

namespace stepcast {

/// What SQLite found wrong with a store, as InputError (no store, damaged, cannot be opened) or EnvironmentError (disk
/// full, busy, failing). `doing` says what was being done: "read" or "written".
[[noreturn]] void throw_store_error(const std::filesystem::path& file, const SQLite::Exception& error,
                                    const char* doing);

/// Runs `body` and turns SQLite's exceptions into ours.
template <class Body>
decltype(auto) with_store_errors(const std::filesystem::path& file, const char* doing, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (const SQLite::Exception& error) {
    throw_store_error(file, error, doing);
  }
}

}  // namespace stepcast
