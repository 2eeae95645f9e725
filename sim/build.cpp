#include "sim/build.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "models/parallelism/message.hpp"
#include "models/parallelism/schedule.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/storage/storage.hpp"
#include "sim/network.hpp"
#include "sim/program.hpp"

namespace stepcast {

namespace {

constexpr int kNone = -1;

/// Units ahead of the computation whose parameters may be gathered: FSDP keeps two gathers in flight
/// (limit_all_gathers).
constexpr std::size_t kGathersInFlight = 2;

class Builder {
 public:
  Builder(const Job& job, const BuildOptions& options)
      : job_(job),
        plan_(synchronization_plan(*job.scenario)),
        programs_(std::make_shared<ProgramCache>(job, options.granularity)),
        network_(job, graph_),
        stages_(job.scenario->degrees.pp),
        micro_batches_(static_cast<int>(job.scenario->degrees.micro_batches)),
        most_operations_(options.most_operations) {
    graph_.keep(programs_);
  }

  StepGraph build() {
    const Scenario& scenario = *job_.scenario;
    const double multiplicity = static_cast<double>(scenario.devices()) / stages_;
    const auto slots = static_cast<std::size_t>(micro_batches_) * job_.chunks.size();
    forward_done_.assign(slots, kNone);
    backward_done_.assign(slots, kNone);
    for (int stage = 0; stage < stages_; ++stage) {
      graph_.add_device(stages_ > 1 ? fmt::format("pipeline stage {}", stage) : "device", multiplicity);
      state_.emplace_back();
      state_.back().units = sync_units(job_, stage);
      load_input(stage);
      gather_before_forward(stage);
    }
    // A message may be wanted before the program that sends it has been emitted, so edges to it wait until the end.
    for (int stage = 0; stage < stages_; ++stage) emit_stage(stage);
    connect_messages();
    for (int stage = 0; stage < stages_; ++stage) reduce_rest(stage);
    reduce_tied_embedding();
    for (int stage = 0; stage < stages_; ++stage) update(stage);
    graph_.finish();
    return std::move(graph_);
  }

 private:
  struct StageState {
    std::vector<SyncUnit> units;       ///< in order of gradient readiness
    int compute = kNone;               ///< last operation of the compute stream
    int data = kNone, gather = kNone;  ///< last operation of these streams
    int send_forward = kNone, send_backward = kNone;
    int beside = kNone;                 ///< collective that runs beside the next part of the program
    int due = kNone;                    ///< collective that the next part waits for
    int input = kNone;                  ///< input of the step is on the device
    std::vector<int> synchronized;      ///< operations that the update waits for
    std::vector<int> parameters_ready;  ///< by unit: gather before the first forward pass (ZeRO-1/2)
    std::deque<int> unit_ends;          ///< last compute operations of the latest units (FSDP)
  };
  /// An edge from a message that is still to be emitted.
  struct Awaited {
    std::size_t slot;
    bool forward;
    int operation;
  };

  std::size_t slot_of(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * micro_batches_ + micro_batch;
  }

  void after(int before, int operation) {
    if (before != kNone) graph_.add_edge(before, operation);
  }

  int add_collective(int stage, StreamKind stream, OperationKind kind, CollectiveKind collective, Dimension dimension,
                     const CollectiveCost& cost, std::string_view name) {
    const std::vector<Flow> flows = network_.collective(stage, cost);
    Operation operation;
    operation.kind = kind;
    operation.stream = stream;
    operation.dimension = dimension;
    operation.collective = collective;
    operation.device = stage;
    operation.work = cost.latency;
    // Point-to-point messages are copies; only collectives hold SMs enough to slow the computation beside them down.
    const bool holds_sms = !flows.empty() && collective != CollectiveKind::send_recv;
    operation.slowdown = holds_sms ? static_cast<float>(job_.communication_slowdown) : 0.0F;
    operation.name = name;
    return graph_.add_operation(operation, flows);
  }

  // --- input -----------------------------------------------------------------------------------------------------

  void load_input(int stage) {
    const Bytes input = input_per_device(*job_.scenario) * stages_;
    if (stage != 0) return;
    const std::vector<Flow> read = network_.storage_read(stage, input);
    const std::vector<Flow> copy = network_.host_to_device(stage, input);
    if (read.empty() || copy.empty()) return;
    Operation operation;
    operation.kind = OperationKind::storage;
    operation.stream = StreamKind::copy;
    operation.dimension = Dimension::storage;
    operation.collective = CollectiveKind::send_recv;
    operation.device = stage;
    operation.name = "read input";
    const int reading = graph_.add_operation(operation, read);
    operation.name = "copy input";
    state_[stage].input = graph_.add_operation(operation, copy);
    after(reading, state_[stage].input);
  }

