#include "calibration/fit/cluster/far_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "calibration/fit/cluster/cluster_rows.hpp"

namespace stepcast {

namespace {

constexpr double kFar = std::numbers::ln2;
constexpr double kFarBySpread = 6;  // median absolute deviations; four standard ones, if they were normal
constexpr std::size_t kFewest = 4;

void mark_far(const std::vector<GroupedValue>& values, const std::vector<std::size_t>& members,
              std::vector<bool>& out) {
  if (members.size() < kFewest) return;
  std::vector<double> of_group, off;
  for (const std::size_t i : members) of_group.push_back(values[i].value);
  const double median = quantile_of(of_group, 0.5);
  for (const double value : of_group) off.push_back(std::abs(value - median));
  const double most = std::max(kFar, kFarBySpread * quantile_of(off, 0.5));
  for (std::size_t i = 0; i < members.size(); ++i) out[members[i]] = off[i] > most;
}

}  // namespace

std::vector<bool> far_values(const std::vector<GroupedValue>& values) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < values.size(); ++i) groups[values[i].group].push_back(i);
  std::vector<bool> out(values.size());
  std::vector<std::size_t> others;
  for (const auto& [group, members] : groups)
    if (members.size() >= kFewest)
      mark_far(values, members, out);
    else
      others.insert(others.end(), members.begin(), members.end());
  mark_far(values, others, out);
  return out;
}

}  // namespace stepcast
