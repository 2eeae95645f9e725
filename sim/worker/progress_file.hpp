#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace stepcast {

/// A file that says how far a simulation is: "1234 5678" on one line, operations ended and all, rewritten in place at
/// most twenty times a second. It always has the same length, so a reader sees the old pair or the new one.
class ProgressFile {
 public:
  /// Throws InputError when the file cannot be made.
  explicit ProgressFile(const std::string& file);
  void operator()(std::size_t done, std::size_t all);

 private:
  std::shared_ptr<int> descriptor_;  ///< callbacks are copied
  std::chrono::steady_clock::time_point last_;
};

}  // namespace stepcast
