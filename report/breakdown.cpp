#include "models/power/power.hpp"
#include "report/device_intervals.hpp"
#include "report/power_over_time.hpp"
#include "report/predict.hpp"
#include "report/segment_time.hpp"
#include "sim/build.hpp"

namespace stepcast {

namespace {

/// Adds what each device did to the means over all.
class BreakdownBuilder {
 public:
  BreakdownBuilder(const Job& job, const StepGraph& graph, const Timeline& timeline)
      : graph_(graph),
        timeline_(timeline),
        power_by_kind_(power_by_kind(*job.scenario)),
        kinds_(device_kinds(job)),
        devices_(devices_of(graph)),
        ready_(mean_ready()),
        over_time_(timeline.end, ready_) {
    out_.step_time = timeline.end;
    segments_.reserve(graph.segments().size());
    for (const Segment* segment : graph.segments()) segments_.push_back(segment_time(*segment));
  }

  void add_device(std::size_t device, const std::vector<Interval>& intervals, const DeviceOperations& operations) {
    share_ = graph_.devices()[device].multiplicity / devices_;
    power_ = &power_of(device);
    for (const Interval& interval : intervals) add(interval);
    for (const int operation : operations.all) add_traffic(operation);
  }

  [[nodiscard]] const PowerOverTime& over_time() const { return over_time_; }

  StepBreakdown finish() {
    out_.overhead += out_.host;
    count_messages_once();
    out_.average_device_power = over_time_.average();
    out_.peak_device_power = over_time_.peak();
    return out_;
  }

 private:
  [[nodiscard]] const PowerModel& power_of(std::size_t device) const {
    return power_by_kind_[kinds_.empty() ? 0 : static_cast<std::size_t>(kinds_[device])];
  }

  /// Real devices that the graph's stand for.
  static double devices_of(const StepGraph& graph) {
    double sum = 0;
    for (const auto& device : graph.devices()) sum += device.multiplicity;
    return sum;
  }

  /// What the devices draw together at full clock with nothing to run, as a mean.
  [[nodiscard]] Watts mean_ready() const {
    Watts sum;
    for (std::size_t device = 0; device < graph_.devices().size(); ++device)
      sum += power_of(device).device_ready * (graph_.devices()[device].multiplicity / devices_);
    return sum;
  }

  /// Devices that are ready draw the mean of that at all times; what they do adds to it.
  void add_power(const Interval& interval, Watts power) {
    over_time_.add(interval.start, interval.end, ready_ + (power - power_->device_ready), share_);
  }

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
    add_power(interval, power_->device_waiting);
  }

  void add_work(const Interval& interval) {
    const Operation& operation = graph_.operations()[interval.operation];
    const Seconds length = (interval.end - interval.start) * share_;
    if (operation.kind == OperationKind::optimizer) {
      out_.optimizer += length;
      add_power(interval, power_->device_updating);
    } else if (operation.kind == OperationKind::overhead) {
      out_.overhead += length;
    } else if (operation.segment < 0 || !(segments_[operation.segment].total() > Seconds(0))) {
      out_.compute += length;
      out_.matrix_time += length;
      add_power(interval, power_->device_compute);
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
    add_power(interval, mean_power(nominal, length, *power_));
  }

  void add_traffic(int index) {
    const Operation& operation = graph_.operations()[index];
    if (!communicates(operation)) return;
    const Span& span = timeline_.spans[index];
    communication(operation.collective, operation.dimension).total += (span.end - span.start) * share_;
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  std::vector<PowerModel> power_by_kind_;
  std::vector<int> kinds_;  ///< by device; empty: all are of one
  double devices_ = 0;
  const PowerModel* power_ = nullptr;  ///< of the device that is added
  Watts ready_;
  PowerOverTime over_time_;
  std::vector<SegmentTime> segments_;
  StepBreakdown out_;
  double share_ = 0;
};

BreakdownBuilder built(const Job& job, const StepGraph& graph, const Timeline& timeline) {
  BreakdownBuilder builder(job, graph, timeline);
  const std::vector<DeviceOperations> operations = operations_by_device(graph, timeline);
  for (std::size_t device = 0; device < operations.size(); ++device)
    builder.add_device(device, device_intervals(graph, timeline, static_cast<int>(device), operations[device]),
                       operations[device]);
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
