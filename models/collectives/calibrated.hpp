#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "hardware-catalog/communication_profiles.hpp"
#include "models/collectives/machine.hpp"
#include "models/collectives/mpi.hpp"

namespace stepcast {

/// What a time of a calibrated machine rests on, best last.
enum class CalibrationBasis { model, scaled, between, measured };
template <>
struct EnumNames<CalibrationBasis> {
  static constexpr std::array names{"model", "scaled", "between", "measured"};
};

/// Where a collective of `size` bytes takes place: `ranks`, `per_node` of them on each node.
struct CollectivePlace {
  Bytes size;
  int ranks = 1, per_node = 1;
};

/// Time by the model alone, of any place.
using ModelTime = std::function<Seconds(const CollectivePlace&)>;

struct CalibratedTime {
  Seconds time;
  CalibrationBasis basis = CalibrationBasis::model;
};

/// Time of a curve at a size within its range on a straight line between neighbours, which is what a start and a rate
/// make; nothing outside of the range.
std::optional<Seconds> curve_time(const MeasuredCurve& curve, Bytes size);

/// The measured time wins inside of the measured range (`measured`): the curve, between two sizes with the model's
/// shape in mind, so that a step stays between the sizes that it was seen between. Outside of it the model is scaled as
/// it was off at the nearest size (`scaled`), between measured numbers of nodes as it was off at both neighbours
/// (`between`), beyond them as at the nearest, less with every factor of nodes (`scaled`), and waits by the
/// calibration's jitter for the latest of more ranks. Without a curve of this kind of collective: the model as it is.
CalibratedTime calibrated_time(const Calibrated& calibration, CollectiveKind kind, const CollectivePlace& place,
                               const ModelTime& model);

/// Measured times that are true of a machine: inside a node, and between nodes. Null where it has none, or where they
/// were measured on another machine.
struct MachineCalibration {
  const Calibrated* inside = nullptr;
  const Calibrated* across = nullptr;
  [[nodiscard]] const Calibrated* of(const GroupShape& group) const { return group.nodes() > 1 ? across : inside; }
};
MachineCalibration calibration_of(const CollectiveMachine& machine);

/// The library whose messages in host memory a machine's calibration has fitted costs of; nothing without one.
std::optional<HostLibrary> measured_host_library(const CollectiveMachine& machine);

/// Those costs for a library, on other NICs as the catalogue's costs of both say; nothing when they are another's.
std::optional<HostNetwork> calibrated_host_network(const CollectiveMachine& machine, HostLibrary library);
/// As the profile keeps them.
HostMessageCosts message_costs_of(const HostNetwork& network, HostLibrary library);
HostNetwork host_network_of(const HostMessageCosts& costs);

/// A cost of collective_cost with the measured time in place of the model's: its latency and rates are scaled alike, so
/// that contention acts on it as before. The same cost where nothing was measured, and where an algorithm was forced.
CollectiveCost calibrated(CollectiveCost cost, CollectiveKind kind, Bytes payload, const GroupShape& group,
                          const Interconnect& interconnect, const CollectiveMachine& machine);

/// Whether devices of a node meet over PCIe alone. How they do (peer access, sockets, switches) nothing states.
bool over_host_links(const CollectiveMachine& machine);

/// In words, for a report: what was measured, and why it does not count here where it does not; and that little is
/// known of links that are not calibrated, where that is so.
std::vector<std::string> calibration_remarks(const CollectiveMachine& machine, int nodes);

}  // namespace stepcast
