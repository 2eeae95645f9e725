#include "calibration/fit/collectives/points.hpp"

#include <algorithm>
#include <map>

namespace stepcast::fit {

namespace {

/// Rows whose small sizes hold a harness more than a collective, and machines with a fault of their own: they count
/// less in a fit, and in full in the figures of its errors.
struct Doubt {
  std::string_view system;  ///< begins so
  Bytes below;              ///< sizes
  int ranks_above;
  double weight;
  std::string_view reason;
};
constexpr std::array kDoubts{
    Doubt{"VID-", 16_MiB, 0, 0.15, "timed by PyTorch with a clock of 1 µs, launch included"},
    Doubt{"ST-A100", 16_MiB, 0, 0.15, "a floor of 40 µs of its harness"},
    Doubt{"one node, NVLink, a100", 16_MiB, 0, 0.15, "a floor near 92 µs at the smallest sizes"},
    Doubt{"one node, NVLink, v100", 16_MiB, 0, 0.3, "the same harness"},
    Doubt{"AIC-L40S", Bytes(1e15), 2, 0.1, "two sockets without peer access: 2 to 5 GB/s, a tenth of the links"},
};

double weight_of(const MeasuredCollective& row) {
  for (const Doubt& doubt : kDoubts)
    if (row.system.substr(0, doubt.system.size()) == doubt.system && row.size < doubt.below &&
        row.group.size > doubt.ranks_above)
      return doubt.weight;
  return 1;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::vector<Point> points_of(const std::vector<MeasuredCollective>& rows) {
  std::map<std::string, std::vector<const MeasuredCollective*>> calls;
  for (const MeasuredCollective& row : rows)
    if (row.refusal.empty() && row.healthy && !row.host_network) calls[row.call].push_back(&row);
  std::vector<Point> out;
  for (const auto& [call, repeats] : calls) {
    Point point;
    point.row = *repeats.front();
    std::vector<double> times;
    for (const MeasuredCollective* repeat : repeats) times.push_back(repeat->time_us);
    point.row.time_us = median(std::move(times));
    point.weight = weight_of(point.row);
    point.link = point.row.machine.links->id;
    point.library = point.row.machine.library->id;
    if (point.row.group.nodes() > 1) point.network = point.row.machine.network_profile->id;
    out.push_back(std::move(point));
  }
  return out;
}

std::vector<Setting> settings_of(const std::vector<Point>& points) {
  std::map<std::string, Setting> settings;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const MeasuredCollective& row = points[i].row;
    const std::string key = row.call.substr(0, row.call.find_last_of('|'));
    settings[fmt::format("{}|{}", key, row.group.size)].points.push_back(i);
  }
  std::vector<Setting> out;
  for (auto& [key, setting] : settings) out.push_back(std::move(setting));
  return out;
}

void predict(const Setting& setting, const std::vector<Point>& points, const Profiles& profiles,
             std::vector<double>& times) {
  const Point& first = points[setting.points.front()];
  CollectiveMachine machine = first.row.machine;
  machine.node = &first.row.node;
  machine.links = &profiles.links.at(first.link);
  machine.library = &profiles.libraries.at(first.library);
  if (!first.network.empty()) machine.network_profile = &profiles.networks.at(first.network);
  const Interconnect net = interconnect_of(machine);
  for (const std::size_t i : setting.points) {
    const MeasuredCollective& row = points[i].row;
    times[i] = collective_cost(row.kind, row.size, row.group, net, CollectiveAlgorithm::automatic,
                               CollectiveProtocol::automatic, row.width)
                   .alone(net, row.group)
                   .in(1_us);
  }
}

}  // namespace stepcast::fit
