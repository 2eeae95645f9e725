#include "report/device_intervals.hpp"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace stepcast {

namespace {

class IntervalWalk {
 public:
  IntervalWalk(const StepGraph& graph, const Timeline& timeline, int device)
      : graph_(graph), timeline_(timeline), device_(device) {
    for (std::size_t other = 0; other < graph.devices().size(); ++other)
      if (static_cast<int>(other) != device) (is_stage(static_cast<int>(other)) ? pipelined_ : replicated_) = true;
  }

  void work(int operation) {
    const Span& span = timeline_.spans[operation];
    if (span.start > now_) wait_until(span.start, latest_predecessor(operation));
    const Activity activity = communicates(graph_.operations()[operation]) ? Activity::communication : Activity::work;
    if (span.end > now_) intervals_.push_back({now_, span.end, activity, operation});
    now_ = std::max(now_, span.end);
  }

  void finish(const DeviceOperations& operations) {
    int last = -1;
    for (const int operation : operations.all) {
      // A message on its way keeps its receiver waiting, not the sender, which has nothing left to do.
      if (graph_.operations()[operation].kind == OperationKind::send_recv) continue;
      if (last < 0 || timeline_.spans[operation].end > timeline_.spans[last].end) last = operation;
    }
    if (last >= 0 && timeline_.spans[last].end > now_) wait_until(timeline_.spans[last].end, last);
    // First the stages of the own pipeline end, then those of other replicas.
    idle_until(replicated_ ? operations.pipeline_end : timeline_.end, idle_cause());
    idle_until(timeline_.end, Activity::synchronization);
  }

  std::vector<Interval> take() { return std::move(intervals_); }

 private:
  Activity idle_cause() const { return pipelined_ ? Activity::bubble : Activity::synchronization; }

  void idle_until(Seconds end, Activity cause) {
    if (end > now_) intervals_.push_back({now_, end, cause, -1});
    now_ = std::max(now_, end);
  }

  /// True for the devices of the own pipeline, this one included.
  bool is_stage(int device) const {
    const auto& devices = graph_.devices();
    return devices[static_cast<std::size_t>(device)].pipeline == devices[static_cast<std::size_t>(device_)].pipeline;
  }

  /// Of two operations the one that ends later; −1 ends before any.
  int later(int a, int b) const { return a < 0 || (b >= 0 && timeline_.spans[b].end > timeline_.spans[a].end) ? b : a; }

  int latest_of(std::span<const int> operations) const {
    int latest = -1;
    for (const int operation : operations) latest = later(latest, operation);
    return latest;
  }

  /// The operation that kept `operation` waiting: the last of its predecessors to end. −1 if it has none.
  int latest_predecessor(int operation) const {
    const int latest = latest_of(graph_.predecessors(operation));
    return latest < 0 ? latest : own_part(latest);
  }

  /// What a meeting stands for: this device's part of the collective that met there, or else another stage's, or else
  /// what was last to come.
  int own_part(int operation) const {
    while (operation >= 0 && graph_.operations()[operation].kind == OperationKind::meeting) {
      const int latest = latest_of(graph_.predecessors(operation));
      if (latest < 0) return latest;
      const int own = graph_.joined_on(device_, latest), stage = part_of_stage(operation);
      operation = own >= 0 ? own : stage >= 0 ? stage : latest;
    }
    return operation;
  }

  /// An operation of the own pipeline itself, or its part of the collective that ends in a meeting; −1: none has one.
  int part_of_stage(int operation) const {
    if (graph_.operations()[operation].kind != OperationKind::meeting)
      return is_stage(graph_.operations()[operation].device) ? operation : -1;
    for (const int member : graph_.ended_by(operation))
      if (is_stage(graph_.operations()[member].device)) return member;
    return -1;
  }

  /// What an operation waits for; where it is one collective with others, what any of them waits for.
  std::span<const int> waits_for(int operation) const {
    const std::span<const int> before = graph_.predecessors(operation);
    return graph_.is_joined(operation) ? graph_.predecessors(before.front()) : before;
  }

  /// A transfer is this device's affair if it takes part: a collective that it runs, a message that it receives, or one
  /// that holds up the message that it waits for.
  bool concerns(int transfer, int waiting) const {
    const Operation& operation = graph_.operations()[transfer];
    if (operation.device == device_) return true;
    if (operation.kind != OperationKind::send_recv) return false;
    if (waiting < 0) return true;
    const Operation& next = graph_.operations()[waiting];
    return next.device == device_ || (next.device == operation.device && next.stream == operation.stream);
  }

