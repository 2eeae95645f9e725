#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "calibration/validation/csv_table.hpp"

namespace stepcast {

/// A kind of table of measurements, which its header tells.
struct KnownTable {
  std::string_view title;
  std::vector<std::string_view> columns;  ///< that every table of this kind has
  /// Shipped sets of this kind: what else they have beside may stand in others, too.
  std::vector<std::string_view> sets;
};

/// Whether a table has every column of a kind.
bool is_of(const CsvTable& table, const KnownTable& kind);

/// Throws InputError for a table whose columns are those of no kind, with the nearest kind and what it lacks.
[[noreturn]] void refuse_columns(const CsvTable& table);

/// Throws InputError for a table of no known kind, and for one without rows.
void check_measurements(const CsvTable& table);

/// One line that names the columns of a table which nobody reads, with the known ones that they are near to; empty
/// where there are none.
std::string unread_columns(const CsvTable& table);

}  // namespace stepcast
