#include "sim/step/column_builder.hpp"

namespace stepcast {

void ColumnBuilder::await(int chunk, int micro_batch, bool forward, int operation) {
  awaited_.push_back({slot_of(chunk, micro_batch), forward, operation});
}

/// The activation (or its gradient) goes to the neighbour; without a neighbour on another stage the slot's end
/// counts.
void ColumnBuilder::send(int stage, int c, const Slot& slot, bool forward) {
  StageState& state = state_[stage];
  const int target = forward ? c + 1 : c - 1;
  int& done = (forward ? forward_done_ : backward_done_)[slot_of(c, slot.micro_batch)];
  done = state.compute;
  if (target < 0 || target >= static_cast<int>(job_.chunks.size())) return;
  const int to = job_.chunks[target].stage;
  if (to == stage) return;
  const CollectiveCost& cost =
      context_.message(column_.state[stage], stage, to, job_.chunks[forward ? c : target].send);
  Operation operation;
  operation.kind = OperationKind::send_recv;
  operation.stream = StreamKind::pipeline_send;
  operation.dimension = Dimension::pipeline;
  operation.collective = CollectiveKind::send_recv;
  operation.device = members_[stage].device;
  operation.work = cost.latency;
  operation.micro_batch = slot.micro_batch;
  operation.name = forward ? "send activation" : "send gradient";
  operation.payload = cost.payload;
  if (!forward) operation.stream = StreamKind::pipeline_receive;
  done = context_.graph.add_operation(operation, network_.message(members_[stage], members_[to], cost));
  after(state.compute, done);
  int& stream = forward ? state.send_forward : state.send_backward;
  if (stream != state.compute) after(stream, done);
  stream = done;
  if (!job_.scenario->framework->overlap_pipeline_messages) state.compute = done;
}

void ColumnBuilder::connect_messages() {
  for (const Awaited& edge : awaited_) {
    const int done = (edge.forward ? forward_done_ : backward_done_)[edge.slot];
    after(done, edge.operation);
  }
}

}  // namespace stepcast
