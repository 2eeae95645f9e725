#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Changes that nobody has saved yet.
struct UnsavedWork {
  std::filesystem::path file;  ///< that they were made to; empty: a scenario of no file
  Json document;               ///< with them
};

/// A copy of unsaved work that nobody can read, kept under another name for whoever can mend it.
struct UnreadableCopy {
  std::filesystem::path file;
  std::string why;
};

/// What programs that ended left behind.
struct LeftBehind {
  std::optional<UnsavedWork> work;
  std::vector<UnreadableCopy> unreadable;  ///< met on the way to it
};

/// The copy of unsaved work that a window keeps, so that a crash loses nothing: one file of this process beside the
/// program's data, written while the user works, gone when he leaves.
class UnsavedCopy {
 public:
  /// Writes the copy, whole or not at all. Throws InputError when it cannot be written.
  static void keep(const UnsavedWork& work);
  static void remove();
  /// The latest copy that a program which does not run any more left behind; it is this process's own from now on.
  /// Copies that cannot be read are renamed (*.unreadable), and never offered again.
  static LeftBehind take_over();
};

}  // namespace stepcast
