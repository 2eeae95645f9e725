#pragma once

#include <string>
#include <vector>

#include "calibration/collectives/collective_score.hpp"
#include "calibration/fit/collectives/constants.hpp"

namespace stepcast::fit {

/// Healthy rows of one call, in and out of place and repeated: their median.
struct Point {
  MeasuredCollective row;
  double weight = 1;
  std::string link, network, library;  ///< profiles that its time depends on; network empty inside a node
};

/// Points of the tables, in order of their calls.
std::vector<Point> points_of(const std::vector<MeasuredCollective>& rows);

/// Points that share machine and group, whose links are worked out once.
struct Setting {
  std::vector<std::size_t> points;
};
std::vector<Setting> settings_of(const std::vector<Point>& points);

/// Predicted times in µs of a setting's points with these profiles.
void predict(const Setting& setting, const std::vector<Point>& points, const Profiles& profiles,
             std::vector<double>& times);

}  // namespace stepcast::fit