  // --- gradients and parameters ----------------------------------------------------------------------------------

  /// Emits the operations of one cost on a stream; returns the last, or kNone when there is nothing to do.
  int synchronize(int stage, StreamKind stream, int& stream_end, const std::vector<int>& wait_for,
                  CollectiveKind collective, const CollectiveCost& cost, std::string_view name) {
    if (cost.latency <= Seconds(0) && cost.native_bytes <= Bytes(0) && cost.network_bytes <= Bytes(0)) return kNone;
    const OperationKind kind =
        stream == StreamKind::gather_communication ? OperationKind::gather : OperationKind::collective;
    const int operation = add_collective(stage, stream, kind, collective, Dimension::data, cost, name);
    after(stream_end, operation);
    for (const int before : wait_for)
      if (before != stream_end) after(before, operation);
    stream_end = operation;
    return operation;
  }

  void reduce(int stage, const SyncUnit& unit, int ready) {
    StageState& state = state_[stage];
    const auto step = [&](CollectiveKind kind, const CollectiveCost& cost, std::string_view name) {
      const int operation = synchronize(stage, StreamKind::data_communication, state.data, {ready}, kind, cost, name);
      if (operation != kNone) state.synchronized.assign(1, operation);
    };
    step(plan_.reduction, unit.reduce, "gradients");
    step(CollectiveKind::all_reduce, unit.replicate, "gradients between shards");
    step(plan_.reduction, unit.expert_reduce, "expert gradients");
  }

  int gather(int stage, const SyncUnit& unit, const std::vector<int>& wait_for) {
    StageState& state = state_[stage];
    int last = kNone;
    const auto step = [&](const CollectiveCost& cost, std::string_view name) {
      const int operation =
          synchronize(stage, StreamKind::gather_communication, state.gather, wait_for, plan_.gather, cost, name);
      if (operation != kNone) last = operation;
    };
    step(unit.gather, "parameters");
    step(unit.expert_gather, "expert parameters");
    return last;
  }

  /// ZeRO-1/2 with overlap: parameters updated by the step before are gathered under this step's first forward pass.
  void gather_before_forward(int stage) {
    StageState& state = state_[stage];
    state.parameters_ready.assign(state.units.size(), kNone);
    if (!plan_.gather_under_forward) return;
    for (std::size_t u = state.units.size(); u-- > 0;) state.parameters_ready[u] = gather(stage, state.units[u], {});
  }

  /// Without overlap the computation waits until a micro-batch's gradients have been reduced.
  void reduce_chunk(int stage, int c) {
    StageState& state = state_[stage];
    for (const SyncUnit& unit : state.units)
      if (unit.chunk == c) reduce(stage, unit, state.compute);
    if (state.data != kNone) state.compute = state.data;
  }

  void reduce_rest(int stage) {
    StageState& state = state_[stage];
    if (plan_.overlap || plan_.every_micro_batch) return;
    for (const SyncUnit& unit : state.units) reduce(stage, unit, state.compute);
  }

  void reduce_tied_embedding() {
    const std::optional<TiedEmbedding> tied = tied_embedding_sum(job_);
    if (!tied) return;
    const int last = stages_ - 1;
    for (const int stage : {0, last}) {
      StageState& state = state_[stage];
      // Each end waits for the other's gradient.
      const int operation =
          synchronize(stage, StreamKind::data_communication, state.data, {state_[0].compute, state_[last].compute},
                      CollectiveKind::all_reduce, tied->cost, "tied embedding gradients");
      if (operation != kNone) state.synchronized.push_back(operation);
    }
  }

  // --- computation -----------------------------------------------------------------------------------------------

  /// Emits a program on a stage's compute stream. Returns its first operation.
  int emit_program(int stage, const Program& program, const Chunk& chunk, const Slot& slot) {
    StageState& state = state_[stage];
    int first = kNone;
    for (const ProgramPart& part : program) {
      const int operation =
          part.segment ? add_compute(stage, *part.segment, chunk, slot) : add_layer_collective(stage, *part.collective);
      if (first == kNone) first = operation;
      after(state.compute, operation);
      // A collective beside the next part starts when the one before it has arrived, and so does that part.
      after(state.due, operation);
      if (!part.segment && part.collective->overlaps_next) {
        state.beside = operation;
        continue;
      }
      state.due = std::exchange(state.beside, kNone);
      state.compute = operation;
    }
    return first;
  }

