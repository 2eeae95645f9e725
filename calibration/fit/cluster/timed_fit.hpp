#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/cluster/fit_collectives.hpp"
#include "calibration/fit/cluster/rate_fit.hpp"
#include "calibration/fit/prior_fit.hpp"
#include "calibration/profile/calibration_profile.hpp"

namespace stepcast {

/// A measured operation of a device.
struct TimedRow {
  std::string words;   ///< what was measured
  std::string place;   ///< where (place_of)
  std::string format;  ///< rows of one format in one place are off by about the same
  RowSamples samples_us;
  double measured_us = 0;  ///< their median
  bool counts = true;      ///< false: an outlier, which tells no constant
};

/// How constants make the times of some rows.
struct TimedModel {
  std::vector<PriorConstant> constants;
  /// Writes the times in µs of the rows that depend on a constant (by index; every row: −1) for the constants' values;
  /// leaves the others as they are.
  std::function<void(const std::vector<double>& values, int constant, std::vector<double>& times_us)> predict;
};

/// What a fit of a device's constants to its rows found.
struct TimedFit {
  std::vector<double> values;        ///< of each constant; the catalogue's where no row tells it
  std::vector<std::size_t> telling;  ///< rows whose time a spread of the constant moves by a hundredth
  std::vector<FitInterval> intervals;
  std::vector<double> times_us;  ///< of each row, by the values
};

/// Fits a model's constants to rows by robust least squares of logarithms, drawn to the catalogue's (prior_fit.hpp).
/// Rows that lie far from what the fit of the others says (far_rows.hpp) are marked as such, and do not count.
/// Intervals come from so many refits to rows, samples and priors drawn anew, as those of collectives (bootstrap,
/// fit_collectives.hpp); of 0 they are the values.
TimedFit fit_times(const TimedModel& model, std::vector<TimedRow>& rows, int refits);

/// Adds the rows that do not count to a calibration's outliers, `kind` before their words.
void add_outliers(CalibrationProfile& profile, const char* kind, const std::vector<TimedRow>& rows,
                  const TimedFit& fit);

/// Adds the constants of an entry (kind and id) to a calibration, keys behind a prefix; returns the keys that rows
/// tell.
std::vector<std::string> add_timed_constants(CalibrationProfile& profile, const std::string& entry,
                                             const std::string& prefix, const TimedModel& model, const TimedFit& fit);

/// The error on rows that a fit of those `seen` has not; rows that do not count are neither.
HeldOutScore held_out_times(const TimedModel& model, const std::vector<TimedRow>& rows, const std::vector<bool>& seen,
                            const char* what);

}  // namespace stepcast
