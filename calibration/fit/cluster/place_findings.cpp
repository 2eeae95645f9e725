#include "calibration/fit/cluster/place_findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "report/collective_table.hpp"

namespace stepcast {

namespace {

constexpr double kLargeMessage = 4 << 20;  // from here on rates count, not starts
constexpr std::size_t kFewestLarge = 2;
// In the shipped tables of healthy systems neighbouring numbers of nodes lie within 1.10 of each other, against the
// fitted model, in most of their collectives (6 systems, 17 pairs; `stepcast calibrate check`).
constexpr double kPlacesDiffer = 1.3;
// One collective alone lies up to 1.37 apart there, and one 2.9, whose table says so itself (ABCI-V's broadcast:
// 1.9 GB/s on 4 nodes, 18 on 2 and 10 on 8; collectives-multinode.csv).
constexpr double kOneDiffers = 2;

/// A collective on one number of nodes against another.
struct Comparison {
  const PlaceRate *here, *beside;
  [[nodiscard]] double slower() const { return here->off / beside->off; }
};

std::vector<Comparison> compare(const std::vector<PlaceRate>& places, int nodes, int other) {
  std::vector<Comparison> out;
  for (const PlaceRate& here : places) {
    if (here.nodes != nodes) continue;
    for (const PlaceRate& beside : places)
      if (beside.nodes == other && beside.kind == here.kind && beside.per_node == here.per_node &&
          beside.width == here.width)
        out.push_back({&here, &beside});
  }
  return out;
}

std::string network_cause(int nodes, int other) {
  return nodes > other
             ? "a slow NIC, link or port among the nodes that were added, or an oversubscribed network between them"
             : "a slow NIC, link or port among these nodes, or other nodes, paths or settings than the larger run had";
}

/// Collectives that are far slower on one number of nodes than on another.
struct Slowness {
  double times = 0;
  std::string words;
};

Slowness slowness(const std::vector<PlaceRate>& places, int nodes, int other) {
  const std::vector<Comparison> all = compare(places, nodes, other);
  const auto slower_than = [&](double limit) {
    return std::count_if(all.begin(), all.end(), [&](const Comparison& one) { return one.slower() > limit; });
  };
  const bool most = 2 * slower_than(kPlacesDiffer) > static_cast<std::ptrdiff_t>(all.size());
  const double limit = most ? kPlacesDiffer : kOneDiffers;
  std::vector<double> times;
  std::vector<std::string> rates;
  std::set<std::string_view> sound;
  for (const Comparison& one : all) {
    if (one.slower() <= limit) {
      sound.insert(name_of(one.here->kind));
      continue;
    }
    times.push_back(one.slower());
    rates.push_back(fmt::format("{} {:.3g} GB/s on {} nodes and {:.3g} on {}", name_of(one.here->kind),
                                one.beside->bus_GBps, other, one.here->bus_GBps, nodes));
  }
  if (times.empty()) return {};
  const double median = quantile_of(times, 0.5);
  return {median,
          fmt::format(
              "messages from 4 MiB on take {:.2g} times as long on {} nodes as {} nodes let expect (bus "
              "bandwidth: {}): {}",
              median, nodes, other, fmt::join(rates, "; "),
              most ? network_cause(nodes, other)
                   : fmt::format("the library may choose badly there, for no link slows {}", fmt::join(sound, ", ")))};
}

}  // namespace

std::vector<PlaceRate> place_rates(const ClusterFit& fit, const std::vector<ClusterRow>& rows) {
  std::vector<ClusterRow> large;
  for (const ClusterRow& row : rows)
    if (row.chosen() && row.weight > 0 && row.nodes() > 1 && row.place.size.value() >= kLargeMessage)
      large.push_back(row);
  std::vector<double> times;
  fit.model.predict(large, times);
  std::map<std::tuple<CollectiveKind, int, ElementWidth, int>, std::vector<std::size_t>> by_place;
  for (std::size_t i = 0; i < large.size(); ++i)
    by_place[{large[i].kind, large[i].place.per_node, large[i].width, large[i].place.ranks}].push_back(i);
  std::vector<PlaceRate> out;
  for (const auto& [key, found] : by_place) {
    if (found.size() < kFewestLarge) continue;
    std::vector<double> off;
    const ClusterRow* largest = &large[found.front()];
    for (const std::size_t i : found) {
      off.push_back(large[i].median_us / times[i]);
      if (large[i].place.size > largest->place.size) largest = &large[i];
    }
    const int ranks = largest->place.ranks;
    out.push_back({largest->kind, largest->nodes(), ranks, largest->place.per_node, largest->width,
                   largest->place.size.value() / largest->median_us / 1e3 * bus_factor(largest->kind, ranks),
                   quantile_of(std::move(off), 0.5)});
  }
  return out;
}

std::vector<std::string> place_findings(const ClusterFit& fit, const std::vector<ClusterRow>& rows) {
  const std::vector<PlaceRate> places = place_rates(fit, rows);
  std::set<int> counts;
  for (const PlaceRate& place : places) counts.insert(place.nodes);
  std::vector<std::string> out;
  for (auto count = counts.begin(); count != counts.end(); ++count) {
    Slowness worst;
    const auto against = [&](int other) {
      if (Slowness found = slowness(places, *count, other); found.times > worst.times) worst = std::move(found);
    };
    if (count != counts.begin()) against(*std::prev(count));
    if (std::next(count) != counts.end()) against(*std::next(count));
    if (!worst.words.empty()) out.push_back(std::move(worst.words));
  }
  return out;
}

}  // namespace stepcast