  /// Lays the time from now to `end` to what was waited for, from its end backwards.
  void wait_until(Seconds end, int blocking) {
    const std::size_t first = intervals_.size();
    Activity before = idle_cause();
    Seconds cursor = end;
    for (int waiting = -1; blocking >= 0 && cursor > now_;
         waiting = blocking, blocking = latest_predecessor(blocking)) {
      const Operation& operation = graph_.operations()[blocking];
      const Span& span = timeline_.spans[blocking];
      if (!communicates(operation) || !concerns(blocking, waiting) || span.end <= now_) break;
      const Seconds transfer_end = std::min(span.end, cursor), start = std::clamp(span.start, now_, transfer_end);
      // Peers of a collective that is over here are not done with theirs.
      if (waiting < 0 && graph_.joined_on(device_, blocking) >= 0) before = Activity::synchronization;
      if (transfer_end < cursor) intervals_.push_back({transfer_end, cursor, before, -1});
      if (start < transfer_end) intervals_.push_back({start, transfer_end, Activity::communication, blocking});
      cursor = start;
      before = operation.kind != OperationKind::send_recv ? Activity::synchronization : idle_cause();
    }
    if (before == Activity::bubble && replicated_)
      wait_for_stages(blocking, cursor);
    else if (cursor > now_)
      intervals_.push_back({now_, cursor, before, -1});
    std::reverse(intervals_.begin() + static_cast<std::ptrdiff_t>(first), intervals_.end());
    now_ = end;
  }

  /// Lays the time from now to `end`, in which another stage kept this one waiting, backwards: what that stage did is
  /// bubble, but where it had done its part of a collective and waited for other replicas, so did this one.
  void wait_for_stages(int blocking, Seconds end) {
    Seconds cursor = end;
    const auto back_to = [&](Seconds start, Activity cause) {
      start = std::clamp(start, now_, cursor);
      if (start < cursor) intervals_.push_back({start, cursor, cause, -1});
      cursor = start;
    };
    if (blocking >= 0 && !is_stage(graph_.operations()[blocking].device))
      return back_to(now_, Activity::synchronization);
    while (blocking >= 0 && cursor > now_) {
      int own = -1, computed = -1;
      const std::span<const int> all = waits_for(blocking);
      for (const int before : all) {
        const int part = part_of_stage(before);
        own = later(own, part);
        if (part >= 0 && !communicates(graph_.operations()[part])) computed = later(computed, part);
      }
      const int last = latest_of(all);
      if (last >= 0 && later(own, last) != own) {
        back_to(timeline_.spans[blocking].start, Activity::bubble);
        // What the stage sent beside its work it would have sent in time for a replica as fast as its own.
        const Operation& late = graph_.operations()[last];
        if (computed >= 0 && late.kind != OperationKind::meeting && !communicates(late)) own = computed;
        back_to(own < 0 ? now_ : timeline_.spans[own].end, Activity::synchronization);
      }
      blocking = own;
      if (blocking >= 0 && timeline_.spans[blocking].end <= now_) break;
    }
    back_to(now_, Activity::bubble);
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  int device_;
  bool pipelined_ = false;   ///< its pipeline has other stages
  bool replicated_ = false;  ///< there are other pipelines
  Seconds now_{0};
  std::vector<Interval> intervals_;
};

/// From the end of each device to that of its pipeline.
void end_pipelines(std::vector<DeviceOperations>& devices, const StepGraph& graph) {
  std::unordered_map<int, Seconds> ends;
  for (std::size_t device = 0; device < devices.size(); ++device) {
    Seconds& end = ends[graph.devices()[device].pipeline];
    end = std::max(end, devices[device].pipeline_end);
  }
  for (std::size_t device = 0; device < devices.size(); ++device)
    devices[device].pipeline_end = ends[graph.devices()[device].pipeline];
}

}  // namespace

bool communicates(const Operation& operation) {
  switch (operation.kind) {
    case OperationKind::collective:
    case OperationKind::send_recv:
    case OperationKind::gather:
    case OperationKind::storage:
      return true;
    case OperationKind::compute:
    case OperationKind::optimizer:
    case OperationKind::overhead:
    case OperationKind::meeting:
      return false;
  }
  return false;
}

std::vector<DeviceOperations> operations_by_device(const StepGraph& graph, const Timeline& timeline) {
  std::vector<DeviceOperations> out(graph.devices().size());
  const auto& operations = graph.operations();
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (operations[i].kind == OperationKind::meeting) continue;
    DeviceOperations& device = out[operations[i].device];
    device.pipeline_end = std::max(device.pipeline_end, timeline.spans[i].end);
    device.all.push_back(static_cast<int>(i));
    if (operations[i].stream == StreamKind::compute) device.compute.push_back(static_cast<int>(i));
  }
  const auto earlier = [&](int a, int b) {
    const Span &x = timeline.spans[a], &y = timeline.spans[b];
    return x.start != y.start ? x.start < y.start : x.end < y.end;
  };
  end_pipelines(out, graph);
  for (DeviceOperations& device : out)
    if (!std::is_sorted(device.compute.begin(), device.compute.end(), earlier))
      std::stable_sort(device.compute.begin(), device.compute.end(), earlier);
  return out;
}

std::vector<Interval> device_intervals(const StepGraph& graph, const Timeline& timeline, int device,
                                       const DeviceOperations& operations) {
  IntervalWalk walk(graph, timeline, device);
  for (const int operation : operations.compute) walk.work(operation);
  walk.finish(operations);
  return walk.take();
}

}  // namespace stepcast
