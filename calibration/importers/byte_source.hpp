#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>

namespace stepcast {

/// The bytes of a file, decompressed on the way when it is a gzip file, and never more of them than a bound: a few
/// kilobytes can expand to any size.
class ByteSource {
 public:
  /// Throws InputError when the file cannot be read.
  ByteSource(const std::filesystem::path& file, std::size_t most_bytes);
  ~ByteSource();
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  /// Reads `count` bytes, or fewer at the end of the file. Throws InputError when the compressed file is damaged or
  /// ends too early, and past the bound.
  std::size_t read(char* to, std::size_t count);
  /// Bytes read so far.
  [[nodiscard]] std::size_t position() const { return position_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::size_t position_ = 0;
};

}  // namespace stepcast
