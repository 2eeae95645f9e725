#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>

#include "report/device_intervals.hpp"
#include "report/power_over_time.hpp"
#include "report/predict.hpp"

namespace stepcast::report_breakdown_test {
namespace {

/// A job on one node of eight devices of 400 W, 50 W idle; enough for a power model.
struct SmallJob {
  SmallJob() {
    accelerator.tdp = 400_W;
    accelerator.idle_power = 50_W;
    node.accelerator_count = 8;
    scenario.node = &node;
    scenario.accelerator = &accelerator;
    job.scenario = &scenario;
  }
  Accelerator accelerator;
  Node node;
  Scenario scenario;
  Job job;
};

/// A graph whose spans are given by hand.
struct Recording {
  StepGraph graph;
  Timeline timeline;

  int add(Operation operation, double start, double end, std::initializer_list<int> after = {}) {
    const int id = graph.add_operation(operation);
    for (const int before : after) graph.add_edge(before, id);
    timeline.spans.push_back({Seconds(start), Seconds(start), Seconds(end)});
    timeline.end = std::max(timeline.end, Seconds(end));
    return id;
  }
  int compute(int device, double start, double end, std::initializer_list<int> after = {}, int segment = -1) {
    Operation operation;
    operation.device = device;
    operation.segment = segment;
    return add(operation, start, end, after);
  }
  int message(int from, double start, double end, std::initializer_list<int> after) {
    Operation operation;
    operation.kind = OperationKind::send_recv;
    operation.stream = StreamKind::pipeline_send;
    operation.dimension = Dimension::pipeline;
    operation.collective = CollectiveKind::send_recv;
    operation.device = from;
    return add(operation, start, end, after);
  }
  int all_reduce(int device, double start, double end, std::initializer_list<int> after) {
    Operation operation;
    operation.kind = OperationKind::collective;
    operation.stream = StreamKind::data_communication;
    operation.device = device;
    return add(operation, start, end, after);
  }
  /// Operations of several devices that are one collective; how long its meetings wait follows from them.
  void join(std::vector<int> operations) {
    Seconds start, end;
    for (const int operation : operations) {
      start = std::max(start, timeline.spans[operation].start);
      end = std::max(end, timeline.spans[operation].end);
    }
    meetings.push_back({start, start, start});
    meetings.push_back({end, end, end});
    graph.join(std::move(operations));
  }
  std::vector<Span> meetings;
  StepBreakdown breakdown() {
    graph.finish();
    timeline.spans.insert(timeline.spans.end(), meetings.begin(), meetings.end());
    return breakdown_of(SmallJob().job, graph, timeline);
  }
};

Piece operator_piece(double duration, OperatorKind kind, double flops = 0) {
  Piece piece;
  piece.name = "work";
  piece.duration = Seconds(duration);
  piece.kind = kind;
  piece.flops = Flops(flops);
  return piece;
}

Piece host_gap(double duration) {
  Piece piece;
  piece.name = name_of(Wait::kernels);
  piece.wait = Wait::kernels;
  piece.duration = Seconds(duration);
  return piece;
}

Piece collective_piece(double duration, double hidden) {
  Piece piece;
  piece.name = "all_reduce";
  piece.communication = true;
  piece.dimension = Dimension::tensor;
  piece.duration = Seconds(duration);
  piece.hidden = Seconds(hidden);
  return piece;
}

const StepBreakdown::Communication& share(const StepBreakdown& b, CollectiveKind kind, Dimension dimension) {
  return b.communication[static_cast<std::size_t>(kind)][static_cast<std::size_t>(dimension)];
}

Seconds accounted(const StepBreakdown& b) {
  return b.compute + b.communication_exposed() + b.bubble + b.synchronization_wait + b.optimizer + b.overhead;
}

// Device 0 computes 0–2 and sends 2–3; device 1 waits for it and computes 3–5; device 0 has nothing to do from 2 on.
// Device 1: 0–2 bubble (device 0 still computed), 2–3 exposed message. Device 0: 2–5 bubble; its message holds it up no
// longer. Means of two devices: compute (2+2)/2, message (0+1)/2, bubble (3+2)/2.
TEST(Breakdown, LaysAWaitForAStageToBubbleAndItsMessageToCommunication) {
  Recording r;
  r.graph.add_device("stage 0", 4);
  r.graph.add_device("stage 1", 4);
  const int first = r.compute(0, 0, 2);
  const int sent = r.message(0, 2, 3, {first});
  r.compute(1, 3, 5, {sent});
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(b.step_time.value(), 5);
  EXPECT_DOUBLE_EQ(b.compute.value(), 2);
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::send_recv, Dimension::pipeline).exposed.value(), 0.5);
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::send_recv, Dimension::pipeline).total.value(), 0.5);
  EXPECT_DOUBLE_EQ(b.bubble.value(), 2.5);
  EXPECT_DOUBLE_EQ(b.synchronization_wait.value(), 0);
}

