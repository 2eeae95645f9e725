#include "models/collectives/calibrated.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/collectives/lateness.hpp"

namespace stepcast {

namespace {

constexpr double kMicro = 1e-6;

int nodes_of(int ranks, int per_node) { return (ranks + per_node - 1) / per_node; }

/// A curve of the wanted collective and how far its place is from the wanted one.
struct Neighbour {
  const MeasuredCurve* curve = nullptr;
  double nodes = 0;     ///< ln of its nodes
  double distance = 0;  ///< over nodes and ranks of a node
};

std::vector<Neighbour> neighbours_of(const Calibrated& calibration, CollectiveKind kind, const CollectivePlace& place) {
  std::vector<Neighbour> out;
  const double wanted = std::log(nodes_of(place.ranks, place.per_node));
  for (const MeasuredCurve& curve : calibration.curves) {
    if (curve.op != name_of(kind)) continue;
    const double nodes = std::log(nodes_of(curve.ranks, curve.ranks_per_node));
    const double beside = std::log(static_cast<double>(curve.ranks_per_node) / place.per_node);
    // Ranks of a node change the algorithm's way through it, more nodes only its length: a curve of another count a
    // node is a last resort.
    out.push_back({&curve, nodes, std::abs(nodes - wanted) + 10 * std::abs(beside)});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.distance < b.distance; });
  return out;
}

// Sizes up to four times apart are joined by the mean of a straight line and of the model's shape, whose logarithms are
// equally often off; wider gaps hold steps that the line does not know. How far the difference between measurement and
// model carries over to other counts of nodes: by 0.3 less for each factor e. Both chosen on the measured collectives
// of 40 systems (`stepcast calibrate check`): 4.9 instead of 5.1 % for every other size from 1 MiB, 11.5 instead
// of 16.1 from three sizes, 15.3 instead of 18.8 for other counts of nodes.
constexpr double kNarrow = 4.01;
constexpr double kShapeOfNarrow = 0.5;
constexpr double kFading = 0.3;

/// ln(measured / model) of a curve's own size; nothing where the model has no time.
std::optional<double> ratio_at(const MeasuredCurve& curve, std::size_t i, const ModelTime& model) {
  const Seconds modelled = model({Bytes(curve.size_bytes[i]), curve.ranks, curve.ranks_per_node});
  if (modelled <= Seconds(0)) return std::nullopt;
  return std::log(curve.time_us[i] * kMicro / modelled.value());
}

/// Time of a curve at a size within its range, between two sizes guided by the model.
Seconds guided_time(const MeasuredCurve& curve, Bytes size, const ModelTime& model) {
  const std::vector<double>& sizes = curve.size_bytes;
  const Seconds straight = *curve_time(curve, size);
  const auto above =
      static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), size.value()) - sizes.begin());
  if (sizes[above] == size.value() || sizes[above - 1] <= 0) return straight;
  const auto low = ratio_at(curve, above - 1, model), high = ratio_at(curve, above, model);
  if (!low || !high) return straight;
  const double gap = sizes[above] / sizes[above - 1];
  const double share = std::log(size.value() / sizes[above - 1]) / std::log(gap);
  const Seconds shaped = model({size, curve.ranks, curve.ranks_per_node}) * std::exp(*low + share * (*high - *low));
  const double weight = gap <= kNarrow ? kShapeOfNarrow : 1;
  return straight * std::pow(shaped / straight, weight);
}

/// ln(measured / model) of a curve's place at a size; the nearest size's outside of its range.
double log_ratio(const MeasuredCurve& curve, Bytes size, const ModelTime& model) {
  const Bytes near(std::clamp(size.value(), curve.size_bytes.front(), curve.size_bytes.back()));
  const Seconds time = guided_time(curve, near, model);
  const Seconds modelled = model({near, curve.ranks, curve.ranks_per_node});
  return modelled > Seconds(0) ? std::log(time / modelled) : 0;
}

bool same_machine(const Calibrated& calibration, const CollectiveMachine& machine, bool network) {
  const std::string accelerator = machine.accelerator != nullptr ? machine.accelerator->id : "";
  if (calibration.accelerator != accelerator) return false;
  if (!network) return true;
  const double rate = calibration.nic_bandwidth / std::max(machine.nic_bandwidth, 1_Bps);
  return calibration.nics == machine.nics && calibration.devices_per_node == machine.devices_per_node &&
         std::abs(rate - 1) < 0.01;
}

const Calibrated* stated(const std::optional<Calibrated>& calibration) { return calibration ? &*calibration : nullptr; }

/// The calibration whose costs of messages in host memory count on a machine; null without one.
const Calibrated* host_calibration(const CollectiveMachine& machine) {
  for (const Calibrated* one :
       {machine.network_profile != nullptr ? stated(machine.network_profile->calibration) : nullptr,
        machine.links != nullptr ? stated(machine.links->calibration) : nullptr})
    if (one != nullptr && one->host) return one;
  return nullptr;
}

}  // namespace

