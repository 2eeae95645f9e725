#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "calibration/collectives/measured_collective.hpp"
#include "calibration/validation/accuracy_figures.hpp"

namespace stepcast {

/// Ranges of sizes in which errors are told apart: up to 1 KiB, up to 64 KiB, below 16 MiB, and from there.
inline constexpr std::size_t kSizeRanges = 4;
inline constexpr std::array<std::string_view, kSizeRanges> kSizeRangeNames{"<= 1 KiB", "1-64 KiB", "64 KiB-16 MiB",
                                                                           ">= 16 MiB"};
std::size_t size_range(Bytes size);

/// A row with its prediction.
struct PredictedCollective {
  MeasuredCollective row;
  double predicted_us = 0;  ///< of one call, as time_us of the row
  [[nodiscard]] double ratio() const { return predicted_us / row.time_us; }
};

/// Errors of some rows, in per cent; bias > 0: predicted too slow.
struct ErrorFigures {
  std::size_t rows = 0;
  std::optional<double> mean, median, p90, max, bias;
};

/// One line of a report: a place, an operation or all of them, by range and over all ranges.
struct CollectiveLine {
  std::string where;
  std::string operation;  ///< "all", or a kind's name
  std::array<ErrorFigures, kSizeRanges> ranges;
  ErrorFigures all;
};

/// A healthy row, for drawings.
struct CollectivePoint {
  int line = 0;             ///< of the file
  std::string accelerator;  ///< catalogue id; "processors" where hosts exchange
  MeasuredWhere where = MeasuredWhere::node_native;
  double predicted_us = 0, measured_us = 0;
};

/// How well a set of collectives is predicted: healthy rows only; the others count apart.
struct CollectiveScore {
  std::string name;
  std::size_t rows = 0, covered = 0, unhealthy = 0;  ///< rows of the set; those that can be predicted; those left out
  std::map<std::string, int> reasons;                ///< rows by why they are left out
  ErrorFigures all;
  std::optional<double> kendall_tau;
  std::vector<CollectiveLine> lines;                 ///< of places, then of operations in them
  std::map<std::string, ErrorFigures> accelerators;  ///< by catalogue id
  std::vector<CollectivePoint> points;
  std::vector<PredictedCollective> worst;
};

ErrorFigures error_figures(const std::vector<double>& ratios);
CollectiveScore score_collectives(const std::string& name, std::vector<MeasuredCollective> rows);

/// The set's figures under the names that all sets share.
AccuracyFigures accuracy_of(const CollectiveScore& set);

/// Plain text of at most 110 columns, and JSON in the form of all sets' with `ranges` beside.
std::string collective_validation_text(const std::vector<CollectiveScore>& sets);
Json collective_validation_json(const CollectiveScore& set);

}  // namespace stepcast
