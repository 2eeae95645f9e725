#include "calibration/fit/collectives/processors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "calibration/collectives/collective_score.hpp"
#include "report/humane.hpp"

namespace stepcast::fit {

namespace {

/// A figure of a host network: its value elsewhere than on the fitted machine, in its unit, and by what factor (of the
/// logarithm) machines differ.
struct Figure {
  double prior, spread;
  void (*set)(HostNetwork& network, double value);
};

// Latency: 1.4 to 1.74 µs in clouds and on three other machines (links mpi-study-azure-*, mpi-study-llnl-lassen-edr,
// mpi-measured-hbv2-hdr). Shared memory: 0.6 µs, rendezvous 5 µs and sums 3.2 GB/s in the prototype (docs/sources.md,
// benchmark fit); its copies of 3.1 GB/s no machine of that kind reaches: this fit gives the Xeons of the next
// generation, under the same Open MPI 4.0 and UCX, 2.05 and 2.35 GB/s for buffers that fit their caches (CSD3 in
// docs/sources.md, MPI on processors). The others near the shipped ones, with a wide spread. The rate of a rail counts
// as its ratio to the shipped one.
constexpr std::array kFigures{
    Figure{1.45, 0.3, [](HostNetwork& n, double v) { n.latency = v * 1_us; }},
    Figure{0.4, 0.5, [](HostNetwork& n, double v) { n.turnaround = v * 1_us; }},
    Figure{0.45, 0.5, [](HostNetwork& n, double v) { n.copy_start = v * 1_us; }},
    Figure{2.5, 0.5, [](HostNetwork& n, double v) { n.eager = v * 1_GBps; }},
    Figure{3.0, 0.5, [](HostNetwork& n, double v) { n.rendezvous = v * 1_us; }},
    Figure{0.98, 0.1,
           [](HostNetwork& n, double v) {
             n.rail = n.rail * v;
             n.stream = n.stream * v;
           }},
    Figure{0.7, 0.4, [](HostNetwork& n, double v) { n.local_latency = v * 1_us; }},
    Figure{2.2, 0.4, [](HostNetwork& n, double v) { n.local = v * 1_GBps; }},
    Figure{8.0, 0.7, [](HostNetwork& n, double v) { n.reduce = v * 1_GBps; }},
};
using Place = std::array<double, kFigures.size()>;  // logarithms over the spreads
using Rows = std::vector<const MeasuredCollective*>;

// As in the fit of devices: |ln| from which a row counts linearly, and how strongly a prior draws.
constexpr double kOutlier = 0.1;
constexpr double kDrawn = 0.18;
constexpr double kFinest = 0.02;
constexpr int kMostSweeps = 60;

double ratio(const MeasuredCollective& row, const Place& place) {
  HostNetwork network = *row.host_network;
  for (std::size_t i = 0; i < kFigures.size(); ++i)
    kFigures[i].set(network, kFigures[i].prior * std::exp(kFigures[i].spread * place[i]));
  return host_collective_time(row.host, network).time.in(1_us) / row.time_us;
}

double cost(const Rows& rows, const Place& place) {
  double sum = 0;
  for (const MeasuredCollective* row : rows) {
    const double relative = std::log(ratio(*row, place)) / kOutlier;
    sum += kOutlier * kOutlier * (std::sqrt(1 + relative * relative) - 1);
  }
  for (const double y : place) sum += kDrawn * kDrawn * y * y / 2;
  return sum;
}

/// Least cost by steps along each axis that are halved where neither direction helps.
Place fitted(const Rows& rows) {
  Place place{};
  Place step;
  step.fill(0.5);
  double least = cost(rows, place);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    for (std::size_t i = 0; i < place.size(); ++i) {
      bool better = false;
      for (const double move : {step[i], -step[i]}) {
        Place tried = place;
        tried[i] += move;
        const double now = cost(rows, tried);
        if (now >= least) continue;
        least = now;
        place = tried;
        better = true;
        break;
      }
      if (!better) step[i] /= 2;
    }
    if (*std::max_element(step.begin(), step.end()) < kFinest) break;
  }
  return place;
}

/// Ratios by range of sizes.
using Ranges = std::array<std::vector<double>, kSizeRanges>;

void add(Ranges& ranges, const Rows& rows, const Place& place) {
  for (const MeasuredCollective* row : rows) ranges[size_range(row->size)].push_back(ratio(*row, place));
}

void print(const std::string& title, const Ranges& ranges) {
  std::string out = pad_right(title, 56);
  for (const auto& ratios : ranges) {
    const ErrorFigures figures = error_figures(ratios);
    out += pad_left(figures.rows == 0 ? "–"
                                      : fmt::format("{:.0f} / {:.0f} ({:+.0f}) {}", *figures.mean, *figures.median,
                                                    *figures.bias, figures.rows),
                    20);
  }
  fmt::print("{}\n", out);
}

/// Each group of rows that share a key, predicted by a fit of the others.
template <class Key>
void leave_out(const std::string& title, const Rows& rows, Key key) {
  std::map<int, std::pair<Rows, Rows>> parts;  // the group, and the others
  std::set<int> keys;
  for (const MeasuredCollective* row : rows) keys.insert(key(*row));
  for (const int group : keys)
    for (const MeasuredCollective* row : rows)
      (key(*row) == group ? parts[group].first : parts[group].second).push_back(row);
  Ranges ranges;
  for (const auto& [group, part] : parts) add(ranges, part.first, fitted(part.second));
  print(title, ranges);
}

/// Healthy rows that can be predicted, of the system that has most.
Rows largest_system(const std::vector<MeasuredCollective>& rows) {
  std::map<std::string, Rows> systems;
  for (const MeasuredCollective& row : rows)
    if (row.host_network && row.refusal.empty() && row.healthy) systems[row.system].push_back(&row);
  const auto most = std::max_element(systems.begin(), systems.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == systems.end() ? Rows{} : most->second;
}

constexpr int kFewNodes = 4;

}  // namespace

void report_processors(const std::vector<MeasuredCollective>& all) {
  const Rows rows = largest_system(all);
  if (rows.empty()) return;
  fmt::print("\nprocessors, {}: mean / median error % (bias %) rows\n", rows.front()->system);
  Ranges elsewhere, in_sample, larger;
  add(elsewhere, rows, Place{});
  print("values of other machines alone", elsewhere);
  add(in_sample, rows, fitted(rows));
  print("in sample", in_sample);
  leave_out("each operation left out", rows, [](const MeasuredCollective& r) { return static_cast<int>(r.kind); });
  leave_out("each node count left out", rows, [](const MeasuredCollective& r) { return r.group.nodes(); });
  Rows few, many;
  for (const MeasuredCollective* row : rows) (row->group.nodes() <= kFewNodes ? few : many).push_back(row);
  add(larger, many, fitted(few));
  print(fmt::format("fitted up to {} nodes, predicted above", kFewNodes), larger);
}

}  // namespace stepcast::fit