// Device 0 waits for its message as device 1 does: 2–4 counts once, at the sender, and is bubble at the receiver.
TEST(Breakdown, CountsAMessageThatKeepsBothEndsWaitingOnce) {
  Recording r;
  r.graph.add_device("stage 0", 4);
  r.graph.add_device("stage 1", 4);
  const int first = r.compute(0, 0, 2);
  const int sent = r.message(0, 2, 4, {first});
  r.compute(0, 4, 5, {sent});
  r.compute(1, 4, 5, {sent});
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::send_recv, Dimension::pipeline).total.value(), 1);
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::send_recv, Dimension::pipeline).exposed.value(), 1);
  EXPECT_DOUBLE_EQ(b.bubble.value(), 2);
  EXPECT_DOUBLE_EQ(accounted(b).value(), 5);
}

// Backward 0–4 with two buckets: the first (1–3) hides, the second starts when the backward pass ends (4–6) and the
// optimizer waits for it (6–7). Total 2 + 2, exposed 2.
TEST(Breakdown, CountsOnlyTheUncoveredPartOfACollectiveAsExposed) {
  Recording r;
  r.graph.add_device("device", 8);
  const int early = r.compute(0, 0, 1);
  const int late = r.compute(0, 1, 4, {early});
  const int bucket = r.all_reduce(0, 1, 3, {early});
  const int last = r.all_reduce(0, 4, 6, {late, bucket});
  Operation optimizer;
  optimizer.kind = OperationKind::optimizer;
  r.add(optimizer, 6, 7, {last, late});
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::all_reduce, Dimension::data).total.value(), 4);
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::all_reduce, Dimension::data).exposed.value(), 2);
  EXPECT_DOUBLE_EQ(b.optimizer.value(), 1);
  EXPECT_DOUBLE_EQ(b.compute.value(), 4);
}

// Two queued buckets after the backward pass (2–3, 3–5): the wait 2–5 belongs to both, to nobody else.
TEST(Breakdown, WalksBackThroughQueuedCollectives) {
  Recording r;
  r.graph.add_device("device", 8);
  const int work = r.compute(0, 0, 2);
  const int a = r.all_reduce(0, 2, 3, {work});
  const int b = r.all_reduce(0, 3, 5, {a});
  r.compute(0, 5, 6, {b, work});
  const StepBreakdown out = r.breakdown();
  EXPECT_DOUBLE_EQ(out.communication_exposed().value(), 3);
  EXPECT_DOUBLE_EQ(out.synchronization_wait.value(), 0);
}

// The device is ready at 1, the other member at 3; their collective runs 3–4. 1–3 is a wait for a slower member.
TEST(Breakdown, LaysTheTimeBeforeACollectiveToItsLateMember) {
  Recording r;
  r.graph.add_device("fast", 1);
  r.graph.add_device("slow", 1);
  const int fast = r.compute(0, 0, 1);
  const int slow = r.compute(1, 0, 3);
  const int met = r.all_reduce(0, 3, 4, {fast, slow});
  r.compute(0, 4, 5, {met});
  const int met_too = r.all_reduce(1, 3, 4, {fast, slow});
  r.compute(1, 4, 5, {met_too});
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(b.synchronization_wait.value(), 1);  // mean of 2 and 0
  EXPECT_DOUBLE_EQ(b.communication_exposed().value(), 1);
  EXPECT_DOUBLE_EQ(b.bubble.value(), 0);
}

