#include "sweeps/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <unordered_set>

#include "fields/plain_text.hpp"
#include "fields/splitmix64.hpp"
#include "fields/utf8.hpp"
#include "sweeps/scenario_paths.hpp"
#include "sweeps/values.hpp"

namespace stepcast {

namespace {

/// The same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// Evenly below `bound`: draws from the incomplete last round are thrown away.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t unfair = (0 - bound) % bound;
    std::uint64_t drawn = next();
    while (drawn < unfair) drawn = next();
    return drawn % bound;
  }

 private:
  std::uint64_t next() { return next_splitmix64(state_); }
  std::uint64_t state_;
};

/// `count` of the numbers below `population`, each as likely as any other (Floyd's method: Bentley & Floyd 1987).
std::vector<std::int64_t> choose(std::int64_t count, std::int64_t population, std::uint64_t seed) {
  Random random(seed);
  std::unordered_set<std::int64_t> taken;
  for (std::int64_t i = population - count; i < population; ++i) {
    const auto drawn = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(i) + 1));
    if (!taken.insert(drawn).second) taken.insert(i);
  }
  std::vector<std::int64_t> out(taken.begin(), taken.end());
  std::sort(out.begin(), out.end());
  return out;
}

bool is_path(std::string_view path) {
  return !path.empty() && path.front() != '.' && path.back() != '.' && path.find("..") == std::string_view::npos;
}

std::optional<SweepAxis> read_axis(const std::string& assignment, Diagnostics& diagnostics) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || !is_path(std::string_view(assignment).substr(0, equals))) {
    diagnostics.error("", fmt::format("--set {}: expected path=values", assignment),
                      "as in --set cluster.nodes=1,2,4..64*2");
    return std::nullopt;
  }
  SweepAxis axis{{assignment.substr(0, equals)}, {}};
  const std::size_t before = diagnostics.faults().size();
  for (Json& value : parse_values(std::string_view(assignment).substr(equals + 1), axis.paths.front(), diagnostics)) {
    std::vector<Json>& row = axis.rows.emplace_back();
    row.push_back(std::move(value));
  }
  if (diagnostics.faults().size() != before) return std::nullopt;
  return axis;
}

/// Axes side by side as one; a single value goes with every position.
SweepAxis zipped(const std::vector<SweepAxis>& axes, Diagnostics& diagnostics) {
  std::size_t length = 1;
  for (const SweepAxis& axis : axes) length = std::max(length, axis.rows.size());
  SweepAxis out;
  out.rows.resize(length);
  for (const SweepAxis& axis : axes) {
    if (axis.rows.size() != 1 && axis.rows.size() != length) {
      diagnostics.error(axis.paths.front(),
                        fmt::format("{} values beside {}: --zip wants lists of one length", axis.rows.size(), length));
      continue;
    }
    out.paths.insert(out.paths.end(), axis.paths.begin(), axis.paths.end());
    for (std::size_t i = 0; i < length; ++i) {
      const std::vector<Json>& row = axis.rows[axis.rows.size() == 1 ? 0 : i];
      out.rows[i].insert(out.rows[i].end(), row.begin(), row.end());
    }
  }
  return out;
}

/// Whether one of a path's values states the key that `rest` leads to.
bool states(const SweepAxis& axis, std::size_t column, std::string_view rest) {
  return std::any_of(axis.rows.begin(), axis.rows.end(), [&](const std::vector<Json>& row) {
    const Json* at = &row[column];
    for (std::size_t start = 0; start <= rest.size();) {
      const std::size_t dot = std::min(rest.find('.', start), rest.size());
      const std::string key(rest.substr(start, dot - start));
      if (!at->is_object() || !at->contains(key)) return false;
      at = &at->at(key);
      start = dot + 1;
    }
    return true;
  });
}

