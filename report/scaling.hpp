#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/prediction.hpp"

namespace stepcast {

/// How the batch follows the size: weak keeps what a device works on, strong keeps the global batch.
enum class ScalingMode { weak, strong };
template <>
struct EnumNames<ScalingMode> {
  static constexpr std::array names{"weak", "strong"};
};

/// One size of a study: a prediction, or why there is none.
struct ScalingRow {
  int nodes = 0;
  long global_batch = 0;  ///< 0 when the size has no whole batch
  std::optional<Prediction> prediction;
  std::vector<Fault> faults;  ///< when there is no prediction
  double efficiency = 0;      ///< throughput per node over that of the smallest legal size
  std::optional<double>
      marginal_efficiency;  ///< of the nodes added since the legal size before, against the smallest size
};

/// Throughput over the size of the cluster.
struct Scaling {
  std::string scenario_name;
  ScalingMode mode = ScalingMode::strong;
  std::vector<ScalingRow> rows;  ///< by size, ascending
  /// The last legal size before adding nodes stops paying; null when it pays up to the largest.
  std::optional<int> pays_until;
};

/// Added nodes pay while each gives at least this share of the throughput of a node of the smallest legal size.
inline constexpr double kMarginalEfficiencyThatPays = 0.5;

/// Fills in efficiencies and where adding nodes stops paying. Rows carry nodes and their prediction or faults.
Scaling scaling_of(std::string scenario_name, ScalingMode mode, std::vector<ScalingRow> rows);

/// The largest loss of a step in words, and its share of the step.
std::pair<std::string, double> largest_loss(const Prediction& prediction);

std::string scaling_text(const Scaling& scaling);
Json scaling_json(const Scaling& scaling);
std::string scaling_csv(const Scaling& scaling);
std::string scaling_svg(const Scaling& scaling);

}  // namespace stepcast