// Two pipelines of two stages. The fast one's first stage computes 0–2, its second 0–1; the slow one's 0–8 and 0–5.
// First stages reduce 8–9, second ones 5–6; all update 9–10. Fast second stage: the own reduction 5–6 does not hold it
// up, the first stage's does: 1–2 that one computed (bubble), 2–8 it waited for the slow replica (synchronisation), 8–9
// it reduced (bubble). Slow second stage: 5–9 bubble, with nobody to wait for. Fast first stage: 2–8 synchronisation.
TEST(Breakdown, LaysAWaitForAStageThatWaitsForASlowReplicaToSynchronization) {
  Recording r;
  for (const int pipeline : {0, 2})
    for (const char* stage : {"stage 0", "stage 1"}) r.graph.add_device(stage, 1, pipeline);
  const std::array computed{r.compute(0, 0, 2), r.compute(1, 0, 1), r.compute(2, 0, 8), r.compute(3, 0, 5)};
  std::array<int, 4> reduced{};
  for (int device = 0; device < 4; ++device) {
    const double start = device % 2 == 0 ? 8 : 5;
    reduced[device] = r.all_reduce(device, start, start + 1, {computed[device]});
  }
  for (int device = 0; device < 4; ++device) {
    const int first = device / 2 * 2;
    Operation optimizer;
    optimizer.kind = OperationKind::optimizer;
    optimizer.device = device;
    r.add(optimizer, 9, 10, {computed[device], reduced[first], reduced[first + 1]});
  }
  r.join({reduced[0], reduced[2]});
  r.join({reduced[1], reduced[3]});
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(b.compute.value(), (2 + 1 + 8 + 5) / 4.0);
  EXPECT_DOUBLE_EQ(b.synchronization_wait.value(), (6 + 6 + 0 + 0) / 4.0);
  EXPECT_DOUBLE_EQ(b.bubble.value(), (0 + 2 + 0 + 4) / 4.0);
  EXPECT_DOUBLE_EQ(b.communication_exposed().value(), (1 + 0 + 1 + 0) / 4.0);
  EXPECT_DOUBLE_EQ(accounted(b).value(), 10);
}

// Replicas without a pipeline, of which one ends earlier: it waits for the other.
TEST(Breakdown, LaysWhatFollowsAPipelinesEndToSynchronization) {
  Recording r;
  r.graph.add_device("replica 0", 1, 0);
  r.graph.add_device("replica 1", 1, 1);
  r.compute(0, 0, 4);
  r.compute(1, 0, 2);
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(b.synchronization_wait.value(), 0.5 * 2);
  EXPECT_DOUBLE_EQ(b.bubble.value(), 0);
}

// Segment on idle links: 2 s matrix, 1 s memory, 0.5 s collective (0.25 s more hidden), 0.5 s host gap: 4 s. In a span
// of 7 s operators stretch by (7 − 1)/3 = 2: 4 s matrix, 2 s memory; collective and host gap keep their length.
TEST(Breakdown, StretchesOperatorsOfASlowedSegment) {
  Segment segment;
  segment.pieces = {operator_piece(2, OperatorKind::gemm, 3e12), collective_piece(0.5, 0.25),
                    operator_piece(1, OperatorKind::memory), host_gap(0.5)};
  Recording r;
  r.graph.add_device("device", 8);
  const int id = r.graph.add_segment(&segment);
  r.compute(0, 0, 7, {}, id);
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(b.matrix_time.value(), 4);
  EXPECT_DOUBLE_EQ(b.memory_time.value(), 2);
  EXPECT_DOUBLE_EQ(b.compute.value(), 6);
  EXPECT_DOUBLE_EQ(b.host.value(), 0.5);
  EXPECT_DOUBLE_EQ(b.overhead.value(), 0.5);
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::all_reduce, Dimension::tensor).exposed.value(), 0.5);
  EXPECT_DOUBLE_EQ(share(b, CollectiveKind::all_reduce, Dimension::tensor).total.value(), 0.75);
  EXPECT_DOUBLE_EQ(b.executed_flops.value(), 3e12);
  // 388 W (0.97·400) in matrix products, 292 W (0.73·400) memory-bound, 200 W waiting in a collective, 88 W (0.22·400)
  // at full clock between kernels: (4·388 + 2·292 + 0.5·200 + 0.5·88)/7.
  EXPECT_NEAR(b.average_device_power.value(), (4 * 388 + 2 * 292 + 0.5 * 200 + 0.5 * 88) / 7, 1e-9);
}

// Three quarters of the devices are behind the first representative.
TEST(Breakdown, WeighsRepresentativesByWhatTheyStandFor) {
  Recording r;
  r.graph.add_device("many", 3);
  r.graph.add_device("few", 1);
  r.compute(0, 0, 4);
  r.compute(1, 0, 2);
  const StepBreakdown b = r.breakdown();
  EXPECT_DOUBLE_EQ(b.compute.value(), 0.75 * 4 + 0.25 * 2);
  EXPECT_DOUBLE_EQ(b.bubble.value(), 0.25 * 2);
}

