#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/importers/measured/results_builder.hpp"

namespace stepcast {

/// What importers of power readings share: devices with their readings, and the names of columns.
inline constexpr double kMostWatts = 1e7;

/// The finite number that a text begins with: `71.20 W`.
std::optional<double> leading_number(std::string_view text);

/// What a column of a table, or a metric, holds.
enum class PowerColumn { other, time, host, device, identity, name, watts, utilization, clock, temperature, limit };

/// Readings of one device.
struct Readings {
  std::vector<double> watts, seconds, utilization, clock, temperature;
  std::optional<double> limit;

  /// What a column holds; those of no reading are passed over.
  void add(PowerColumn column, double value);
};

/// Readings by device, in the order of the file, and the rows that they give.
class Devices {
 public:
  Devices(std::string source, const MeasuredHints& hints, ResultsBuilder& results)
      : source_(std::move(source)), hints_(hints), results_(results) {}

  Readings& of(const std::string& device);
  /// Adds a row for each device with power; a fault where there is none. `expected` is said then.
  void finish(Diagnostics& diagnostics, const std::string& expected = {});

 private:
  [[nodiscard]] Json row_of(const std::string& name, const Readings& r) const;

  std::string source_;
  const MeasuredHints& hints_;
  ResultsBuilder& results_;
  std::vector<std::pair<std::string, Readings>> found_;
};

/// A known column's meaning. Of several columns of power the one with the lowest rank is the best.
struct KnownColumn {
  PowerColumn column = PowerColumn::other;
  std::size_t rank = 0;
  std::string unit;  ///< of power, as the header names it; empty: it does not
};
/// What a header means, in capitals or small letters. Columns of a state or a bound of power are no readings of it.
KnownColumn column_of(std::string_view header);

/// Whether a name in small letters that has `power` in it names no power that is drawn: a state, a limit, an extreme.
bool is_bound_or_state(std::string_view low);

/// Watts in one of a unit of power (W, kW, mW); nothing of others.
std::optional<double> watts_in(std::string_view unit);

/// `gpu3` of `3`; other names as they are.
std::string gpu_name(const std::string& cell);

}  // namespace stepcast
