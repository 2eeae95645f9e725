#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>

#include "sweeps/row.hpp"

namespace stepcast {

/// A file of rows, one JSON object a line, that one task appends to while another process reads it. What a killed task
/// had written of its last line is no row.
class RowWriter {
 public:
  /// Goes on after the last whole line. Throws EnvironmentError when the file cannot be written.
  explicit RowWriter(const std::filesystem::path& file);
  /// Appends rows and hands them to the system, so that they outlive this process.
  void add(const std::vector<SweepRow>& rows);

 private:
  std::filesystem::path file_;
  std::ofstream out_;
};

/// Reads whole lines of a row file from `offset` on, and moves the offset behind them. A file that is not there has no
/// rows. Throws EnvironmentError for a whole line that is no row.
void read_rows(const std::filesystem::path& file, std::uintmax_t& offset, const std::function<void(SweepRow)>& take);

}  // namespace stepcast