std::optional<Seconds> curve_time(const MeasuredCurve& curve, Bytes size) {
  const std::vector<double>& sizes = curve.size_bytes;
  if (sizes.empty() || size.value() < sizes.front() || size.value() > sizes.back()) return std::nullopt;
  const auto above =
      static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), size.value()) - sizes.begin());
  if (sizes[above] == size.value()) return Seconds(curve.time_us[above] * kMicro);
  const double share = (size.value() - sizes[above - 1]) / (sizes[above] - sizes[above - 1]);
  return Seconds((curve.time_us[above - 1] + share * (curve.time_us[above] - curve.time_us[above - 1])) * kMicro);
}

CalibratedTime calibrated_time(const Calibrated& calibration, CollectiveKind kind, const CollectivePlace& place,
                               const ModelTime& model) {
  const std::vector<Neighbour> near = neighbours_of(calibration, kind, place);
  const Seconds modelled = model(place);
  if (near.empty()) return {modelled, CalibrationBasis::model};
  const Neighbour& nearest = near.front();
  if (nearest.distance == 0 && nearest.curve->ranks == place.ranks) {
    if (curve_time(*nearest.curve, place.size))
      return {guided_time(*nearest.curve, place.size, model), CalibrationBasis::measured};
    return {modelled * std::exp(log_ratio(*nearest.curve, place.size, model)), CalibrationBasis::scaled};
  }
  const double wanted = std::log(nodes_of(place.ranks, place.per_node));
  const auto other = std::find_if(near.begin() + 1, near.end(), [&](const Neighbour& one) {
    return one.curve->ranks_per_node == nearest.curve->ranks_per_node &&
           (one.nodes - wanted) * (nearest.nodes - wanted) < 0;
  });
  const double ratio = log_ratio(*nearest.curve, place.size, model);
  if (other == near.end()) {
    const double kept = std::max(0.0, 1 - kFading * std::abs(wanted - nearest.nodes));
    // The measured times hold the wait for the latest of their ranks; of more ranks the latest comes later.
    const Seconds waits = expected_latest(calibration.jitter, std::max(place.ranks, nearest.curve->ranks)) -
                          expected_latest(calibration.jitter, nearest.curve->ranks);
    return {modelled * std::exp(kept * ratio) + waits, CalibrationBasis::scaled};
  }
  const double share = (wanted - nearest.nodes) / (other->nodes - nearest.nodes);
  const double far = log_ratio(*other->curve, place.size, model);
  return {modelled * std::exp(ratio + share * (far - ratio)), CalibrationBasis::between};
}

MachineCalibration calibration_of(const CollectiveMachine& machine) {
  MachineCalibration out;
  const Calibrated* inside = machine.links != nullptr ? stated(machine.links->calibration) : nullptr;
  const Calibrated* across =
      machine.network_profile != nullptr ? stated(machine.network_profile->calibration) : nullptr;
  if (inside != nullptr && same_machine(*inside, machine, false)) out.inside = inside;
  if (across != nullptr && same_machine(*across, machine, true)) out.across = across;
  return out;
}

HostMessageCosts message_costs_of(const HostNetwork& n, HostLibrary library) {
  return {std::string(name_of(library)),
          n.latency,
          n.turnaround,
          n.inline_limit,
          n.copy_start,
          n.eager_limit,
          n.eager,
          n.rendezvous,
          n.rail,
          n.stream,
          n.stripe,
          n.node,
          n.gap,
          n.local_latency,
          n.local_gap,
          n.local,
          n.reduce};
}

HostNetwork host_network_of(const HostMessageCosts& c) {
  return {c.latency, c.turnaround, c.inline_limit, c.copy_start, c.eager_limit,   c.eager,     c.rendezvous, c.rail,
          c.stream,  c.stripe,     c.node,         c.gap,        c.local_latency, c.local_gap, c.local,      c.reduce};
}

std::optional<HostLibrary> measured_host_library(const CollectiveMachine& machine) {
  const Calibrated* measured = host_calibration(machine);
  return measured != nullptr ? parse_enum<HostLibrary>(measured->host->library) : std::nullopt;
}

std::optional<HostNetwork> calibrated_host_network(const CollectiveMachine& machine, HostLibrary library) {
  const Calibrated* measured = host_calibration(machine);
  if (measured == nullptr || measured->host->library != name_of(library)) return std::nullopt;
  HostNetwork out = host_network_of(*measured->host);
  out.node_gap = host_network_of(machine.network, machine.nic_bandwidth, machine.nics, library).node_gap;
  if (measured->nics == 0 || measured->nic_bandwidth <= BytesPerSecond(0)) return out;
  // Which of the rates the wire bounds, and which the processors, the catalogue's figures of both networks say.
  const HostNetwork there = host_network_of(machine.network, measured->nic_bandwidth, measured->nics, library);
  const HostNetwork here = host_network_of(machine.network, machine.nic_bandwidth, machine.nics, library);
  for (BytesPerSecond HostNetwork::*rate :
       {&HostNetwork::eager, &HostNetwork::rail, &HostNetwork::stream, &HostNetwork::node})
    out.*rate *= here.*rate / there.*rate;
  return out;
}

