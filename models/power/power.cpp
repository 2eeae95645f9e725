#include "models/power/power.hpp"

#include <algorithm>
#include <utility>

#include "models/power/device_power.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

namespace {

// Beside busy accelerators the host issues kernels and prepares input: half of its limit. Estimated.
constexpr double kCpuHostShare = 0.5;
// Of a cloud instance, its share of the 128 threads of the processor that stands for unknown ones. Where nothing is
// said, a socket for every four accelerators: two beside eight, as in nearly every server of the catalogue.
constexpr double kThreadsOfUnknownCpu = 128;
constexpr int kAcceleratorsPerSocket = 4;
// 4 W for each 16 GB of registered DIMM under load (power.json, dram-power, doubtful); half of it idle, estimated.
// Beside accelerators host memory idles: what passes through it is input data.
constexpr double kWattsPerGigabyte = 4.0 / 16;
constexpr double kMemoryIdleShare = 0.5;
// NIC: the line through 16 W at 200 Gb/s and 25 W at 400 Gb/s (power.json, nic-power: ConnectX-6 and -7).
constexpr double kNicBaseWatts = 7;
constexpr double kNicWattsPerGigabit = 9.0 / 200;
// A drive whose entry states no power, as data-centre NVMe: 5 W idle, 14 W active (storage micron-7450-pro, p4510).
constexpr Watts kDriveIdle = 5_W;
constexpr Watts kDriveBusy = 14_W;
// NVSwitch chips, per accelerator link: half of 100 W for 18 ports (switches nvswitch1: the highest power of the first
// one, the only one known). Drawn idle as well, as serial links stay lit. The half is estimated.
constexpr Watts kSwitchedLink = 0.5 * 100_W / 18;
// Fans of an air-cooled eight-GPU server: 0.15 of its power (cooling dgx-air, reported from 0.10 to 0.20).
constexpr double kFanShare = 0.15;
// Of a server without accelerators or with few: cooling air-contained-economised.
constexpr double kFanShareSmall = 0.10;
// Industry mean PUE of 2024 (sites pue-industry-2024, Uptime Institute).
constexpr double kDefaultPue = 1.56;
// Accelerators from which a server counts as dense.
constexpr int kDenseAccelerators = 8;

double gigabits(BytesPerSecond rate) { return rate.in(1_Gbps); }

struct PartDraw {
  Watts idle, busy;
};

/// Limit of all processors of a node.
Watts processor_limit(const Node& node, const Cpu* cpu) {
  const Watts each = cpu && cpu->tdp > Watts(0) ? cpu->tdp : kUnknownCpu;
  if (node.cpu_count > 0) return each * node.cpu_count;
  if (node.vcpus > 0) return kUnknownCpu * (node.vcpus / kThreadsOfUnknownCpu);
  return each * std::max(1, node.accelerator_count / kAcceleratorsPerSocket);
}

PartDraw host_processors(const Node& node, const Cpu* cpu) {
  if (!node.has_accelerators()) return {};  // they are the devices
  const Watts full = processor_limit(node, cpu);
  return {kCpuIdleShare * full, kCpuHostShare * full};
}

Watts switches_of(const Node& node) {
  const NodeInterconnect& connect = node.interconnect;
  const bool switched = connect.kind == NodeTopology::nvswitch || connect.kind == NodeTopology::nvswitch_rack;
  return switched ? kSwitchedLink * (connect.links_per_accelerator * node.accelerator_count) : Watts(0);
}

PartDraw drives_of(const Scenario& scenario) {
  if (!scenario.node->local_storage) return {};
  const int count = scenario.node->local_storage->count;
  const StoragePart unknown, &drive = scenario.local_drive ? *scenario.local_drive : unknown;
  return {count * drive.idle_power.value_or(kDriveIdle), count * drive.active_power.value_or(kDriveBusy)};
}

PartDraw host_of(const Scenario& scenario) {
  const Node& node = *scenario.node;
  PartDraw host = host_processors(node, scenario.cpu);
  const Watts memory(kWattsPerGigabyte * node.memory.in(1_GiB));
  host.idle += kMemoryIdleShare * memory;
  host.busy += node.has_accelerators() ? kMemoryIdleShare * memory : memory;
  host.idle += switches_of(node);
  host.busy += switches_of(node);
  for (const Nic& nic : node.nics) {
    // Adapters draw nearly the same idle.
    const Watts draw(nic.count * (kNicBaseWatts + kNicWattsPerGigabit * gigabits(nic.bandwidth)));
    host.idle += draw;
    host.busy += draw;
  }
  const PartDraw drives = drives_of(scenario);
  host.idle += drives.idle;
  host.busy += drives.busy;
  return host;
}

/// Whether devices wait for hosts: servers, a federation's or a random peer's model, or actors' samples. No kernel of a
/// collective spins meanwhile.
bool waits_for_hosts(const Scenario& scenario) {
  const bool of_peers = scenario.update == UpdateMode::pair_averaging || scenario.update == UpdateMode::federated;
  return of_peers || scenario.servers.has_value() || scenario.actors != nullptr;
}

void set_device(PowerModel& power, const Scenario& scenario) {
  const DevicePower device = clock_state(scenario).power;
  power.device_idle = device.idle;
  power.device_compute = device.compute;
  power.device_memory = device.memory;
  power.device_updating = scenario.spec.strategy.offload_optimizer ? device.ready : device.memory;
  power.device_waiting = waits_for_hosts(scenario) ? device.ready : device.communication;
  power.device_ready = device.ready;
}

double fan_share(const Scenario& scenario) {
  if (scenario.cooling && scenario.cooling->server_fan_share_of_IT_percent)
    return *scenario.cooling->server_fan_share_of_IT_percent / 100;
  return scenario.node->accelerator_count >= kDenseAccelerators ? kFanShare : kFanShareSmall;
}

std::optional<double> stated_pue(const Scenario& scenario) {
  if (scenario.spec.cluster.facility.pue) return scenario.spec.cluster.facility.pue;
  if (scenario.site && scenario.site->pue) return *scenario.site->pue;
  const Cooling* cooling = scenario.cooling;
  if (cooling && cooling->pue_low && cooling->pue_high) return (*cooling->pue_low + *cooling->pue_high) / 2;
  return std::nullopt;
}

}  // namespace