  int add_compute(int stage, const Segment& segment, const Chunk& chunk, const Slot& slot) {
    Operation operation;
    operation.device = stage;
    operation.work = segment.total();
    operation.segment = segment_id(segment);
    operation.micro_batch = slot.micro_batch;
    operation.chunk = static_cast<std::int16_t>(chunk.index);
    operation.phase = static_cast<std::uint8_t>(slot.phase);
    operation.name = slot.phase == Phase::forward          ? "forward"
                     : slot.phase == Phase::backward       ? "backward"
                     : slot.phase == Phase::backward_input ? "backward input"
                                                           : "backward weight";
    return graph_.add_operation(operation);
  }

  int segment_id(const Segment& segment) {
    const auto [entry, fresh] = segment_ids_.try_emplace(&segment, 0);
    if (fresh) entry->second = graph_.add_segment(&segment);
    return entry->second;
  }

  int add_layer_collective(int stage, const Piece& piece) {
    return add_collective(stage, StreamKind::layer_communication, OperationKind::collective, piece.collective,
                          piece.dimension, piece.cost, piece.name);
  }

  /// Runs of positions of a chunk's layers that are synchronised together, in the order of the phase.
  struct Range {
    int first, last;
    int unit;  ///< index into StageState::units, or kNone
  };
  std::vector<Range> ranges(int stage, int c, Phase phase, bool cut) const {
    const auto layers = static_cast<int>(job_.chunks[c].layer_kinds.size());
    std::vector<Range> out;
    if (cut)
      for (std::size_t u = 0; u < state_[stage].units.size(); ++u) {
        const SyncUnit& unit = state_[stage].units[u];
        if (unit.chunk == c) out.push_back({unit.first, unit.last, static_cast<int>(u)});
      }
    if (out.empty()) return {{0, layers - 1, kNone}};
    // Layers behind the last unit with parameters (or between units) run with the unit after them.
    int next = layers - 1;
    for (Range& range : out) {
      range.last = next;
      next = range.first - 1;
    }
    out.back().first = 0;
    if (phase == Phase::forward) std::reverse(out.begin(), out.end());
    return out;
  }

  void emit_slot(int stage, int c, const Slot& slot, bool reduces) {
    StageState& state = state_[stage];
    const Chunk& chunk = job_.chunks[c];
    const bool forward = slot.phase == Phase::forward;
    const bool first_forward = forward && slot.micro_batch == 0 && plan_.gather_under_forward;
    const bool cut = plan_.sharded_parameters || first_forward || (reduces && plan_.overlap);
    int first = kNone;
    for (const Range& range : ranges(stage, c, slot.phase, cut)) {
      int parameters = kNone;
      if (range.unit != kNone && first_forward) parameters = state.parameters_ready[range.unit];
      if (range.unit != kNone && plan_.sharded_parameters && slot.phase != Phase::backward_weight)
        parameters = gather(stage, state.units[range.unit], gather_waits_for(state, forward));
      const int start =
          emit_program(stage, programs_->program(chunk, range.first, range.last, slot.phase), chunk, slot);
      if (first == kNone) first = start;
      if (start != kNone) after(parameters, start);
      state.unit_ends.push_back(state.compute);
      if (state.unit_ends.size() > kGathersInFlight) state.unit_ends.pop_front();
      if (range.unit != kNone && reduces && plan_.overlap) reduce(stage, state.units[range.unit], state.compute);
    }
    if (reduces && plan_.every_micro_batch && !plan_.overlap) reduce_chunk(stage, c);
    if (first == kNone) return;
    if (forward && c > 0) await(c - 1, slot.micro_batch, true, first);
    const bool gradient_wanted = slot.phase == Phase::backward || slot.phase == Phase::backward_input;
    if (gradient_wanted && c + 1 < static_cast<int>(job_.chunks.size())) await(c + 1, slot.micro_batch, false, first);
    if (forward || gradient_wanted) send(stage, c, slot, forward);
  }

  /// A gather may start when all but one of the units before its own are done; without prefetch, when all are.
  std::vector<int> gather_waits_for(const StageState& state, bool forward) const {
    if (state.unit_ends.empty()) return {};
    const bool prefetch = forward || plan_.prefetch_backward;
    if (!prefetch) return {state.unit_ends.back()};
    if (state.unit_ends.size() < kGathersInFlight) return {};
    return {state.unit_ends.front()};
  }

  // --- messages between stages -----------------------------------------------------------------------------------

  void await(int chunk, int micro_batch, bool forward, int operation) {
    awaited_.push_back({slot_of(chunk, micro_batch), forward, operation});
  }

