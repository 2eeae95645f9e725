#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "explain/comparison.hpp"

namespace stepcast {

/// One configuration that both sweeps have figures of.
struct SweptPair {
  std::string inputs;  ///< "cluster.nodes=64, strategy.micro_batch=2"
  Seconds before, after;
  std::string most;  ///< part that changed most
  Seconds most_change;
};

/// What differs between the stores of two sweeps.
struct SweepComparison {
  std::string before, after;
  std::int64_t only_before = 0, only_after = 0;  ///< configurations that one of them has figures of
  std::int64_t both = 0, faster = 0, slower = 0;
  double mean_change = 0;             ///< of the step time, geometric mean over pairs, as a share
  Seconds total_before, total_after;  ///< steps of all pairs
  std::vector<PartDifference> parts;  ///< summed over pairs; changes add up to that of the totals
  std::vector<SweptPair> largest;     ///< by relative change, largest first; at most kMostPairs
  std::vector<ChangedKey> rests_on;   ///< versions and hashes that differ
  std::vector<std::string> words;
};

inline constexpr std::size_t kMostPairs = 20;
/// Steps that differ by less are equal.
inline constexpr double kEqualSteps = 1e-6;

/// Whether a file is an SQLite database, by its first bytes.
bool looks_like_store(const std::filesystem::path& file);

/// Compares two stores, configuration by configuration. Throws InputError when one is no store, or they share none.
SweepComparison compare_sweeps(const std::filesystem::path& before, const std::filesystem::path& after);

std::string text_report(const SweepComparison& comparison);
Json to_json(const SweepComparison& comparison);
std::string html_report(const SweepComparison& comparison, const std::string& command);

}  // namespace stepcast
