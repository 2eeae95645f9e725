#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "models/parallelism/schedule.hpp"
#include "models/parallelism/synchronization.hpp"
#include "sim/build.hpp"
#include "sim/program.hpp"
#include "sim/step/joins.hpp"
#include "sim/step/network.hpp"

namespace stepcast {

/// What the columns of a job's graph have in common.
class StepContext {
 public:
  StepContext(const Job& job, const BuildOptions& options, StepGraph& graph);

  const Job& job;
  const BuildOptions options;
  const SynchronizationPlan plan;
  StepGraph& graph;

  /// Programs of stages on nodes in one of Fold::states.
  ProgramCache& programs(int state) { return *programs_[static_cast<std::size_t>(state)]; }
  /// sync_units of the job in a state; worked out once.
  const std::vector<SyncUnit>& units(int state, int stage);
  /// Cost of stage_message between two stages in a state; worked out once.
  const CollectiveCost& message(int state, int from, int to, Bytes bytes);
  /// Index into StepGraph::segments; added when first asked for.
  int segment_id(const Segment& segment);

 private:
  std::vector<std::shared_ptr<ProgramCache>> programs_;
  std::map<std::pair<int, int>, std::vector<SyncUnit>> units_;
  std::map<std::tuple<int, int, int, double>, CollectiveCost> messages_;
  std::map<const Segment*, int> segment_ids_;
};

/// Emits one step of one column: the programs of its stages, what they synchronise and the messages between them.
class ColumnBuilder {
 public:
  ColumnBuilder(StepContext& context, const Column& column, std::vector<Member> members, StepNetwork& network,
                Joins& joins);

  /// Emits everything. Returns the operations that end the step: one for each stage, and the reading of input.
  std::vector<int> build();

 private:
  static constexpr int kNone = -1;
  /// Units ahead of the computation whose parameters may be gathered: FSDP keeps two gathers in flight
  /// (limit_all_gathers).
  static constexpr std::size_t kGathersInFlight = 2;

  struct StageState {
    const std::vector<SyncUnit>* units = nullptr;  ///< in order of gradient readiness
    int compute = kNone;                           ///< last operation of the compute stream
    int data = kNone, gather = kNone;              ///< last operation of these streams
    int send_forward = kNone, send_backward = kNone;
    std::vector<int> beside;            ///< collectives that run beside the next part of the program
    std::vector<int> due;               ///< collectives that the next part waits for
    std::vector<int> synchronized;      ///< operations that the update waits for
    std::vector<int> parameters_ready;  ///< by unit: gather before the first forward pass (ZeRO-1/2)
    std::deque<int> unit_ends;          ///< last compute operations of the latest units (FSDP)
    std::vector<bool> gathered;         ///< by chunk: its parameters are whole since a backward pass
  };
  /// An edge from a message that is still to be emitted.
  struct Awaited {
    std::size_t slot;
    bool forward;
    int operation;
  };
  /// Runs of positions of a chunk's layers that are synchronised together, in the order of the phase.
  struct Range {
    int first, last;
    int unit;  ///< index into StageState::units, or kNone
  };

  [[nodiscard]] std::size_t slot_of(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * micro_batches_ + micro_batch;
  }
  void after(int before, int operation) {
    if (before != kNone) context_.graph.add_edge(before, operation);
  }
  [[nodiscard]] const Job& job_at(int stage) const { return job_.in_state(column_.state[stage]); }

  // column_compute.cpp
  std::vector<int> load_input();
  void emit_stage(int stage);
  void emit_slot(int stage, int chunk, const Slot& slot, bool reduces);
  void emit_merged(int stage, const Slot& slot);
  int emit_program(int stage, const Program& program, const Chunk& chunk, const Slot& slot);
  int add_compute(int stage, const Segment& segment, const Chunk& chunk, const Slot& slot);
  int add_work(int stage, OperationKind kind, Seconds work, std::string_view name);
  int update(int stage);
  [[nodiscard]] std::vector<Range> ranges(int stage, int chunk, Phase phase, bool cut) const;
  void check_size(std::size_t operations) const;

  // column_synchronization.cpp
  int add_collective(int stage, StreamKind stream, OperationKind kind, CollectiveKind collective, Dimension dimension,
                     GroupKind group, const CollectiveCost& cost, std::string_view name);
  int add_layer_collective(int stage, const Piece& piece);
  int synchronize(int stage, StreamKind stream, int& stream_end, const std::vector<int>& wait_for,
                  CollectiveKind collective, GroupKind group, const CollectiveCost& cost, std::string_view name);
  void reduce(int stage, const SyncUnit& unit, int ready);
  /// Who reduces and gathers dense parameters.
  /// Over which gradients are reduced: a reduce-scatter stays inside the group that shares one copy.
  [[nodiscard]] GroupKind replicas() const {
    return plan_.reduction == CollectiveKind::reduce_scatter ? GroupKind::shard : GroupKind::data;
  }
  int gather(int stage, const SyncUnit& unit, const std::vector<int>& wait_for);
  void gather_before_forward(int stage);
  void reduce_chunk(int stage, int chunk);
  void reduce_rest(int stage);
  void reduce_tied_embedding();
  /// Whether a pass gathers the parameters that it uses. Passes are asked for in their order.
  bool gathers(StageState& state, const Slot& slot) const;
  /// A gather may start when all but one of the units before its own are done; without prefetch, when all are.
  [[nodiscard]] std::vector<int> gather_waits_for(const StageState& state, bool forward) const;

  // column_messages.cpp
  void await(int chunk, int micro_batch, bool forward, int operation);
  void send(int stage, int chunk, const Slot& slot, bool forward);
  void connect_messages();

  StepContext& context_;
  const Job& job_;
  const SynchronizationPlan& plan_;
  const Column& column_;
  const std::vector<Member> members_;  ///< by stage
  StepNetwork& network_;
  Joins& joins_;
  int stages_;
  int micro_batches_;
  std::vector<StageState> state_;
  std::vector<int> forward_done_, backward_done_;  ///< by slot: what the next chunk waits for
  std::vector<Awaited> awaited_;
};

}  // namespace stepcast
