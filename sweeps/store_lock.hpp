#pragma once

#include <filesystem>

namespace stepcast {

/// Keeps a second sweep off a store: an advisory lock (flock) on `STORE.lock` beside it, which ends with the process
/// however it ends. SQLite's own locks would keep readers off, too.
class StoreLock {
 public:
  /// Throws EnvironmentError when another process holds it, InputError when the folder cannot be written.
  explicit StoreLock(const std::filesystem::path& store);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace stepcast