/// A value of one path must not take the place of another's: the rows would carry values that no scenario had.
void refuse_overlap(const std::vector<SweepAxis>& axes, Diagnostics& diagnostics) {
  struct Place {
    const SweepAxis* axis;
    std::size_t column;
    std::string path;
  };
  std::vector<Place> places;
  for (const SweepAxis& axis : axes)
    for (std::size_t column = 0; column < axis.paths.size(); ++column)
      places.push_back({&axis, column, lower_case(axis.paths[column])});
  for (std::size_t outer = 0; outer < places.size(); ++outer)
    for (std::size_t inner = 0; inner < places.size(); ++inner) {
      const std::string& path = places[outer].path;
      if (!places[inner].path.starts_with(path + ".")) continue;
      const Place& whole = places[outer];
      const std::string& of_whole = whole.axis->paths[whole.column];
      const std::string& part = places[inner].axis->paths[places[inner].column];
      if (outer > inner)
        diagnostics.error(of_whole, fmt::format("takes the place of {}, which is varied before it", part),
                          fmt::format("name {} first, or leave one of them out", of_whole));
      else if (states(*whole.axis, whole.column, std::string_view(part).substr(path.size() + 1)))
        diagnostics.error(part, fmt::format("takes the place of what values of {} say", of_whole),
                          "leave it out of one of them");
    }
}

}  // namespace

SweepPoints::SweepPoints(std::vector<SweepAxis> axes, std::optional<RandomSample> sample, Diagnostics& diagnostics)
    : axes_(std::move(axes)), sample_(sample) {
  std::set<std::string> known;
  std::int64_t grid = 1;
  for (const SweepAxis& axis : axes_) {
    for (const std::string& path : axis.paths) {
      if (!is_path(path) || !is_utf8(path)) diagnostics.error(path, "is no path into a scenario", "as cluster.nodes");
      if (!known.insert(lower_case(path)).second) diagnostics.error(path, "is given twice");
      paths_.push_back(path);
    }
    const auto rows = static_cast<std::int64_t>(axis.rows.size());
    grid = rows > 0 && grid > kMostGridPoints / rows ? kMostGridPoints + 1 : grid * rows;
  }
  if (diagnostics.ok()) refuse_overlap(axes_, diagnostics);
  if (axes_.empty()) diagnostics.error("", "nothing to vary", "give --set path=values or --values FILE");
  const std::int64_t most = sample_ ? kMostGridPoints : kMostPoints;
  if (grid > most)
    diagnostics.error("", fmt::format("the grid has more than {} points", most), "draw some: --random N");
  size_ = sample_ ? sample_->count : grid;
  if (sample_ && grid <= most && (size_ < 1 || size_ > std::min(grid, kMostPoints)))
    diagnostics.error("", fmt::format("--random {}: the grid has {} points", size_, grid),
                      "leave --random out to take them all");
  if (diagnostics.ok() && sample_) chosen_ = choose(size_, grid, sample_->seed);
}

void SweepPoints::values(std::int64_t point, std::vector<const Json*>& out) const {
  out.resize(paths_.size());
  std::int64_t place = sample_ ? chosen_[static_cast<std::size_t>(point)] : point;
  std::size_t end = paths_.size();
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    const auto rows = static_cast<std::int64_t>(axis->rows.size());
    const std::vector<Json>& row = axis->rows[static_cast<std::size_t>(place % rows)];
    place /= rows;
    end -= row.size();
    for (std::size_t i = 0; i < row.size(); ++i) out[end + i] = &row[i];
  }
}

SweepPoints read_points(const SweepRequest& request) {
  Diagnostics diagnostics("--set");
  std::vector<SweepAxis> axes;
  for (const std::string& assignment : request.sets)
    if (auto axis = read_axis(assignment, diagnostics)) axes.push_back(std::move(*axis));
  for (const SweepAxis& axis : axes) require_scenario_path(axis.paths.front(), diagnostics);
  if (request.zip && diagnostics.ok() && !axes.empty()) axes = {zipped(axes, diagnostics)};
  if (request.values_file) {
    Diagnostics table(request.values_file->string());
    axes.push_back(read_value_table(*request.values_file, table));
    for (const std::string& path : axes.back().paths) require_scenario_path(path, table);
    diagnostics.add(table.faults());
  }
  diagnostics.throw_if_faulty();
  SweepPoints out(std::move(axes), request.sample, diagnostics);
  diagnostics.throw_if_faulty();
  return out;
}

}  // namespace stepcast
