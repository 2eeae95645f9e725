#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// A file that could be opened and not be filled: the disk is full or fails. Exit code 3, where bad names are bad
/// input.
class DiskError : public InputError {
 public:
  using InputError::InputError;
};

/// A file that is written piece by piece under a temporary name beside its own and appears whole on commit(). Without
/// commit, nothing appears. What a link points to is written; devices and pipes take the text as it comes. Throws
/// InputError naming the file when something cannot be written, DiskError where the disk is full.
class StreamedFile {
 public:
  explicit StreamedFile(const std::filesystem::path& file);
  ~StreamedFile();
  StreamedFile(const StreamedFile&) = delete;
  StreamedFile& operator=(const StreamedFile&) = delete;

  /// Appends a text. What was written before a fault is lost with the temporary file.
  void write(std::string_view text);
  /// Puts the file in its place; nothing may be written afterwards.
  void commit();

 private:
  void open_in_place();
  void open_temporary();
  [[noreturn]] void fail(int error);

  std::filesystem::path file_;    ///< as named, for messages
  std::filesystem::path target_;  ///< what a link of that name points to
  std::string temporary_;
  std::FILE* stream_ = nullptr;
};

}  // namespace stepcast
