#include "calibration/fit/collectives/points.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace stepcast::fit {

namespace {

// From here on bandwidth decides, and neither a library's choice of protocols nor what a harness adds to a call does.
constexpr Bytes kBandwidthSizes = 16_MiB;
// A library whose version is not stated chooses by tables that the model cannot know, and a harness that does not state
// it (PyTorch, traces) is often one that adds a time of its own: below kBandwidthSizes such rows count so much.
constexpr double kUnstatedVersion = 0.3;
// Devices that get less than this share of their host link send over host memory, not to each other (no peer access
// across sockets): their rows count so much, for a link's profile describes peers.
constexpr double kStagedShare = 0.25;
constexpr double kStaged = 0.1;

/// Whether the row's table states the version of the library: a field of the call's words (measured_collective.cpp).
bool states_version(const std::string& call) {
  constexpr int kLibraryField = 5;
  std::size_t at = 0;
  for (int field = 0; field < kLibraryField; ++field) {
    at = call.find('|', at);
    if (at == std::string::npos) return false;  // a table without the column
    ++at;
  }
  const std::string library = call.substr(at, call.find('|', at) - at);
  return library.find("not stated") == std::string::npos;
}

/// Bus bandwidth as nccl-tests count it.
BytesPerSecond bus_rate(const MeasuredCollective& row) {
  const double n = row.group.size;
  const bool gathers = row.kind == CollectiveKind::all_gather || row.kind == CollectiveKind::reduce_scatter ||
                       row.kind == CollectiveKind::all_to_all;
  const double factor = row.kind == CollectiveKind::all_reduce ? 2 * (n - 1) / n : gathers ? (n - 1) / n : 1;
  return row.size * factor / (row.time_us * 1_us);
}

std::string series_of(const MeasuredCollective& row) {
  return fmt::format("{}|{}|{}", row.system, name_of(row.kind), row.group.size);
}

/// Gives less weight to what tells less of links and library.
void weigh(std::vector<Point>& points) {
  std::map<std::string, BytesPerSecond> best;  // of each series over a host link
  for (const Point& point : points)
    if (point.row.where == MeasuredWhere::node_pcie) {
      BytesPerSecond& rate = best[series_of(point.row)];
      rate = std::max(rate, bus_rate(point.row));
    }
  for (Point& point : points) {
    if (point.row.size < kBandwidthSizes && !states_version(point.row.call)) point.weight = kUnstatedVersion;
    const auto found = best.find(series_of(point.row));
    if (found != best.end() && found->second < point.row.machine.accelerator->pcie_bandwidth * kStagedShare)
      point.weight = kStaged;
  }
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
    point.link = point.row.machine.links->id;
    point.library = point.row.machine.library->id;
    if (point.row.group.nodes() > 1) point.network = point.row.machine.network_profile->id;
    out.push_back(std::move(point));
  }
  weigh(out);
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
  out.reserve(settings.size());
  for (auto& [key, setting] : settings) out.push_back(std::move(setting));
  return out;
}

void predict(const Setting& setting, const std::vector<Point>& points, const Profiles& profiles,
             std::vector<double>& times) {
  const Point& first = points[setting.points.front()];
  CollectiveMachine machine = first.row.machine;
  machine.node = &first.row.node;
  machine.links = &profiles.links.at(first.link);
  if (machine.host_links != nullptr) machine.host_links = &profiles.links.at(machine.host_links->id);
  machine.library = &profiles.libraries.at(first.library);
  if (!first.network.empty()) machine.network_profile = &profiles.networks.at(first.network);
  const Interconnect as_found = interconnect_of(machine);
  Interconnect without_sums = as_found;
  leave_out_switch_sums(without_sums);
  for (const std::size_t i : setting.points) {
    const MeasuredCollective& row = points[i].row;
    const Interconnect& net = row.settings.switch_sums ? as_found : without_sums;
    times[i] =
        collective_cost(row.kind, row.size, row.group, net, row.settings.algorithm, row.settings.protocol, row.width)
            .alone(net, row.group)
            .in(1_us);
  }
}

}  // namespace stepcast::fit
