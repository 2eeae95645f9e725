#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "calibration/results/probe_results.hpp"
#include "models/collectives/calibrated.hpp"

namespace stepcast {

/// A collective as one or several result files measured it: all samples of equal calls together.
struct ClusterRow {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectivePlace place;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
  CollectiveProtocol protocol = CollectiveProtocol::automatic;
  std::string asked;  ///< algorithm and protocol in words; empty: the library's own choice
  ElementWidth width = ElementWidth::usual;
  bool ping_pong = false;  ///< half of a round trip between two ranks: no collective's curve
  std::vector<double> samples_us;
  int calls_per_sample = 1;                       ///< the fewest of what is pooled
  double median_us = 0, low_us = 0, high_us = 0;  ///< 10 and 90 % of the samples
  double weight = 1;

  [[nodiscard]] int nodes() const { return (place.ranks + place.per_node - 1) / place.per_node; }
  /// Whether it was left to the library, so that a curve of it predicts what a job will meet.
  [[nodiscard]] bool chosen() const { return asked.empty() && !ping_pong; }
  /// "all_reduce of 1048576 bytes, 16 ranks on 2 nodes, ring ll"
  [[nodiscard]] std::string words() const;
};

/// Sets median and percentiles from the samples, and the weight from how wide they lie.
void summarise(ClusterRow& row);

/// Quantile (0 to 1) of values, linear between neighbours; 0 of none.
double quantile_of(std::vector<double> values, double share);

/// Median of the samples of a row of results that has times.
double median_us(const Json& row);

/// Collectives and MPI ping-pongs of result files, samples of equal calls pooled, ordered by call. Rows of algorithms
/// that the model does not know are left out, and said in `notes`.
std::vector<ClusterRow> cluster_rows(const std::vector<ProbeResults>& files, std::vector<std::string>& notes);

/// Mean lateness of one rank in µs (models/collectives/lateness.hpp): of how much later than the tenth percentile calls
/// are on average, median over the rows up to 64 KiB with at least five samples; 0 when there are none. Samples of
/// single calls count where there are any, else those of several, as if each call were late on its own.
double jitter_us(const std::vector<ClusterRow>& rows);

/// A row above both neighbours of its curve (or below) by so much is no step of a protocol but an outlier.
inline constexpr double kSpike = 1.3;

/// Indices of rows that stand out of their curve: time against the sizes beside it.
struct Spike {
  std::size_t row;
  double expected_us;  ///< between its neighbours
};
std::vector<Spike> spikes_of(const std::vector<ClusterRow>& rows);

/// Curves of the rows left to the library, by collective and ranks; rows of weight 0 left out. `across`: of several
/// nodes, else of one. Of each collective on the same ranks one width of elements counts, 16 and 32 bit first, for
/// their times differ.
std::vector<MeasuredCurve> curves_of(const std::vector<ClusterRow>& rows, bool across);

/// What rows of one curve over the sizes share.
inline auto curve_key(const ClusterRow& row) {
  return std::tuple(row.kind, row.ping_pong, row.place.ranks, row.place.per_node, row.asked, row.width);
}

}  // namespace stepcast
