#include "models/power/average_power.hpp"
#include "report/device_intervals.hpp"
#include "report/power_over_time.hpp"
#include "report/predict.hpp"
#include "report/segment_time.hpp"

namespace stepcast {

namespace {

/// Adds what each device did to the means over all.
class BreakdownBuilder {
 public:
  BreakdownBuilder(const Job& job, const StepGraph& graph, const Timeline& timeline)
      : graph_(graph),
        timeline_(timeline),
        power_(power_model(*job.scenario)),
        over_time_(timeline.end, power_.device_ready) {
    out_.step_time = timeline.end;
    segments_.reserve(graph.segments().size());
    for (const Segment* segment : graph.segments()) segments_.push_back(segment_time(*segment));
  }

  /// `share`: of all devices, those that the representative stands for.
  void add_device(const std::vector<Interval>& intervals, const DeviceOperations& operations, double share) {
    share_ = share;
    for (const Interval& interval : intervals) add(interval);
    for (const int operation : operations.all) add_traffic(operation);
  }

  [[nodiscard]] const PowerOverTime& over_time() const { return over_time_; }

  StepBreakdown finish() {
    out_.overhead += out_.host;
    count_messages_once();
    out_.average_device_power = average_device_power(out_, power_);
    out_.peak_device_power = over_time_.peak();
    return out_;
  }

 private:
  /// A message counts at its sender. Where that waits for it, too, its receiver's wait is the pipeline's bubble: no
  /// more of communication is exposed than there is.
  void count_messages_once() {
    auto& messages = communication(CollectiveKind::send_recv, Dimension::pipeline);
    const Seconds twice = std::max(Seconds(0), messages.exposed - messages.total);
    messages.exposed -= twice;
    out_.bubble += twice;
  }

  StepBreakdown::Communication& communication(CollectiveKind kind, Dimension dimension) {
    return out_.communication[static_cast<std::size_t>(kind)][static_cast<std::size_t>(dimension)];
  }

  void add(const Interval& interval) {
    const Seconds length = (interval.end - interval.start) * share_;
    switch (interval.activity) {
      case Activity::bubble:
        out_.bubble += length;
        break;
      case Activity::synchronization:
        out_.synchronization_wait += length;
        break;
      case Activity::communication: {
        const Operation& operation = graph_.operations()[interval.operation];
        communication(operation.collective, operation.dimension).exposed += length;
        if (operation.dimension == Dimension::storage) return;  // ready, as over_time_ has it
        break;
      }
      case Activity::work:
        return add_work(interval);
    }
    over_time_.add(interval.start, interval.end, power_.device_waiting, share_);
  }

  void add_work(const Interval& interval) {
    const Operation& operation = graph_.operations()[interval.operation];
    const Seconds length = (interval.end - interval.start) * share_;
    if (operation.kind == OperationKind::optimizer) {
      out_.optimizer += length;
      over_time_.add(interval.start, interval.end, power_.device_updating, share_);
    } else if (operation.kind == OperationKind::overhead) {
      out_.overhead += length;
    } else if (operation.segment < 0 || !(segments_[operation.segment].total() > Seconds(0))) {
      out_.compute += length;
      out_.matrix_time += length;
      over_time_.add(interval.start, interval.end, power_.device_compute, share_);
    } else {
      add_segment(interval, segments_[operation.segment]);
    }
  }

  void add_segment(const Interval& interval, const SegmentTime& nominal) {
    const Seconds length = interval.end - interval.start;
    const Stretch stretch = stretch_of(nominal, length);
    const double operators = stretch.operators * share_, others = stretch.others * share_;
    out_.matrix_time += nominal.matrix * operators;
    out_.memory_time += nominal.memory * operators;
    out_.compute += nominal.compute() * operators;
    out_.host += nominal.host * others;
    out_.synchronization_wait += nominal.peers * others;
    out_.executed_flops += nominal.flops * share_;
    for (const SegmentTime::Share& share : nominal.collectives) {
      communication(share.kind, share.dimension).total += share.total * others;
      communication(share.kind, share.dimension).exposed += share.exposed * others;
    }
    over_time_.add(interval.start, interval.end, mean_power(nominal, length, power_), share_);
  }

  void add_traffic(int index) {
    const Operation& operation = graph_.operations()[index];
    if (!communicates(operation)) return;
    const Span& span = timeline_.spans[index];
    communication(operation.collective, operation.dimension).total += (span.end - span.start) * share_;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  PowerModel power_;
  PowerOverTime over_time_;
  std::vector<SegmentTime> segments_;
  StepBreakdown out_;
  double share_ = 0;
};

BreakdownBuilder built(const Job& job, const StepGraph& graph, const Timeline& timeline) {
  double devices = 0;
  for (const auto& device : graph.devices()) devices += device.multiplicity;
  BreakdownBuilder builder(job, graph, timeline);
  const std::vector<DeviceOperations> operations = operations_by_device(graph, timeline);
  for (std::size_t device = 0; device < operations.size(); ++device)
    builder.add_device(device_intervals(graph, timeline, static_cast<int>(device), operations[device]),
                       operations[device], graph.devices()[device].multiplicity / devices);
  return builder;
}

}  // namespace

StepBreakdown breakdown_of(const Job& job, const StepGraph& graph, const Timeline& timeline) {
  return built(job, graph, timeline).finish();
}

PowerOverTime power_over_time(const Job& job, const StepGraph& graph, const Timeline& timeline) {
  return built(job, graph, timeline).over_time();
}

}  // namespace stepcast