TEST(PowerOverTime, FindsThePeakWindowAndKeepsTheEnergy) {
  PowerOverTime power(1_s, 100_W);
  EXPECT_DOUBLE_EQ(power.window().value(), 0.01);
  power.add(Seconds(0.095), Seconds(0.125), 300_W, 1);
  // Windows 0.10–0.11 and 0.11–0.12 are full, the ones beside them half.
  EXPECT_NEAR(power.peak().value(), 300, 1e-9);
  EXPECT_NEAR(power.average().value(), 100 + 200 * 0.03, 1e-9);
}

TEST(PowerOverTime, JoinedWindowsKeepTheEnergy) {
  PowerOverTime power(1_s, 100_W);  // a hundred windows
  power.add(Seconds(0.095), Seconds(0.125), 300_W, 1);
  const std::vector<Watts> joined = power.windows(30);
  ASSERT_EQ(joined.size(), 25U);  // of four each
  EXPECT_NEAR(joined[2].value(), 100 + 200 * 0.025 / 0.04, 1e-9);
  EXPECT_NEAR(joined[3].value(), 100 + 200 * 0.005 / 0.04, 1e-9);
  EXPECT_DOUBLE_EQ(joined[4].value(), 100);
  EXPECT_EQ(power.windows(1000).size(), 100U);
}

/// A pipeline of random stages, micro-batches and times, run by the rule "start when all predecessors are done".
Recording random_pipeline() {
  Recording r;
  const int stages = *rc::gen::inRange(1, 5);
  const int micro_batches = *rc::gen::inRange(1, 6);
  const auto duration = [] { return *rc::gen::inRange(0, 1000) * 1e-4; };
  std::vector<int> last(stages, -1), link(stages, -1);
  const auto end_of = [&](int id) { return id < 0 ? 0.0 : r.timeline.spans[id].end.value(); };
  for (int stage = 0; stage < stages; ++stage) r.graph.add_device("stage", *rc::gen::inRange(1, 9));
  for (int m = 0; m < micro_batches; ++m) {
    int arrived = -1;
    for (int stage = 0; stage < stages; ++stage) {
      const double start = std::max(end_of(last[stage]), end_of(arrived));
      const int id = r.compute(stage, start, start + duration());
      if (last[stage] >= 0) r.graph.add_edge(last[stage], id);
      if (arrived >= 0) r.graph.add_edge(arrived, id);
      last[stage] = id;
      const double sent = std::max(end_of(id), end_of(link[stage]));
      arrived = r.message(stage, sent, sent + duration(), {id});
      if (link[stage] >= 0) r.graph.add_edge(link[stage], arrived);
      link[stage] = arrived;
    }
  }
  for (int stage = 0; stage < stages; ++stage) {
    const double start = end_of(last[stage]);
    const int reduced = r.all_reduce(stage, start, start + duration(), {last[stage]});
    Operation optimizer;
    optimizer.kind = OperationKind::optimizer;
    optimizer.device = stage;
    r.add(optimizer, end_of(reduced), end_of(reduced) + duration(), {reduced});
  }
  return r;
}

RC_GTEST_PROP(Breakdown, EveryInstantOfADeviceHasOneCause, ()) {
  Recording r = random_pipeline();
  r.graph.finish();
  const auto operations = operations_by_device(r.graph, r.timeline);
  for (std::size_t device = 0; device < operations.size(); ++device) {
    Seconds now{0};
    for (const Interval& interval :
         device_intervals(r.graph, r.timeline, static_cast<int>(device), operations[device])) {
      RC_ASSERT(interval.start == now);
      RC_ASSERT(interval.end > interval.start);
      now = interval.end;
    }
    RC_ASSERT(now == r.timeline.end);
  }
  if (r.timeline.end == Seconds(0)) return;
  const StepBreakdown b = breakdown_of(SmallJob().job, r.graph, r.timeline);
  RC_ASSERT(std::abs(accounted(b) / b.step_time - 1) < 1e-9);
  RC_ASSERT(b.average_device_power >= 50_W && b.average_device_power <= b.peak_device_power * (1 + 1e-9));
  RC_ASSERT(b.peak_device_power <= 388_W * (1 + 1e-9));
}

}  // namespace
}  // namespace stepcast::report_breakdown_test