CollectiveCost calibrated(CollectiveCost cost, CollectiveKind kind, Bytes payload, const GroupShape& group,
                          const Interconnect& interconnect, const CollectiveMachine& machine) {
  if (group.size <= 1) return cost;
  const Calibrated* calibration = calibration_of(machine).of(group);
  std::optional<HostNetwork> host;
  const HostLibrary library = measured_host_library(machine).value_or(kDefaultHostLibrary);
  if (machine.accelerator == nullptr) host = calibrated_host_network(machine, library);
  if (calibration == nullptr && !host) return cost;
  GroupShape lone = group;
  lone.groups_per_node = 1;
  const auto by_links = [&](Bytes size, const GroupShape& shape) {
    return collective_cost(kind, size, shape, interconnect).alone(interconnect, shape);
  };
  const ModelTime model = [&](const CollectivePlace& place) {
    if (host)
      return host_collective_time({kind, place.size, place.ranks, place.per_node, library, std::nullopt}, *host).time;
    GroupShape shape = lone;
    shape.size = place.ranks;
    shape.per_node = place.per_node;
    return by_links(place.size, shape);
  };
  const Seconds by_model = by_links(payload, lone);
  if (by_model <= Seconds(0)) return cost;
  const CollectivePlace place{payload, group.size, group.per_node};
  const CalibratedTime time = calibration != nullptr ? calibrated_time(*calibration, kind, place, model)
                                                     : CalibratedTime{model(place), CalibrationBasis::model};
  // Where no curve says anything the links' own costs stand, host messages excepted: their fit knows the library.
  if (time.basis == CalibrationBasis::model && !host) return cost;
  const double factor = time.time / by_model;
  cost.latency *= factor;
  cost.native_cap /= factor;
  cost.network_cap /= factor;
  return cost;
}

bool over_host_links(const CollectiveMachine& machine) {
  return machine.accelerator != nullptr && machine.devices_per_node > 1 && machine.links != nullptr &&
         machine.links->medium == "pcie";
}

namespace {

/// What counts of a calibration on another machine than the measured one: constants, and never its times.
std::string what_counts_elsewhere(const Calibrated& one, const Provenance& entry, const CollectiveMachine& machine) {
  if (one.host && machine.accelerator == nullptr)
    return fmt::format("its measured times do not count, its costs of {}'s messages do, scaled to these NICs",
                       one.host->library);
  const std::string source = fmt::format("calibration {} of {}", one.name, one.date);
  std::vector<std::string> keys;
  for (const auto& [key, said] : entry.sources)
    if (said == source) keys.push_back(key);
  if (keys.empty()) return "nothing of it counts";
  return fmt::format("its measured times do not count, its constants do ({})", fmt::join(keys, ", "));
}

}  // namespace

std::vector<std::string> calibration_remarks(const CollectiveMachine& machine, int nodes) {
  std::vector<std::string> out;
  const MachineCalibration counts = calibration_of(machine);
  const auto remark = [&](const auto* entry, const Calibrated* counted, const char* where) {
    if (entry == nullptr || !entry->calibration) return;
    const Calibrated& one = *entry->calibration;
    if (counted == nullptr) {
      out.push_back(
          fmt::format("collectives {}: calibration {} of {} was measured on another machine ({} × {}, {} NIC{} "
                      "of {:g} Gb/s): {}",
                      where, one.name, one.date, one.devices_per_node,
                      one.accelerator.empty() ? "processors" : one.accelerator, one.nics, one.nics == 1 ? "" : "s",
                      one.nic_bandwidth.in(1_Gbps), what_counts_elsewhere(one, entry->provenance, machine)));
      return;
    }
    int least = 0, most = 0;
    for (const MeasuredCurve& curve : one.curves) {
      const int of_curve = nodes_of(curve.ranks, curve.ranks_per_node);
      least = least == 0 ? of_curve : std::min(least, of_curve);
      most = std::max(most, of_curve);
    }
    std::string text = fmt::format("collectives {}: calibration {} of {}", where, one.name, one.date);
    if (one.host) text += fmt::format(" by {}", one.host->library);
    if (one.jitter > Seconds(0)) text += fmt::format(", ranks {:.3g} us late in the mean", one.jitter.in(1_us));
    if (nodes > most && most > 1)
      text += fmt::format("; {} nodes are outside of the measured {} to {}: scaled model", nodes, least, most);
    out.push_back(std::move(text));
  };
  if (nodes > 1) remark(machine.network_profile, counts.across, "between nodes");
  remark(machine.links, counts.inside, "inside a node");
  if (over_host_links(machine) && counts.inside == nullptr)
    out.emplace_back(
        "inside a node devices meet over PCIe alone and are taken to reach each other directly. Evidence is low: of "
        "five measured servers two took half of the predicted time, one twice and one, of two sockets, up to ten "
        "times; "
        "`stepcast calibrate` on the server itself tells");
  return out;
}

}  // namespace stepcast
