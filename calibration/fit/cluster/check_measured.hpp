#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/collectives/measured_collective.hpp"
#include "calibration/fit/cluster/fit_collectives.hpp"

namespace stepcast {

/// How well fits of some of a system's collectives predict its others.
struct SystemCheck {
  std::string system;
  std::size_t rows = 0;
  std::vector<double> large, small;  ///< ratios of every other size, from 1 MiB and below
  std::vector<double> nodes;         ///< of other node counts than two
  std::vector<double> three;         ///< of all sizes but three of each operation
  std::string seen_nodes;            ///< "2 and 8 nodes"; empty: too few counts
  /// What a fit of all rows finds wrong with places (place_findings.hpp); nothing: it has no two numbers of nodes.
  std::optional<std::vector<std::string>> findings;
};

/// Fits each system's healthy rows on every other size, on two of its node counts, and on three sizes of each operation
/// (nearest to 64 bytes, 1 MiB and 1 GiB), and predicts the rest. Systems are told apart by what their tables state,
/// libraries and settings included.
std::vector<SystemCheck> check_measured(const std::vector<MeasuredCollective>& rows);

/// The systems and all of them together, as scores.
std::vector<HeldOutScore> scores_of(const std::vector<SystemCheck>& systems);
std::string check_text(const std::vector<SystemCheck>& systems);
Json check_json(const std::vector<SystemCheck>& systems);

}  // namespace stepcast
