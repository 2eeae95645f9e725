#pragma once

#include "calibration/fit/cluster/cluster_model.hpp"
#include "calibration/profile/calibration_profile.hpp"

namespace stepcast {

/// A fitted model of a cluster's collectives with its measured curves.
struct ClusterFit {
  ClusterModel model;
  std::vector<ClusterConstant> constants;
  std::vector<double> values;  ///< one for each constant
  std::vector<double> place;   ///< of the search, to start another fit from
  Calibrated inside, across;   ///< curves only; the rest is the caller's
  /// Time of a call: measured, or the model scaled (calibrated_time).
  [[nodiscard]] CalibratedTime time(const ClusterRow& row) const;
};

/// Fits the constants to the rows by robust least squares of logarithms, drawn to the catalogue's (prior_fit.hpp). With
/// one count of nodes only, what makes times grow with nodes keeps the catalogue's value: start and hop cannot be told
/// apart there. Where messages in host memory change from eager to rendezvous is searched among powers of two. Rows of
/// weight 0 do not count.
ClusterFit fit_collectives(const ClusterModel& model, const std::vector<ClusterRow>& rows);

/// Numbers of nodes above one that rows were measured on, ascending.
std::vector<int> node_counts(const std::vector<ClusterRow>& rows);

/// Of each constant the number of rows whose time moves by a hundredth or more when the constant moves by its spread.
/// What no row tells stays the catalogue's.
std::vector<std::size_t> rows_telling(const ClusterFit& fit, const std::vector<ClusterRow>& rows);

/// |ln time| by which a spread of a constant must move a row to be told by it: samples vary by as much.
inline constexpr double kTells = 0.01;

/// Rows from which the eager limit of messages in host memory is searched, instead of the catalogue's.
inline constexpr std::size_t kRowsForLimit = 12;

/// Refits from which quantiles of 16 and 84 % say something.
inline constexpr int kFewestRefits = 10;

/// Of fits of which no row was left out.
inline constexpr std::string_view kTooFewToTest = "too few rows to test how far to trust the fit";

/// 68 % intervals: quantiles of refits to rows drawn with replacement, samples of each row and the values that
/// constants are drawn to drawn too (randomised maximum a posteriori; Bardsley et al. 2014). The same rows give the
/// same intervals.
struct FitInterval {
  double low = 0, high = 0;
};
/// Of the values that refits gave, and the fit's own, which it holds; that alone where there are none.
FitInterval interval_around(double value, const std::vector<double>& refits);
std::vector<FitInterval> bootstrap(const ClusterFit& fit, const std::vector<ClusterRow>& rows, int refits);

/// Errors on sizes that a fit of every other size did not see, from 1 MiB and below, and on the largest count of nodes
/// that a fit of the others did not see. Empty where there are too few rows to leave any out.
std::vector<HeldOutScore> held_out_scores(const ClusterModel& model, const std::vector<ClusterRow>& rows);

/// Predicted over measured of some rows, as a score.
HeldOutScore score_of(std::string what, const std::vector<double>& ratios);

/// Ratios predicted over measured of the sizes of each curve that `kept` leaves out of the fit, from 1 MiB on and
/// below.
struct SizeRatios {
  std::vector<double> large, small;
};
SizeRatios size_ratios(const ClusterModel& model, const std::vector<ClusterRow>& rows,
                       const std::function<std::vector<bool>(const std::vector<double>& sizes)>& kept);
/// Every second size, from the first.
std::vector<bool> every_other(const std::vector<double>& sizes);
/// The same of all rows of other numbers of nodes than a fit has seen.
std::vector<double> node_ratios(const ClusterModel& model, const std::vector<ClusterRow>& rows,
                                const std::vector<int>& seen);

}  // namespace stepcast
