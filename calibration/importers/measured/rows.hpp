#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/importers/measured/results_builder.hpp"

namespace stepcast {

/// What importers of benchmarks share: numbers, names, and rows of collectives.
inline constexpr double kLargestBuffer = 1e15;

/// The finite number that a whole word is.
std::optional<double> number_of(std::string_view word);

/// A line without the label of the rank that printed it: `[1,0]<stdout>:` of `mpirun --tag-output`, `0: ` of `srun -l`.
std::string_view without_rank_label(std::string_view line);

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

/// By the hosts of each rank, or by what the user says.
MeasuredPlaces places_of(const std::vector<std::string>& host_of_rank, const MeasuredHints& hints);
/// Whether there are ranks; a fault where nothing tells how many.
bool sound(const MeasuredPlaces& places, Diagnostics& diagnostics);

/// A row of the library's own choice.
Json collective_row(const std::string& op, double size, const MeasuredPlaces& places, bool in_place,
                    const std::string& type, std::vector<double> samples);

}  // namespace stepcast
