#pragma once

#include <filesystem>
#include <optional>

#include "fields/json_text.hpp"

namespace stepcast {

/// Changes that nobody has saved yet.
struct UnsavedWork {
  std::filesystem::path file;  ///< that they were made to; empty: a scenario of no file
  Json document;               ///< with them
};

/// The copy of unsaved work that a window keeps, so that a crash loses nothing: one file of this process beside the
/// program's data, written while the user works, gone when he leaves.
class UnsavedCopy {
 public:
  /// Writes the copy, whole or not at all. Throws InputError when it cannot be written.
  static void keep(const UnsavedWork& work);
  static void remove();
  /// The latest copy that a program which does not run any more left behind; it is this process's own from now on.
  /// Empty when there is none. One that cannot be read is removed.
  static std::optional<UnsavedWork> take_over();
};

}  // namespace stepcast
