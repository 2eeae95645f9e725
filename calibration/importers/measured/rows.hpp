#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/measured/results_builder.hpp"

namespace stepcast {

/// What importers of benchmarks share: numbers, names, and rows of collectives.
inline constexpr double kLargestBuffer = 1e15;
inline constexpr double kLongestTime_us = 1e12;  ///< as probe-results.schema.json has it

inline constexpr double kMostCalls = 1e9;

/// The finite number that a whole word is.
std::optional<double> number_of(std::string_view word);

/// Digits behind the point of a number, which a table has alike in all of its rows: fewer in one that is cut.
std::size_t decimals_of(std::string_view word);

/// Whether the last of equal columns has fewer digits behind the point than the one before it: a row that is cut.
bool is_cut(const std::vector<std::string_view>& row);

/// Whether a line holds words that no column has, as `2 total processes killed`; Pass, Fail, N/A and the like are
/// cells.
bool is_prose(const std::vector<std::string_view>& words);

/// Another tool's name of something, and ours.
struct NamePair {
  std::string_view theirs, ours;
};

/// A number or a text of an object; the default where it has none.
double figure(const Json& object, const char* key, double otherwise = 0);
std::string words(const Json& object, const char* key);

/// Where the ranks of a measured collective were.
struct MeasuredPlaces {
  int ranks = 0, nodes = 0, per_node = 0;
};

/// By the hosts of each rank, else by what the user says. Places of no ranks, with a fault, where the two differ, where
/// nodes are not full, or where nothing tells how many there are.
MeasuredPlaces places_of(const std::vector<std::string>& host_of_rank, const MeasuredHints& hints,
                         const std::string& at, Diagnostics& diagnostics);

/// A row of the library's own choice.
Json collective_row(const std::string& op, double size, const MeasuredPlaces& places, bool in_place,
                    const std::string& type, std::vector<double> samples);

/// A row of half a round trip between two processes over MPI.
Json ping_pong_row(double size, int nodes, double time_us);

}  // namespace stepcast
