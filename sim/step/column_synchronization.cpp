#include "sim/step/column_builder.hpp"

namespace stepcast {

int ColumnBuilder::add_collective(int stage, StreamKind stream, OperationKind kind, CollectiveKind collective,
                                  Dimension dimension, GroupKind group, const CollectiveCost& cost,
                                  std::string_view name) {
  const std::vector<Flow> flows = network_.collective(members_[stage], group, cost);
  Operation operation;
  operation.kind = kind;
  operation.stream = stream;
  operation.dimension = dimension;
  operation.collective = collective;
  operation.device = members_[stage].device;
  operation.work = cost.latency;
  // Point-to-point messages are copies; only collectives hold SMs enough to slow the computation beside them down.
  const bool holds_sms = !flows.empty() && collective != CollectiveKind::send_recv;
  operation.slowdown = holds_sms ? static_cast<float>(job_at(stage).communication_slowdown) : 0.0F;
  operation.name = name;
  operation.group = group;
  operation.calls = cost.calls;
  operation.payload = cost.payload;
  const int added = context_.graph.add_operation(operation, flows);
  joins_.add(members_[stage], group, added);
  return added;
}

int ColumnBuilder::add_layer_collective(int stage, const Piece& piece) {
  return add_collective(stage, StreamKind::layer_communication, OperationKind::collective, piece.collective,
                        piece.dimension, group_of(piece.dimension), piece.cost, piece.name);
}

/// Emits the operations of one cost on a stream; returns the last, or kNone when there is nothing to do.
int ColumnBuilder::synchronize(int stage, StreamKind stream, int& stream_end, const std::vector<int>& wait_for,
                               CollectiveKind collective, GroupKind group, const CollectiveCost& cost,
                               std::string_view name) {
  if (cost.latency <= Seconds(0) && cost.native_bytes <= Bytes(0) && cost.network_bytes <= Bytes(0)) return kNone;
  const OperationKind kind =
      stream == StreamKind::gather_communication ? OperationKind::gather : OperationKind::collective;
  const int operation = add_collective(stage, stream, kind, collective, Dimension::data, group, cost, name);
  after(stream_end, operation);
  for (const int before : wait_for)
    if (before != stream_end) after(before, operation);
  stream_end = operation;
  return operation;
}

void ColumnBuilder::reduce(int stage, const SyncUnit& unit, int ready) {
  StageState& state = state_[stage];
  const auto step = [&](CollectiveKind kind, GroupKind group, const CollectiveCost& cost, std::string_view name) {
    const int operation =
        synchronize(stage, StreamKind::data_communication, state.data, {ready}, kind, group, cost, name);
    if (operation != kNone) state.synchronized.assign(1, operation);
  };
  step(plan_.reduction, replicas(), unit.reduce, "gradients");
  step(CollectiveKind::all_gather, GroupKind::data, unit.signs, "summed signs");
  step(CollectiveKind::all_reduce, GroupKind::replicate, unit.replicate, "gradients between shards");
  step(plan_.expert_reduction, GroupKind::expert_data, unit.expert_reduce, "expert gradients");
}

int ColumnBuilder::gather(int stage, const SyncUnit& unit, const std::vector<int>& wait_for) {
  StageState& state = state_[stage];
  int last = kNone;
  const auto step = [&](GroupKind group, const CollectiveCost& cost, std::string_view name) {
    const int operation =
        synchronize(stage, StreamKind::gather_communication, state.gather, wait_for, plan_.gather, group, cost, name);
    if (operation != kNone) last = operation;
  };
  step(GroupKind::shard, unit.gather, "parameters");
  step(GroupKind::expert_data, unit.expert_gather, "expert parameters");
  return last;
}

/// ZeRO-1/2 with overlap: parameters updated by the step before are gathered under this step's first forward pass.
void ColumnBuilder::gather_before_forward(int stage) {
  StageState& state = state_[stage];
  state.parameters_ready.assign(state.units->size(), kNone);
  if (!plan_.gather_under_forward || plan_.gather_each_forward) return;
  for (std::size_t u = state.units->size(); u-- > 0;) state.parameters_ready[u] = gather(stage, (*state.units)[u], {});
}

/// Without overlap the computation waits until a micro-batch's gradients have been reduced.
void ColumnBuilder::reduce_chunk(int stage, int c) {
  StageState& state = state_[stage];
  for (const SyncUnit& unit : *state.units)
    if (unit.chunk == c) reduce(stage, unit, state.compute);
  if (state.data != kNone) state.compute = state.data;
}

void ColumnBuilder::reduce_rest(int stage) {
  StageState& state = state_[stage];
  if (plan_.overlap || plan_.accumulated > 0) return;
  for (const SyncUnit& unit : *state.units) reduce(stage, unit, state.compute);
}

void ColumnBuilder::reduce_tied_embedding() {
  const int last = stages_ - 1;
  for (const int stage : {0, last}) {
    const std::optional<TiedEmbedding> tied = tied_embedding_sum(job_at(stage));
    if (!tied) return;
    StageState& state = state_[stage];
    // Each end waits for the other's gradient.
    const int operation =
        synchronize(stage, StreamKind::data_communication, state.data, {state_[0].compute, state_[last].compute},
                    CollectiveKind::all_reduce, GroupKind::pipeline, tied->cost, "tied embedding gradients");
    if (operation != kNone) state.synchronized.push_back(operation);
  }
}

bool ColumnBuilder::gathers(StageState& state, const Slot& slot) const {
  const bool forward = slot.phase == Phase::forward;
  if (plan_.gather_each_forward) return forward;
  if (!plan_.sharded_parameters || slot.phase == Phase::backward_weight) return false;
  const auto chunk = static_cast<std::size_t>(slot.chunk);
  const bool whole = state.gathered[chunk];
  state.gathered[chunk] = plan_.kept_after_backward && !forward;
  return !whole;
}

/// A gather may start when all but one of the units before its own are done; without prefetch, when all are.
std::vector<int> ColumnBuilder::gather_waits_for(const StageState& state, bool forward) const {
  if (state.unit_ends.empty()) return {};
  const bool prefetch = forward ? plan_.sharded_parameters || plan_.gather_under_forward : plan_.prefetch_backward;
  if (!prefetch) return {state.unit_ends.back()};
  if (state.unit_ends.size() < kGathersInFlight) return {};
  return {state.unit_ends.front()};
}

}  // namespace stepcast
