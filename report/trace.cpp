#include "report/trace.hpp"

#include <algorithm>

#include "fields/field_table.hpp"
#include "models/power/power.hpp"
#include "report/chrome_trace.hpp"
#include "report/device_intervals.hpp"
#include "report/power_over_time.hpp"
#include "report/segment_time.hpp"
#include "sim/build.hpp"

namespace stepcast {

namespace {

constexpr std::size_t kStreams = EnumNames<StreamKind>::names.size();

/// Where an operation's slices begin and end, for arrows.
struct Drawn {
  Nanoseconds first = 0;  ///< start of its first slice
  Nanoseconds last = 0;   ///< an instant inside its last slice
};

class TraceWriter {
 public:
  TraceWriter(const std::filesystem::path& file, const Job& job, const StepGraph& graph, const Timeline& timeline)
      : graph_(graph),
        timeline_(timeline),
        power_by_kind_(power_by_kind(*job.scenario)),
        kinds_(device_kinds(job)),
        out_(file) {
    drawn_.resize(graph.operations().size());
    critical_.resize(graph.operations().size());
    for (const int operation : critical_path(graph, timeline)) critical_[static_cast<std::size_t>(operation)] = true;
    for (const Segment* segment : graph.segments()) segments_.push_back(segment_time(*segment));
  }

  void write() {
    const std::vector<DeviceOperations> operations = operations_by_device(graph_, timeline_);
    for (std::size_t device = 0; device < operations.size(); ++device) {
      write_device(static_cast<int>(device), operations[device]);
      write_power(static_cast<int>(device),
                  device_intervals(graph_, timeline_, static_cast<int>(device), operations[device]));
    }
    write_arrows();
    write_links();
    out_.commit();
  }

 private:
  static int process_of(int device) { return device + 1; }
  static int thread_of(StreamKind stream) { return static_cast<int>(stream) + 1; }
  int fabric() const { return static_cast<int>(graph_.devices().size()) + 1; }

  void write_device(int device, const DeviceOperations& operations) {
    const auto& info = graph_.devices()[static_cast<std::size_t>(device)];
    out_.name_process(process_of(device), info.multiplicity > 1 ? fmt::format("{} (stands for {:.0f} devices)",
                                                                              info.name, info.multiplicity)
                                                                : info.name);
    std::array<std::vector<int>, kStreams> streams;
    for (const int operation : operations.all)
      if (const StreamKind stream = graph_.operations()[operation].stream; stream != StreamKind::compute)
        streams[static_cast<std::size_t>(stream)].push_back(operation);
    streams[static_cast<std::size_t>(StreamKind::compute)] = operations.compute;
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      if (streams[stream].empty()) continue;
      std::stable_sort(streams[stream].begin(), streams[stream].end(),
                       [&](int a, int b) { return timeline_.spans[a].start < timeline_.spans[b].start; });
      out_.name_thread(process_of(device), static_cast<int>(stream) + 1, EnumNames<StreamKind>::names[stream]);
      Nanoseconds free_from = 0;
      for (const int operation : streams[stream]) free_from = write_operation(operation, free_from);
    }
  }

  [[nodiscard]] std::string arguments(int index) const {
    const Operation& operation = graph_.operations()[index];
    std::string out;
    if (operation.micro_batch >= 0) out += fmt::format(R"("micro_batch":{})", operation.micro_batch);
    if (operation.chunk >= 0) out += fmt::format(R"({}"chunk":{})", out.empty() ? "" : ",", operation.chunk);
    if (critical_[static_cast<std::size_t>(index)]) out += out.empty() ? R"("critical":true)" : R"(,"critical":true)";
    return out;
  }

  static std::string_view category(const Operation& operation) {
    static constexpr std::array phases{"forward", "backward", "backward_input", "backward_weight"};
    if (operation.kind == OperationKind::compute) return phases.at(operation.phase);
    return communicates(operation) ? name_of(operation.dimension) : name_of(operation.kind);
  }

  /// Draws one operation, its segment expanded, and returns the instant from which its stream is free again.
  Nanoseconds write_operation(int index, Nanoseconds free_from) {
    const Operation& operation = graph_.operations()[index];
    const Span& span = timeline_.spans[index];
    const Nanoseconds start = std::max(free_from, nanoseconds(span.start));
    const Nanoseconds end = std::max(start, nanoseconds(span.end));
    drawn_[index] = {start, start};
    if (operation.segment >= 0) return write_segment(index, start, end);
    const std::string_view name = operation.name.empty() ? name_of(operation.kind) : operation.name;
    slice(operation, name, category(operation), start, end, arguments(index));
    drawn_[index].last = inside(start, end);
    return end;
  }

