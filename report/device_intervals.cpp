#include "report/device_intervals.hpp"

#include <algorithm>

namespace stepcast {

namespace {

class IntervalWalk {
 public:
  IntervalWalk(const StepGraph& graph, const Timeline& timeline, int device)
      : graph_(graph), timeline_(timeline), device_(device), pipelined_(graph.devices().size() > 1) {}

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
    if (timeline_.end > now_) intervals_.push_back({now_, timeline_.end, idle_cause(), -1});
  }

  std::vector<Interval> take() { return std::move(intervals_); }

 private:
  Activity idle_cause() const { return pipelined_ ? Activity::bubble : Activity::synchronization; }

  /// The operation that kept `operation` waiting: the last of its predecessors to end. −1 if it has none.
  int latest_predecessor(int operation) const {
    int latest = -1;
    for (const int before : graph_.predecessors(operation))
      if (latest < 0 || timeline_.spans[before].end > timeline_.spans[latest].end) latest = before;
    return latest < 0 ? latest : own_part(latest);
  }

  /// What a meeting stands for: this device's part of the collective that met there, or else what was last to come.
  int own_part(int operation) const {
    while (operation >= 0 && graph_.operations()[operation].kind == OperationKind::meeting) {
      int latest = -1;
      for (const int before : graph_.predecessors(operation))
        if (latest < 0 || timeline_.spans[before].end > timeline_.spans[latest].end) latest = before;
      if (latest < 0) return latest;
      const int own = graph_.joined_on(device_, latest);
      operation = own >= 0 ? own : latest;
    }
    return operation;
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
    if (cursor > now_) intervals_.push_back({now_, cursor, before, -1});
    std::reverse(intervals_.begin() + static_cast<std::ptrdiff_t>(first), intervals_.end());
    now_ = end;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  int device_;
  bool pipelined_;
  Seconds now_{0};
  std::vector<Interval> intervals_;
};

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
    device.all.push_back(static_cast<int>(i));
    if (operations[i].stream == StreamKind::compute) device.compute.push_back(static_cast<int>(i));
  }
  const auto earlier = [&](int a, int b) {
    const Span &x = timeline.spans[a], &y = timeline.spans[b];
    return x.start != y.start ? x.start < y.start : x.end < y.end;
  };
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
