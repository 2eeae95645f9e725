#include <fmt/format.h>

#include <algorithm>

#include "models/storage/storage.hpp"
#include "sim/step/column_builder.hpp"

namespace stepcast {

namespace {

/// Slots of a stage after which the size of its graph can be foreseen: past the heavier first micro-batch.
constexpr std::size_t kFirstSlots = 32;

bool completes_gradients(Phase phase) { return phase == Phase::backward || phase == Phase::backward_weight; }

}  // namespace

ColumnBuilder::ColumnBuilder(StepContext& context, const Column& column, std::vector<Member> members,
                             StepNetwork& network, Joins& joins)
    : context_(context),
      job_(context.job),
      plan_(context.plan),
      column_(column),
      members_(std::move(members)),
      network_(network),
      joins_(joins),
      stages_(context.job.scenario->degrees.pp),
      micro_batches_(static_cast<int>(context.job.scenario->degrees.micro_batches)) {}

std::vector<int> ColumnBuilder::build() {
  const auto slots = static_cast<std::size_t>(micro_batches_) * job_.chunks.size();
  std::vector<int> ends = load_input();
  forward_done_.assign(slots, kNone);
  backward_done_.assign(slots, kNone);
  for (int stage = 0; stage < stages_; ++stage) {
    state_.emplace_back();
    state_.back().units = &context_.units(column_.state[stage], stage);
    state_.back().gathered.assign(static_cast<std::size_t>(job_.scenario->degrees.vpp), false);
    gather_before_forward(stage);
  }
  // A message may be wanted before the program that sends it has been emitted, so edges to it wait until the end.
  for (int stage = 0; stage < stages_; ++stage) emit_stage(stage);
  connect_messages();
  for (int stage = 0; stage < stages_; ++stage) reduce_rest(stage);
  reduce_tied_embedding();
  for (int stage = 0; stage < stages_; ++stage) ends.push_back(update(stage));
  return ends;
}

/// The next step's input is read while this one runs, from its beginning to its end, and copied batch by batch beside
/// that. Returns both operations, or what there is of them.
std::vector<int> ColumnBuilder::load_input() {
  const Bytes input = input_per_device(*job_.scenario) * stages_;
  if (input <= Bytes(0)) return {};
  const Bytes copied = copied_per_device(*job_.scenario) * stages_;
  Operation operation;
  operation.kind = OperationKind::storage;
  operation.dimension = Dimension::storage;
  operation.collective = CollectiveKind::send_recv;
  operation.device = members_[0].device;
  std::vector<int> out;
  // What is not known limits nothing: a node whose drives nobody states still copies over its host links.
  const auto add = [&](std::string_view name, StreamKind stream, const std::vector<Flow>& flows) {
    if (flows.empty()) return;
    operation.name = name;
    operation.stream = stream;
    out.push_back(context_.graph.add_operation(operation, flows));
  };
  add("read input", StreamKind::storage, network_.storage_read(members_[0], input));
  add("copy input", StreamKind::copy, network_.host_to_device(members_[0], copied));
  return out;
}

/// Emits a program on a stage's compute stream. Returns its first operation.
int ColumnBuilder::emit_program(int stage, const Program& program, const Chunk& chunk, const Slot& slot) {
  StageState& state = state_[stage];
  int first = kNone;
  for (const ProgramPart& part : program) {
    const int operation =
        part.segment ? add_compute(stage, *part.segment, chunk, slot) : add_layer_collective(stage, *part.collective);
    if (first == kNone) first = operation;
    after(state.compute, operation);
    // A collective beside the next parts starts when the one before it has arrived, and so do they.
    for (const int collective : state.due) after(collective, operation);
    if (!part.segment && part.collective->beside > 0) {
      state.beside.push_back(operation);
      continue;
    }
    state.due.assign(state.beside.end() - part.ends, state.beside.end());
    state.beside.resize(state.beside.size() - static_cast<std::size_t>(part.ends));
    state.compute = operation;
  }
  return first;
}

int ColumnBuilder::add_compute(int stage, const Segment& segment, const Chunk& chunk, const Slot& slot) {
  Operation operation;
  operation.device = members_[stage].device;
  operation.work = segment.total();
  operation.segment = context_.segment_id(segment);
  operation.micro_batch = slot.micro_batch;
  operation.chunk = static_cast<std::int16_t>(chunk.index);
  operation.phase = static_cast<std::uint8_t>(slot.phase);
  operation.name = slot.forward                          ? kMergedPasses
                   : slot.phase == Phase::forward        ? "forward"
                   : slot.phase == Phase::backward       ? "backward"
                   : slot.phase == Phase::backward_input ? "backward input"
                                                         : "backward weight";
  return context_.graph.add_operation(operation);
}

std::vector<ColumnBuilder::Range> ColumnBuilder::ranges(int stage, int c, Phase phase, bool cut) const {
  const auto layers = static_cast<int>(job_.chunks[c].layer_kinds.size());
  std::vector<Range> out;
  if (cut)
    for (std::size_t u = 0; u < state_[stage].units->size(); ++u) {
      const SyncUnit& unit = (*state_[stage].units)[u];
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

void ColumnBuilder::emit_slot(int stage, int c, const Slot& slot, bool reduces) {
  StageState& state = state_[stage];
  const Chunk& chunk = job_at(stage).chunks[c];
  const bool forward = slot.phase == Phase::forward;
  const bool own = gathers(state, slot);
  const bool first_forward =
      forward && slot.micro_batch == 0 && plan_.gather_under_forward && !plan_.gather_each_forward;
  const bool cut = plan_.sharded_parameters || own || first_forward || (reduces && plan_.overlap);
  int first = kNone;
  for (const Range& range : ranges(stage, c, slot.phase, cut)) {
    int parameters = kNone;
    if (range.unit != kNone && first_forward) parameters = state.parameters_ready[range.unit];
    if (range.unit != kNone && own)
      parameters = gather(stage, (*state.units)[range.unit], gather_waits_for(state, forward));
    const int start =
        emit_program(stage, context_.programs(column_.state[stage]).program(chunk, range.first, range.last, slot.phase),
                     chunk, slot);
    if (first == kNone) first = start;
    if (start != kNone) after(parameters, start);
    state.unit_ends.push_back(state.compute);
    if (state.unit_ends.size() > kGathersInFlight) state.unit_ends.pop_front();
    if (range.unit != kNone && reduces && plan_.overlap) reduce(stage, (*state.units)[range.unit], state.compute);
  }
  if (reduces && plan_.accumulated > 0 && !plan_.overlap) reduce_chunk(stage, c);
  if (first == kNone) return;
  if (forward && c > 0) await(c - 1, slot.micro_batch, true, first);
  const bool gradient_wanted = slot.phase == Phase::backward || slot.phase == Phase::backward_input;
  if (gradient_wanted && c + 1 < static_cast<int>(job_.chunks.size())) await(c + 1, slot.micro_batch, false, first);
  if (forward || gradient_wanted) send(stage, c, slot, forward);
}

/// Both passes start when what both need has arrived, and hand on what they have made when both are done.
void ColumnBuilder::emit_merged(int stage, const Slot& slot) {
  const int forward = slot.forward->chunk * stages_ + stage;
  const int backward = slot.chunk * stages_ + stage;
  const std::vector<Chunk>& chunks = job_at(stage).chunks;
  const Program& program = context_.programs(column_.state[stage]).merged(chunks[forward], chunks[backward]);
  const int first = emit_program(stage, program, chunks[backward], slot);
  if (first == kNone) return;
  if (forward > 0) await(forward - 1, slot.forward->micro_batch, true, first);
  if (backward + 1 < static_cast<int>(chunks.size())) await(backward + 1, slot.micro_batch, false, first);
  const Slot of_forward{Phase::forward, slot.forward->chunk, slot.forward->micro_batch};
  send(stage, forward, of_forward, true);
  send(stage, backward, slot, false);
}

void ColumnBuilder::emit_stage(int stage) {
  const Scenario& scenario = *job_.scenario;
  const std::vector<Slot> order = pipeline_order(scenario.schedule, stage, stages_, scenario.degrees.vpp,
                                                 micro_batches_, scenario.spec.strategy.overlap_expert_parallel);
  std::vector<std::size_t> last_of_chunk(static_cast<std::size_t>(scenario.degrees.vpp), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    if (completes_gradients(order[i].phase)) last_of_chunk[order[i].chunk] = i;
  const std::size_t before = context_.graph.operations().size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Slot& slot = order[i];
    const bool in_a_row = plan_.accumulated > 0 && (slot.micro_batch + 1) % plan_.accumulated == 0;
    const bool reduces = !state_[stage].units->empty() && completes_gradients(slot.phase) &&
                         (in_a_row || last_of_chunk[slot.chunk] == i);
    if (slot.forward) {
      emit_merged(stage, slot);
    } else {
      emit_slot(stage, slot.chunk * stages_ + stage, slot, reduces);
    }
    const std::size_t now = context_.graph.operations().size();
    check_size(now);
    // Of a graph that would be far too large the first slots tell so, before it fills the memory.
    if (i + 1 == kFirstSlots) check_size(before + (now - before) / kFirstSlots * order.size() / 2);
  }
}

void ColumnBuilder::check_size(std::size_t operations) const {
  if (operations <= context_.options.most_operations) return;
  throw InputError({{"", "/workload/global_batch",
                     fmt::format("{} micro-batches make a step graph of more than {} operations", micro_batches_,
                                 context_.options.most_operations),
                     "a larger micro_batch, a smaller global_batch, or run.fidelity \"analytic\""}});
}

int ColumnBuilder::add_work(int stage, OperationKind kind, Seconds work, std::string_view name) {
  Operation operation;
  operation.kind = kind;
  operation.device = members_[stage].device;
  operation.work = work;
  operation.name = name;
  return context_.graph.add_operation(operation);
}

int ColumnBuilder::update(int stage) {
  StageState& state = state_[stage];
  const int optimizer = add_work(stage, OperationKind::optimizer, job_at(stage).optimizer, "optimizer");
  after(state.compute, optimizer);
  // The norm of all gradients is needed before any is applied, so every stage waits for every other.
  for (int other = 0; other < stages_; ++other) {
    for (const int operation : state_[other].synchronized) after(operation, optimizer);
    if (other != stage) after(state_[other].compute, optimizer);
  }
  int last = optimizer;
  if (plan_.gather_after_update && !plan_.gather_under_forward && !plan_.gather_each_forward)
    for (std::size_t u = state.units->size(); u-- > 0;) {
      const int gathered = gather(stage, (*state.units)[u], {optimizer});
      if (gathered != kNone) last = gathered;
    }
  const int overhead =
      add_work(stage, OperationKind::overhead, job_.scenario->framework->step_overhead, "step overhead");
  after(last, overhead);
  return overhead;
}

}  // namespace stepcast
