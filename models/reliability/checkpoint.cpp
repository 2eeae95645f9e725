#include "models/reliability/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/collectives/peer_ports.hpp"
#include "models/compute/host_link.hpp"
#include "models/memory/memory.hpp"
#include "models/parallelism/frozen_weights.hpp"
#include "models/parallelism/offload.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/reliability/checkpoint_copy.hpp"
#include "models/scenario/node_kinds.hpp"
#include "models/storage/decimal_bytes.hpp"
#include "models/storage/rates.hpp"
#include "models/updates/federated_run.hpp"
#include "models/workload/operators.hpp"

namespace stepcast {

namespace {

/// A node whose storage the catalogue does not know writes and reads like one data-centre NVMe drive (storage pm9a3:
/// 4.0 GB/s writing, 6.8 reading). Estimated.
constexpr BytesPerSecond kUnknownWrite = 4_GBps;
constexpr BytesPerSecond kUnknownRead = 6.8_GBps;
/// Models are averaged in fp32.
constexpr double kAverageBytes = 4;

struct Rates {
  BytesPerSecond write, read;  ///< of everything that takes part
  std::string assumed;         ///< what stands for rates that the catalogue does not know, in words
};

/// Of a node whose storage states no rate: `drive`, or less where the NICs to a shared system carry less.
BytesPerSecond unknown_rate(const Scenario& scenario, bool local, BytesPerSecond drive) {
  const std::optional<BytesPerSecond> way = local ? std::nullopt : way_to_shared(scenario);
  return way ? std::min(drive, *way) : drive;
}

std::string unknown_words(const Scenario& scenario, bool local) {
  const BytesPerSecond write = unknown_rate(scenario, local, kUnknownWrite),
                       read = unknown_rate(scenario, local, kUnknownRead);
  const bool narrower = write < kUnknownWrite || read < kUnknownRead;
  return fmt::format(
      "checkpoints pass as by one data-centre NVMe drive a node{}, {} written and {} read: the catalogue has no rates "
      "of {}",
      narrower ? " through its NICs" : "", decimal_text(write), decimal_text(read),
      local ? scenario.node->id + "'s drives" : scenario.storage->id);
}

/// Where all nodes are of the scenario's own kind. A full checkpoint passes through one node; from the shared system
/// all read it back.
Rates rates_of_kind(const Scenario& scenario, bool local, bool one_node) {
  const int nodes = scenario.spec.cluster.nodes, writers = one_node ? 1 : nodes;
  const auto write = joint_write_rate(scenario, local, writers);
  const auto read = joint_read_rate(scenario, local, nodes),
             read_by_writers = joint_read_rate(scenario, local, writers);
  const auto write_by_readers = joint_write_rate(scenario, local, nodes);
  Rates out;
  const std::string& where = local ? scenario.node->id : scenario.storage->id;
  if (!write && read_by_writers)
    out.assumed = fmt::format("checkpoints are written half as fast as {} reads: it states no rate of writing", where);
  else if (!read && write_by_readers)
    out.assumed = fmt::format("checkpoints are read as fast as {} writes: it states no rate of reading", where);
  else if (!write || !read)
    out.assumed = unknown_words(scenario, local);
  // What reads fast and is silent on writing writes half as fast, as most drives of the catalogue do; none reads slower
  // than it writes.
  out.write = write             ? *write
              : read_by_writers ? *read_by_writers / 2.0
                                : unknown_rate(scenario, local, kUnknownWrite) * writers;
  out.read = read ? *read : write_by_readers ? *write_by_readers : unknown_rate(scenario, local, kUnknownRead) * nodes;
  if (one_node && local) out.read *= 1.0 / nodes;
  return out;
}

/// All nodes write and read equal parts, so the slowest kind decides; a full checkpoint passes through the first node.
Rates rates_of(const Scenario& scenario, bool local, bool one_node) {
  const Scenario* first = kinds_by_node(scenario).front();
  Rates out = rates_of_kind(*first, local, one_node);
  if (one_node && local) return out;
  for (const NodeKind& kind : node_kinds(scenario)) {
    if (kind.scenario == first) continue;
    const Rates here = rates_of_kind(*kind.scenario, local, one_node);
    if (!one_node) out.write = std::min(out.write, here.write);
    out.read = std::min(out.read, here.read);
    if (out.assumed.empty()) out.assumed = here.assumed;
  }
  return out;
}

/// What lies on own drives is gone with a node that is replaced, so each node's part is on a second one's drives too:
/// these write twice as much, and it crosses the network (NVIDIA Resiliency Extension, local checkpoints with
/// replication; Wang et al. 2023, Gemini, SOSP).
void mirror(CheckpointCost& cost, const Job& job, bool one_node) {
  const Bytes part = cost.size / (one_node ? 1.0 : job.scenario->spec.cluster.nodes);
  Seconds sent;
  for (const ReplicaClass& replicas : job.fold.classes)
    for (const int state : replicas.state)
      sent = std::max(sent, part / peer_ports_of(job.in_state(state).interconnect).node);
  cost.write = std::max(2 * cost.write, sent);
  // The node that replaces another gets its part from the second copy; a full one goes to all.
  cost.read = std::max(cost.read, sent);
}

/// Whether savers deal out over the replicas what these hold alike, by whose checkpoints a framework writes: those of
/// Megatron-Core (dist_checkpointing, fully parallel save) and of JAX (Orbax, use_replica_parallel) do. PyTorch's
/// copies a rank's state before it plans who writes what (torch/distributed/checkpoint/state_dict_saver.py,
/// async_save).
bool replicas_share_saving(const FrameworkProfile& framework) {
  return framework.launch_settings == LaunchSettings::megatron || framework.launch_settings == LaunchSettings::jax;
}

/// States of a stage on one device: those that all ranks of its data-parallel group have alike, and its shards.
struct HeldStates {
  Bytes alike, shards;
};

HeldStates held_states(const Job& job, int stage) {
  const Scenario& scenario = *job.scenario;
  const auto at = static_cast<std::size_t>(stage);
  const StateBytes bytes = state_bytes(scenario);
  const OwnedParameters owned = owned_parameters(job, stage);
  const double whole = job.stage_parameters[at] + job.stage_expert_parameters[at];
  const double of_parameter = bytes.parameter + outer_state_bytes(scenario);
  const Bytes updated(bytes.optimizer * (owned.all - owned.in_matrices) + bytes.matrix_optimizer * owned.in_matrices);
  if (synchronization_plan(scenario).sharded_parameters) return {Bytes(0), Bytes(of_parameter * owned.all) + updated};
  const Bytes alike(of_parameter * whole);
  if (scenario.sharding == Sharding::none) return {alike + updated, Bytes(0)};
  return {alike, updated};
}

/// Time in which devices' states are copied to host memory, on nodes of the scenario's own kind. Those that lie there
/// already, or on drives, cross no link, and are read from there as well.
Seconds copy_time_of_kind(const Scenario& scenario, const CheckpointCopy& copy) {
  const Bytes in_node = copy.in_memory * static_cast<double>(scenario.devices_per_node());
  const BytesPerSecond memory = scenario.node->memory_bandwidth;
  if (scenario.accelerator == nullptr)
    return in_node / (memory > BytesPerSecond(0) ? memory
                                                 : scenario.cpu->memory_bandwidth *
                                                       static_cast<double>(std::max(1, scenario.node->cpu_count)));
  const StateBytes bytes = state_bytes(scenario);
  const double on_host =
      scenario.spec.strategy.offload_optimizer ? bytes.optimizer / (bytes.parameter + bytes.optimizer) : 0;
  const Seconds over_link = copy.of_device * (1 - on_host) / host_link_rate(scenario);
  const Seconds copied = memory > BytesPerSecond(0) ? std::max(over_link, in_node * (1 + on_host) / memory) : over_link;
  if (!offloads_to_drives(scenario)) return copied;
  return std::max(copied, in_node * on_host / *local_read_rate(scenario));
}

Seconds copy_time(const Job& job) {
  const CheckpointCopy copy = checkpoint_copy(job);
  Seconds out;
  for (const NodeKind& kind : node_kinds(*job.scenario)) out = std::max(out, copy_time_of_kind(*kind.scenario, copy));
  return out;
}

/// What the drives of each node hold at least; nothing where a kind's are not known.
std::optional<Bytes> least_capacity(const Scenario& scenario) {
  std::optional<Bytes> least;
  for (const NodeKind& kind : node_kinds(scenario)) {
    const std::optional<Bytes> here = local_capacity(*kind.scenario);
    if (!here) return std::nullopt;
    least = least ? std::min(*least, *here) : *here;
  }
  return least;
}

/// That a node's drives hold less than the last safe checkpoint and the next one beside it; nothing where they do not.
std::optional<std::string> beyond_drives(const Scenario& scenario, const CheckpointCost& cost, bool mirrored) {
  const std::optional<Bytes> room = least_capacity(scenario);
  if (!cost.local || !room) return std::nullopt;
  const int parts = cost.kind == CheckpointKind::full ? 1 : scenario.spec.cluster.nodes;
  const Bytes kept = 2.0 * (mirrored ? 2.0 : 1.0) * cost.size / static_cast<double>(parts);
  if (kept <= *room) return std::nullopt;
  return fmt::format("the last safe checkpoint and the next take {} of a node's drives, which hold {}{}",
                     decimal_text(kept), decimal_text(*room), mirrored ? " (each is on two nodes)" : "");
}

/// What a federation's server writes and reads by itself: nothing states its drives.
Rates rates_of_server(const Scenario& scenario, bool local) {
  if (local)
    return {kUnknownWrite, kUnknownRead,
            fmt::format("the server's checkpoints pass as by one data-centre NVMe drive, {} written and {} read",
                        decimal_text(kUnknownWrite), decimal_text(kUnknownRead))};
  Scenario server = scenario;
  server.spec.cluster.nodes = 1;
  return rates_of_kind(server, false, true);
}

/// Where a checkpoint lies, in words.
std::string place_of(const Scenario& scenario, bool local, bool mirrored) {
  if (!local) return scenario.storage->id;
  if (scenario.update == UpdateMode::federated) return "the server's drives";
  return mirrored ? "local drives of two nodes" : "local drives";
}

}  // namespace

Bytes checkpoint_size(const Job& job) {
  const Scenario& scenario = *job.scenario;
  const StateBytes bytes = state_bytes(scenario);
  const int rank = scenario.spec.workload.adapter_rank;
  const double trained = rank > 0 ? adapter_parameter_count(*scenario.model, rank, adapter_targets(scenario))
                                  : parameter_count(*scenario.model);
  // A federation's server keeps the average; its clients' optimizers begin anew in every round.
  if (scenario.update == UpdateMode::federated) return Bytes(kAverageBytes * trained);
  const bool by_muon = optimizer_of(scenario) == OptimizerKind::muon;
  const double in_matrices = by_muon ? hidden_parameter_count(*scenario.model, rank, adapter_targets(scenario)) : 0;
  return Bytes((bytes.parameter + bytes.optimizer + outer_state_bytes(scenario)) * trained +
               (bytes.matrix_optimizer - bytes.optimizer) * in_matrices);
}

CheckpointCopy checkpoint_copy(const Job& job) {
  const Scenario& scenario = *job.scenario;
  const std::optional<Bytes> stated = scenario.spec.run.checkpoint.size;
  const Bytes share = stated.value_or(checkpoint_size(job)) / static_cast<double>(scenario.devices());
  // A federation's server holds what it saves.
  if (replicas_share_saving(*scenario.framework) || scenario.update == UpdateMode::federated) return {share, share};
  CheckpointCopy most;
  for (int stage = 0; stage < scenario.degrees.pp; ++stage) {
    const HeldStates held = held_states(job, stage);
    most.of_device = std::max(most.of_device, held.alike + held.shards);
    most.in_memory = std::max(most.in_memory, held.alike / std::max(1, job.groups.data.per_node) + held.shards);
  }
  const double scale = stated ? *stated / checkpoint_size(job) : 1;
  return {most.of_device * scale, most.in_memory * scale};
}

BytesPerSecond writing_rate(const Scenario& scenario, bool local) {
  return rates_of_kind(scenario, local, false).write / scenario.spec.cluster.nodes;
}

CheckpointCost checkpoint_cost(const Job& job) {
  const Scenario& scenario = *job.scenario;
  const CheckpointSpec& spec = scenario.spec.run.checkpoint;
  CheckpointCost out;
  out.kind = spec.kind;
  out.local = spec.target ? *spec.target == CheckpointTarget::local : scenario.storage == nullptr;
  out.size = spec.size.value_or(checkpoint_size(job));
  const bool one_node = spec.kind == CheckpointKind::full;
  const bool by_server = scenario.update == UpdateMode::federated;
  const Rates rates = by_server ? rates_of_server(scenario, out.local) : rates_of(scenario, out.local, one_node);
  out.write = out.size / rates.write;
  // Each replica's states come from storage once and go on to the others over the network.
  out.read = out.size / rates.read;
  const bool mirrored = out.local && scenario.spec.cluster.nodes > 1 && !by_server;
  if (mirrored) mirror(out, job, one_node);
  out.stall = out.write;
  if (spec.kind == CheckpointKind::asynchronous) {
    out.stall = by_server ? out.size / kFederatedServerMemory : copy_time(job);
    out.write += out.stall;
    out.shortest_interval = out.write;
  }
  out.basis = fmt::format("{} to {} at {}{}", decimal_text(out.size), place_of(scenario, out.local, mirrored),
                          decimal_text(rates.write), rates.assumed.empty() ? "" : " (rate assumed)");
  if (spec.kind == CheckpointKind::none) {
    out.stall = out.write = out.read = Seconds(0);
    return out;
  }
  if (!rates.assumed.empty()) out.remarks.push_back(rates.assumed);
  if (by_server) return out;
  if (auto words = beyond_drives(scenario, out, mirrored)) out.remarks.push_back(std::move(*words));
  return out;
}

}  // namespace stepcast
