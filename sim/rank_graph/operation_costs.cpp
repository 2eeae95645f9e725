#include "sim/rank_graph/operation_costs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/collectives/calibrated.hpp"
#include "sim/rank_graph/group_place.hpp"

namespace stepcast {

OperationCosts::OperationCosts(const RankIndex& index, const RankClasses& classes, const GraphCluster& cluster,
                               RankNetwork& network, std::string file)
    : index_(index), classes_(classes), cluster_(cluster), network_(network), file_(std::move(file)) {}

void OperationCosts::refuse(const RankOperation& operation, std::string message, std::string suggestion) const {
  throw InputError({{file_, "", fmt::format("{}: {}", describe(operation), message), std::move(suggestion)}});
}

CostedOperation OperationCosts::cost(int of, std::int32_t place) {
  const RankOperation& operation = index_.program(index_.program_of(classes_.representative(of))).operations[place];
  CostedOperation out;
  switch (operation.kind) {
    case RankOperationKind::compute:
    case RankOperationKind::memory:
      out = work(of, operation);
      break;
    case RankOperationKind::storage:
      out = storage(of, operation);
      break;
    case RankOperationKind::collective:
      out = collective(of, operation);
      break;
    case RankOperationKind::send:
      out = send(of, operation);
      break;
    case RankOperationKind::receive:
      // The message is the sender's operation; what is left is to have got it.
      out.operation.kind = OperationKind::send_recv;
      out.operation.stream = StreamKind::pipeline_receive;
      break;
  }
  out.operation.device = of;
  out.operation.name = operation.name;
  return out;
}

/// Products at the device's sustained rate, or the traffic with its memory, whichever takes longer; one kernel.
Seconds OperationCosts::duration(const RankOperation& operation) const {
  if (operation.duration) return *operation.duration;
  if (!cluster_.device)
    refuse(operation, "states work, and the cluster has no model of a device that would time it",
           "state duration_us, or name a cluster with a known device");
  const Device& device = *cluster_.device;
  const Seconds products = operation.work.value_or(Flops(0)) / device.product.sustained_rate;
  const Seconds traffic = operation.memory.value_or(Bytes(0)) / device.memory_bandwidth;
  return device.kernel_floor + std::max(products, traffic);
}

CostedOperation OperationCosts::work(int, const RankOperation& operation) {
  CostedOperation out;
  // What the host does is not slowed down by collectives on the device.
  out.operation.kind = operation.host ? OperationKind::overhead : OperationKind::compute;
  out.operation.stream = StreamKind::compute;
  out.operation.work = out.alone = duration(operation);
  return out;
}

CostedOperation OperationCosts::storage(int of, const RankOperation& operation) {
  CostedOperation out;
  out.operation.kind = OperationKind::storage;
  out.operation.stream = StreamKind::copy;
  out.operation.dimension = Dimension::storage;
  if (operation.duration) {
    out.operation.work = out.alone = *operation.duration;
    return out;
  }
  if (!cluster_.drives)
    refuse(operation, "reads from drives, and the rate of the cluster's is not known", "state duration_us");
  out.size = *operation.size;
  out.flows = network_.storage(of, out.size);
  out.alone = out.size * static_cast<double>(classes_.per_node(of)) / *cluster_.drives;
  return out;
}

void OperationCosts::want_network(const RankOperation& operation) const {
  if (cluster_.interconnect.node_network > BytesPerSecond(0)) return;
  refuse(operation, "goes from node to node, and the cluster's nodes have no NIC of known rate",
         "a node with NICs, or cluster.fabric.nics_per_node and nic_bandwidth_Gbps");
}

const GroupShape& OperationCosts::shape(int of, int group) {
  const int list = index_.list_of(group, classes_.representative(of));
  const auto [entry, fresh] = shapes_.try_emplace({group, classes_.kind_of_list(group, list)});
  if (fresh) entry->second = place_group(index_, cluster_, group, list);
  return entry->second;
}

CollectiveCost OperationCosts::priced(CollectiveKind kind, Bytes size, const GroupShape& group,
                                      CollectiveAlgorithm algorithm, CollectiveProtocol protocol) const {
  const CollectiveCost cost = collective_cost(kind, size, group, cluster_.interconnect, algorithm, protocol);
  // What was measured is the library's own choice; a forced algorithm is the model's alone.
  const bool chosen = algorithm == CollectiveAlgorithm::automatic && protocol == CollectiveProtocol::automatic;
  if (!cluster_.machine || !chosen) return cost;
  return calibrated(cost, kind, size, group, cluster_.interconnect, *cluster_.machine);
}

CostedOperation OperationCosts::collective(int of, const RankOperation& operation) {
  const GroupShape& group = shape(of, index_.group_of(operation));
  CostedOperation out;
  out.operation.kind = OperationKind::collective;
  out.operation.stream = StreamKind::layer_communication;
  out.operation.collective = *operation.collective;
  out.size = payload_of(operation, static_cast<std::size_t>(group.size));
  if (group.size < 2) return out;
  if (group.nodes() > 1) want_network(operation);
  const CollectiveCost cost = priced(*operation.collective, out.size, group, cluster_.algorithm, cluster_.protocol);
  out.operation.work = cost.latency;
  out.flows = network_.collective(of, cost, group);
  if (!out.flows.empty()) out.operation.slowdown = static_cast<float>(index_.graph().communication_slowdown);
  out.alone = cost.alone(cluster_.interconnect, group);
  return out;
}

CostedOperation OperationCosts::send(int of, const RankOperation& operation) {
  const int sender = classes_.representative(of), receiver = *peer_of(operation, sender);
  const bool beside = share_node(cluster_, sender, receiver);
  const GroupShape pair{2, beside ? 2 : 1, beside ? 1 : classes_.per_node(of)};
  if (!beside) want_network(operation);
  CostedOperation out;
  out.operation.kind = OperationKind::send_recv;
  out.operation.stream = StreamKind::pipeline_send;
  out.operation.dimension = Dimension::pipeline;
  out.operation.collective = CollectiveKind::send_recv;
  out.size = *operation.size;
  const CollectiveCost cost =
      priced(CollectiveKind::send_recv, out.size, pair, CollectiveAlgorithm::automatic, CollectiveProtocol::automatic);
  out.operation.work = cost.latency;
  out.flows = network_.message(of, classes_.class_of(receiver), cost);
  out.alone = cost.alone(cluster_.interconnect, pair);
  return out;
}

}  // namespace stepcast