  /// The activation (or its gradient) goes to the neighbour; without a neighbour on another stage the slot's end
  /// counts.
  void send(int stage, int c, const Slot& slot, bool forward) {
    StageState& state = state_[stage];
    const int target = forward ? c + 1 : c - 1;
    int& done = (forward ? forward_done_ : backward_done_)[slot_of(c, slot.micro_batch)];
    done = state.compute;
    if (target < 0 || target >= static_cast<int>(job_.chunks.size())) return;
    const int to = job_.chunks[target].stage;
    if (to == stage) return;
    const CollectiveCost& cost = message_cost(stage, to, job_.chunks[forward ? c : target].send);
    Operation operation;
    operation.kind = OperationKind::send_recv;
    operation.stream = StreamKind::pipeline_send;
    operation.dimension = Dimension::pipeline;
    operation.collective = CollectiveKind::send_recv;
    operation.device = stage;
    operation.work = cost.latency;
    operation.micro_batch = slot.micro_batch;
    operation.name = forward ? "send activation" : "send gradient";
    if (!forward) operation.stream = StreamKind::pipeline_receive;
    done = graph_.add_operation(operation, network_.message(stage, to, cost));
    after(state.compute, done);
    int& stream = forward ? state.send_forward : state.send_backward;
    if (stream != state.compute) after(stream, done);
    stream = done;
    if (!job_.scenario->framework->overlap_pipeline_messages) state.compute = done;
  }

  const CollectiveCost& message_cost(int from, int to, Bytes bytes) {
    const auto [entry, fresh] = message_costs_.try_emplace({job_.placement.crosses(from, to), bytes.value()});
    if (fresh) entry->second = stage_message(job_, from, to, bytes).cost;
    return entry->second;
  }

  void connect_messages() {
    for (const Awaited& edge : awaited_) {
      const int done = (edge.forward ? forward_done_ : backward_done_)[edge.slot];
      after(done, edge.operation);
    }
  }

  // --- the step --------------------------------------------------------------------------------------------------

  void emit_stage(int stage) {
    const Scenario& scenario = *job_.scenario;
    const std::vector<Slot> order =
        pipeline_order(scenario.schedule, stage, stages_, scenario.degrees.vpp, micro_batches_);
    std::vector<std::size_t> last_of_chunk(static_cast<std::size_t>(scenario.degrees.vpp), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
      if (completes_gradients(order[i].phase)) last_of_chunk[order[i].chunk] = i;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Slot& slot = order[i];
      const bool reduces = !state_[stage].units.empty() && completes_gradients(slot.phase) &&
                           (plan_.every_micro_batch || last_of_chunk[slot.chunk] == i);
      emit_slot(stage, slot.chunk * stages_ + stage, slot, reduces);
      check_size();
    }
  }

  void check_size() const {
    if (graph_.operations().size() <= most_operations_) return;
    throw InputError({{"", "/workload/global_batch",
                       fmt::format("{} micro-batches make a step graph of more than {} operations", micro_batches_,
                                   most_operations_),
                       "a larger micro_batch, a smaller global_batch, or run.fidelity \"analytic\""}});
  }

  static bool completes_gradients(Phase phase) { return phase == Phase::backward || phase == Phase::backward_weight; }

  int add_work(int stage, OperationKind kind, Seconds work, std::string_view name) {
    Operation operation;
    operation.kind = kind;
    operation.device = stage;
    operation.work = work;
    operation.name = name;
    return graph_.add_operation(operation);
  }

  void update(int stage) {
    StageState& state = state_[stage];
    const int optimizer = add_work(stage, OperationKind::optimizer, job_.optimizer, "optimizer");
    after(state.compute, optimizer);
    // The norm of all gradients is needed before any is applied, so every stage waits for every other.
    for (int other = 0; other < stages_; ++other) {
      for (const int operation : state_[other].synchronized) after(operation, optimizer);
      if (other != stage) after(state_[other].compute, optimizer);
    }
    int last = optimizer;
    if (plan_.gather_after_update && !plan_.gather_under_forward)
      for (std::size_t u = state.units.size(); u-- > 0;) {
        const int gathered = gather(stage, state.units[u], {optimizer});
        if (gathered != kNone) last = gathered;
      }
    const int overhead =
        add_work(stage, OperationKind::overhead, job_.scenario->framework->step_overhead, "step overhead");
    after(last, overhead);
    // The next step's input is read while this one runs.
    after(state.input, overhead);
  }

  const Job& job_;
  const SynchronizationPlan plan_;
  StepGraph graph_;
  std::shared_ptr<ProgramCache> programs_;
  FoldedNetwork network_;
  int stages_;
  int micro_batches_;
  std::size_t most_operations_;
  std::vector<StageState> state_;
  std::vector<int> forward_done_, backward_done_;  ///< by slot: what the next chunk waits for
  std::vector<Awaited> awaited_;
  std::map<std::pair<bool, double>, CollectiveCost> message_costs_;
  std::map<const Segment*, int> segment_ids_;
};

}  // namespace

StepGraph build_step_graph(const Job& job, const BuildOptions& options) { return Builder(job, options).build(); }

}  // namespace stepcast
