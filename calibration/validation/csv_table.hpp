#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/diagnostics.hpp"

namespace stepcast {

/// Limit on one CSV file; past it the file is refused, whatever it holds.
inline constexpr std::size_t kMostCsvBytes = 64u << 20;

/// A field with the place where it starts, both counted from 1.
struct CsvField {
  std::string text;
  int line = 1, column = 1;
};

/// A CSV file with a header, as RFC 4180 has it: quoted fields may hold commas, quotes (doubled) and line breaks; lines
/// end in CRLF or LF; lines of nothing but blanks are skipped, as are blanks around fields that are not quoted.
struct CsvTable {
  std::string file;
  std::vector<CsvField> header;
  std::vector<std::vector<CsvField>> rows;  ///< each as long as the header
  /// Place of a column in every row; null when the header has none of this name.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;
};

/// Reads a table. Throws InputError with every fault found, each at `file:line:column`.
CsvTable parse_csv(std::string_view text, const std::string& file);
CsvTable read_csv(const std::filesystem::path& file);

/// The fields of one row by column name. What is not what was asked for is a fault at the field's place. Blank fields
/// and absent columns are the same: the source does not say.
class CsvRow {
 public:
  CsvRow(const CsvTable& table, std::size_t row, std::vector<Fault>& faults)
      : table_(table), fields_(table.rows[row]), faults_(faults) {}

  [[nodiscard]] int line() const { return fields_.front().line; }
  [[nodiscard]] const CsvTable& table() const { return table_; }
  /// Another row of the same table.
  [[nodiscard]] CsvRow sibling(std::size_t row) const { return {table_, row, faults_}; }
  [[nodiscard]] std::string text(std::string_view column) const;
  /// Positive numbers; a figure of a run is never zero or less. Null where the field says that it is not known ("N/A"),
  /// and for degrees, experts and servers of 0, which are none.
  [[nodiscard]] std::optional<double> number(std::string_view column) const;
  [[nodiscard]] std::optional<long> whole(std::string_view column) const;
  /// The same, where a row without it cannot be read; 1 after a fault.
  [[nodiscard]] double required_number(std::string_view column) const;
  [[nodiscard]] long required_whole(std::string_view column) const;
  void fault(std::string_view column, std::string message, std::string suggestion = {}) const;

 private:
  template <typename Number>
  [[nodiscard]] Number required(std::string_view column, std::optional<Number> found, std::string_view what) const;

  const CsvTable& table_;
  const std::vector<CsvField>& fields_;
  std::vector<Fault>& faults_;
};

/// Throws InputError with every fault that was collected, each once: several readers may look at one field.
void throw_if_faulty(std::vector<Fault> faults);

}  // namespace stepcast