  Nanoseconds write_segment(int index, Nanoseconds start, Nanoseconds end) {
    const Operation& operation = graph_.operations()[index];
    const Span& span = timeline_.spans[index];
    const Stretch stretch = stretch_of(segments_[operation.segment], span.end - span.start);
    const std::string with = arguments(index);
    const std::vector<Piece>& pieces = graph_.segments()[operation.segment]->pieces;
    Seconds now = span.start;
    Nanoseconds from = start;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      now += pieces[i].duration * stretch.of(pieces[i]);
      const Nanoseconds to = i + 1 == pieces.size() ? end : std::clamp(nanoseconds(now), from, end);
      const std::string_view kind = pieces[i].communication        ? name_of(pieces[i].dimension)
                                    : pieces[i].wait != Wait::none ? std::string_view("wait")
                                                                   : category(operation);
      slice(operation, pieces[i].name, kind, from, to, with);
      drawn_[index].last = inside(from, to);
      from = to;
    }
    return end;
  }

  void slice(const Operation& operation, std::string_view name, std::string_view kind, Nanoseconds start,
             Nanoseconds end, std::string_view with) {
    out_.slice(process_of(operation.device), thread_of(operation.stream), name, kind, start, end, with);
  }

  /// An instant that belongs to a slice and not to the one after it.
  static Nanoseconds inside(Nanoseconds start, Nanoseconds end) { return std::max(start, end - 1); }

  /// Arrows between streams wherever communication is at one end.
  void write_arrows() {
    long id = 0;
    const auto& operations = graph_.operations();
    for (std::size_t after = 0; after < operations.size(); ++after)
      for (const int before : graph_.predecessors(static_cast<int>(after))) {
        const Operation &from = operations[before], &to = operations[after];
        if (from.kind == OperationKind::meeting || to.kind == OperationKind::meeting) continue;
        if (!communicates(from) && !communicates(to)) continue;
        if (from.device == to.device && from.stream == to.stream) continue;
        ++id;
        out_.flow_start(id, process_of(from.device), thread_of(from.stream), drawn_[before].last);
        out_.flow_end(id, process_of(to.device), thread_of(to.stream),
                      std::max(drawn_[after].first, drawn_[before].last));
      }
  }

  Watts power_during(const Interval& interval, const PowerModel& power) const {
    const bool waits = interval.activity != Activity::work;
    if (waits && interval.activity != Activity::communication) return power.device_waiting;
    const Operation& operation = graph_.operations()[interval.operation];
    if (waits) return operation.dimension == Dimension::storage ? power.device_ready : power.device_waiting;
    if (operation.kind == OperationKind::optimizer) return power.device_updating;
    if (operation.kind == OperationKind::overhead) return power.device_ready;
    if (operation.segment < 0) return power.device_compute;
    return mean_power(segments_[operation.segment], interval.end - interval.start, power);
  }

  void write_power(int device, const std::vector<Interval>& intervals) {
    const PowerModel& power = power_by_kind_[kinds_.empty() ? 0 : static_cast<std::size_t>(kinds_[device])];
    double last = -1;
    for (const Interval& interval : intervals) {
      const double watts = power_during(interval, power).value();
      if (watts != last) out_.counter(process_of(device), "power", "W", nanoseconds(interval.start), watts);
      last = watts;
    }
    out_.counter(process_of(device), "power", "W", nanoseconds(timeline_.end), power.device_ready.value());
  }

  void write_links() {
    if (timeline_.link_rates.empty()) return;
    bool fabric_named = false;
    for (const LinkRate& change : timeline_.link_rates) {
      const GraphLink& link = graph_.links()[static_cast<std::size_t>(change.link)];
      if (link.device < 0 && !fabric_named) {
        out_.name_process(fabric(), "fabric");
        fabric_named = true;
      }
      out_.counter(link.device < 0 ? fabric() : process_of(link.device), link.name, "GB/s", nanoseconds(change.time),
                   change.rate.in(1_GBps));
    }
  }

  const StepGraph& graph_;
  const Timeline& timeline_;
  std::vector<PowerModel> power_by_kind_;
  std::vector<int> kinds_;  ///< by device; empty: all are of one
  ChromeTrace out_;
  std::vector<SegmentTime> segments_;
  std::vector<Drawn> drawn_;
  std::vector<bool> critical_;  ///< by operation: on the critical path
};

}  // namespace

void write_trace(const std::filesystem::path& file, const Job& job, const StepGraph& graph, const Timeline& timeline) {
  TraceWriter(file, job, graph, timeline).write();
}

}  // namespace stepcast
