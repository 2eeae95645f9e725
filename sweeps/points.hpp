#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fields/json_text.hpp"

namespace stepcast {

/// Values of the scenario that change together: one axis of a grid has one path, axes walked side by side are one.
struct SweepAxis {
  std::vector<std::string> paths;       ///< `cluster.nodes`, as `--set` names them
  std::vector<std::vector<Json>> rows;  ///< the values of one position, one a path
};

/// A sample of a grid: `count` of its points, each at most once.
struct RandomSample {
  std::int64_t count = 0;
  std::uint64_t seed = 1;
};

/// The points of a sweep: every combination of its axes, the last axis fastest, or a sample of them in the same order.
/// Points are made when they are asked for, so a million takes no memory.
class SweepPoints {
 public:
  /// Faults: no axis, a path given twice (also in other case: columns of a table do not tell them apart), more than
  /// kMostPoints, a sample larger than the grid.
  SweepPoints(std::vector<SweepAxis> axes, std::optional<RandomSample> sample, Diagnostics& diagnostics);

  [[nodiscard]] std::int64_t size() const { return size_; }
  /// Paths of all axes, in order.
  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  /// The values of a point, one a path. References stay valid as long as this.
  void values(std::int64_t point, std::vector<const Json*>& out) const;
  [[nodiscard]] const std::vector<SweepAxis>& axes() const { return axes_; }
  [[nodiscard]] const std::optional<RandomSample>& sample() const { return sample_; }

 private:
  std::vector<SweepAxis> axes_;
  std::optional<RandomSample> sample_;
  std::vector<std::string> paths_;
  std::vector<std::int64_t> chosen_;  ///< of a sample: places in the grid, ascending
  std::int64_t size_ = 0;
};

/// Most points of a grid, and of a sweep.
inline constexpr std::int64_t kMostGridPoints = 1'000'000'000'000'000;
inline constexpr std::int64_t kMostPoints = 100'000'000;

/// What a user writes: `--set path=LIST` (repeated), `--values FILE`, `--zip`, `--random N --seed S`.
struct SweepRequest {
  std::vector<std::string> sets;
  std::optional<std::filesystem::path> values_file;
  bool zip = false;  ///< the lists of `sets` advance together; a single value goes with all
  std::optional<RandomSample> sample;
};

/// Reads a request. Throws InputError with every fault.
SweepPoints read_points(const SweepRequest& request);

/// Combinations listed in a file, each row one: CSV with a header of paths, JSON (an array of objects from path to
/// value) or JSON lines. Faults go to the diagnostics.
SweepAxis read_value_table(const std::filesystem::path& file, Diagnostics& diagnostics);

}  // namespace stepcast