Watts PowerModel::node_inside(Watts devices) const {
  // Fans are part of the IT power that they are a share of.
  return (devices + host_busy) / (1 - fan_share);
}

Watts PowerModel::node_at_plug(Watts devices) const {
  const Watts inside = node_inside(devices);
  const bool known = psu && psu_rating_per_node > Watts(0);
  const double efficiency = known ? psu->efficiency(inside / psu_rating_per_node) : psu_default_efficiency;
  return inside / efficiency;
}

Watts PowerModel::cluster_at_meter(Watts per_device) const {
  if (kinds.empty()) return nodes * pue * node_at_plug(devices_per_node * per_device);
  // Devices of each kind are taken to be as busy as the mean: as far from idle to full load.
  const double busy = (per_device - device_idle) / (device_compute - device_idle);
  Watts sum;
  for (const PowerModel& kind : kinds)
    sum += kind.cluster_at_meter(kind.device_idle + (kind.device_compute - kind.device_idle) * busy);
  return sum;
}

PowerModel power_of_own_kind(const Scenario& scenario) {
  PowerModel power;
  set_device(power, scenario);
  const PartDraw host = host_of(scenario);
  power.host_idle = host.idle;
  power.host_busy = host.busy;
  power.fan_share = fan_share(scenario);
  const std::optional<double> pue = stated_pue(scenario);
  // Clients of a federation stand wherever their owners are.
  const bool at_home = scenario.update == UpdateMode::federated;
  power.pue = pue.value_or(at_home ? 1 : kDefaultPue);
  power.pue_assumed = !pue && !at_home;
  power.devices_per_node = scenario.devices_per_node();
  power.nodes = scenario.spec.cluster.nodes;
  power.psu = scenario.psu;
  if (const auto& supplies = scenario.node->psus) {
    power.psu_rating_per_node =
        supplies->rating * scenario.spec.cluster.facility.supplies_in_use.value_or(supplies->count);
  }
  return power;
}

PowerModel power_of_kinds(std::vector<PowerModel> kinds) {
  if (kinds.size() == 1) return std::move(kinds.front());
  PowerModel mean;
  mean.nodes = 0;
  mean.pue = 0;
  for (const PowerModel& kind : kinds) mean.nodes += kind.nodes;
  for (const PowerModel& kind : kinds) {
    const double share = static_cast<double>(kind.nodes) / mean.nodes;
    for (const auto watts : {&PowerModel::device_idle, &PowerModel::device_compute, &PowerModel::device_memory,
                             &PowerModel::device_updating, &PowerModel::device_waiting, &PowerModel::device_ready,
                             &PowerModel::host_idle, &PowerModel::host_busy})
      mean.*watts += kind.*watts * share;
    mean.pue += kind.pue * share;
    mean.pue_assumed = mean.pue_assumed || kind.pue_assumed;
    mean.devices_per_node = kind.devices_per_node;
  }
  mean.kinds = std::move(kinds);
  return mean;
}

std::vector<PowerModel> power_by_kind(const Scenario& scenario) {
  std::vector<PowerModel> out{power_of_own_kind(scenario)};
  for (const auto& other : scenario.other_kinds) out.push_back(power_of_own_kind(*other));
  return out;
}

PowerModel power_model(const Scenario& scenario) {
  if (scenario.other_kinds.empty()) return power_of_own_kind(scenario);
  std::vector<PowerModel> kinds;
  for (const NodeKind& kind : node_kinds(scenario)) {
    kinds.push_back(power_of_own_kind(*kind.scenario));
    kinds.back().nodes = kind.nodes;
  }
  return power_of_kinds(std::move(kinds));
}

}  // namespace stepcast
