#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/prediction.hpp"

namespace stepcast {

/// What became of a configuration. `invalid`: it is not legal, and the error says why. `failed`: its evaluation broke.
enum class PointStatus { ok, invalid, failed };
template <>
struct EnumNames<PointStatus> {
  static constexpr std::array names{"ok", "invalid", "failed"};
};

enum class FigureKind { number, whole, truth };

/// A column of figures; named as in the JSON report, nested names joined by dots.
struct FigureColumn {
  std::string name;
  FigureKind kind = FigureKind::number;
  double (*read)(const Prediction&, int index) = nullptr;  ///< NaN when unknown
  int index = 0;                                           ///< of columns that differ by a number alone
};

const std::vector<FigureColumn>& figure_columns();
/// Columns of words, after the figures.
inline constexpr std::array kWordColumns{"evidence.grade", "largest_loss"};

/// The result of one configuration.
struct SweepRow {
  std::int64_t point = 0;
  PointStatus status = PointStatus::ok;
  std::string error;            ///< why there are no figures
  std::vector<double> figures;  ///< in order of figure_columns(); empty with an error
  std::array<std::string, kWordColumns.size()> words;
};

SweepRow row_of(std::int64_t point, const Prediction& prediction);
/// A configuration that is not legal: its faults as one text, without the name of the file.
SweepRow invalid_row(std::int64_t point, const std::vector<Fault>& faults);
SweepRow failed_row(std::int64_t point, std::string error);

}  // namespace stepcast
