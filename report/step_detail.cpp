#include "report/step_detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "models/parallelism/schedule.hpp"
#include "report/device_intervals.hpp"
#include "report/predict.hpp"
#include "report/segment_time.hpp"

namespace stepcast {

namespace {

constexpr const char* kMatrix = "matrix products and attention";
constexpr const char* kMemoryBound = "memory-bound operators";
constexpr const char* kHost = "waiting for the host";
constexpr const char* kPeers = "waiting for slower peers";
constexpr const char* kOptimizer = "optimizer";
constexpr const char* kOverhead = "fixed time of the framework";
constexpr const char* kBubble = "pipeline bubble";
constexpr const char* kNothing = "nothing that the step graph names";

std::string traffic_name(CollectiveKind kind, Dimension dimension) {
  if (dimension == Dimension::storage) return kLoadingOfInput;
  return fmt::format("{}, {}", name_of(kind), name_of(dimension));
}

/// Of a sum of times, what differences of some of them may leave for nothing.
constexpr double kRounding = 1e-12;

/// Sums by name, in order of first mention.
class PathSums {
 public:
  void add(const std::string& what, Seconds time, int operations = 0) {
    if (time <= Seconds(0)) return;
    PathPart& part = parts_[what];
    part.what = what;
    part.time += time;
    part.operations += operations;
  }
  /// But for what rounding makes of nothing.
  std::vector<PathPart> longest_first() {
    std::vector<PathPart> out;
    Seconds sum;
    for (const auto& [what, part] : parts_) sum += part.time;
    // A gap that is left of differences of times is none.
    for (auto& [what, part] : parts_)
      if (part.time > kRounding * sum) out.push_back(std::move(part));
    std::stable_sort(out.begin(), out.end(), [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
    return out;
  }

 private:
  std::map<std::string, PathPart> parts_;
};

/// What a segment of the path did, stretched to the time that it took there.
void add_segment(PathSums& sums, const Segment& segment, Seconds length) {
  const SegmentTime nominal = segment_time(segment);
  if (!(nominal.total() > Seconds(0))) return sums.add(kMatrix, length, 1);
  const Stretch stretch = stretch_of(nominal, length);
  sums.add(kMatrix, nominal.matrix * stretch.operators, 1);
  sums.add(kMemoryBound, nominal.memory * stretch.operators, 1);
  sums.add(kHost, nominal.host * stretch.others);
  sums.add(kPeers, nominal.peers * stretch.others);
  for (const SegmentTime::Share& share : nominal.collectives)
    sums.add(traffic_name(share.kind, share.dimension), share.exposed * stretch.others, 1);
}

std::vector<PathPart> path_of(const StepGraph& graph, const Timeline& timeline) {
  PathSums sums;
  Seconds until(0);
  for (const int id : critical_path(graph, timeline)) {
    const Span& span = timeline.spans[id];
    const Operation& operation = graph.operations()[id];
    sums.add(kNothing, span.start - until);
    const Seconds time = span.end - std::max(span.start, until);
    until = std::max(until, span.end);
    if (time <= Seconds(0)) continue;
    if (communicates(operation))
      sums.add(traffic_name(operation.collective, operation.dimension), time, 1);
    else if (operation.kind == OperationKind::optimizer)
      sums.add(kOptimizer, time, 1);
    else if (operation.kind == OperationKind::overhead)
      sums.add(kOverhead, time, 1);
    else if (operation.segment >= 0)
      add_segment(sums, *graph.segments()[operation.segment], time);
    else
      sums.add(kMatrix, time, 1);
  }
  sums.add(kNothing, timeline.end - until);
  return sums.longest_first();
}

std::string drawn_name(const Operation& operation) {
  if (communicates(operation)) return traffic_name(operation.collective, operation.dimension);
  if (operation.kind == OperationKind::optimizer) return "optimizer";
  if (operation.kind == OperationKind::overhead) return "fixed time";
  if (operation.name == kMergedPasses) return std::string(operation.name);
  return static_cast<Phase>(operation.phase) == Phase::forward ? "forward" : "backward";
}

/// Spans that a drawing cannot tell apart become one; the first micro-batch names it only if all are of it.
class StreamPen {
 public:
  StreamPen(DrawnStream& stream, Seconds step) : stream_(stream), finest_(step / double(kMostDrawnSpans)) {}

  void add(DrawnSpan span) {
    if (span.end <= span.start) return;
    if (!open_) {
      open_ = std::move(span);
      return;
    }
    const bool alike = open_->what == span.what && open_->micro_batch == span.micro_batch;
    const bool touching = span.start - open_->end < finest_ * 0.25;
    const bool tiny = span.end - open_->start < finest_;
    if ((alike && touching) || tiny) {
      if (span.end - span.start > longest_ && open_->what != span.what) open_->what = span.what;
      if (open_->micro_batch != span.micro_batch) open_->micro_batch = -1;
      longest_ = std::max(longest_, span.end - span.start);
      open_->end = std::max(open_->end, span.end);
      return;
    }
    finish();
    open_ = std::move(span);
  }
  void finish() {
    if (!open_) return;
    stream_.spans.push_back(std::move(*open_));
    open_.reset();
    longest_ = Seconds(0);
  }

 private:
  DrawnStream& stream_;
  Seconds finest_, longest_{0};
  std::optional<DrawnSpan> open_;
};

void draw_device(StepDetail& out, const StepGraph& graph, const Timeline& timeline, std::size_t device,
                 const std::vector<int>& operations) {
  std::map<StreamKind, std::vector<int>> by_stream;
  for (const int id : operations) by_stream[graph.operations()[id].stream].push_back(id);
  for (auto& [kind, ids] : by_stream) {
    std::stable_sort(ids.begin(), ids.end(),
                     [&](int a, int b) { return timeline.spans[a].start < timeline.spans[b].start; });
    DrawnStream stream{
        graph.devices()[device].name, std::string(name_of(kind)), graph.devices()[device].multiplicity, {}};
    StreamPen pen(stream, timeline.end);
    for (const int id : ids) {
      const Operation& operation = graph.operations()[id];
      pen.add({timeline.spans[id].start, timeline.spans[id].end, drawn_name(operation), operation.micro_batch});
    }
    pen.finish();
    if (!stream.spans.empty()) out.streams.push_back(std::move(stream));
  }
}

}  // namespace

StepDetail detail_of(const Job& job, const StepGraph& graph, const Timeline& timeline) {
  StepDetail out;
  out.device_power = power_over_time(job, graph, timeline).windows(kMostPowerWindows);
  out.critical_path = path_of(graph, timeline);
  const std::vector<DeviceOperations> operations = operations_by_device(graph, timeline);
  const std::size_t devices = operations.size(), drawn = std::min(devices, kMostDrawnDevices);
  for (std::size_t i = 0; i < drawn; ++i) {
    const std::size_t device = drawn < 2 ? 0 : i * (devices - 1) / (drawn - 1);
    draw_device(out, graph, timeline, device, operations[device].all);
  }
  return out;
}

StepDetail detail_of(const StepBreakdown& breakdown) {
  PathSums sums;
  sums.add(kMatrix, breakdown.matrix_time);
  sums.add(kMemoryBound, breakdown.memory_time);
  sums.add(kHost, breakdown.host);
  sums.add(kPeers, breakdown.synchronization_wait);
  sums.add(kBubble, breakdown.bubble);
  sums.add(kOptimizer, breakdown.optimizer);
  sums.add(kOverhead, breakdown.overhead - breakdown.host);
  for (std::size_t kind = 0; kind < kCollectiveKinds; ++kind)
    for (std::size_t dimension = 0; dimension < kDimensions; ++dimension)
      sums.add(traffic_name(static_cast<CollectiveKind>(kind), static_cast<Dimension>(dimension)),
               breakdown.communication[kind][dimension].exposed);
  return {sums.longest_first(), {}, {}};
}

namespace {

bool exposes(const std::map<std::string, CommunicationMetrics::Share>& shares, std::string_view name) {
  const auto share = shares.find(std::string(name));
  return share != shares.end() && share->second.exposed > Seconds(0);
}

/// Of a part's time on the path of one node by itself, what a worker's step has.
Seconds time_of_worker(const PathPart& part, const Prediction& prediction) {
  if (part.what == kPeers) return std::min(part.time, prediction.synchronization_wait);
  if (part.what == kOptimizer) return std::min(part.time, prediction.optimizer);
  const std::size_t comma = part.what.find(", ");
  if (comma == std::string::npos) return part.time;
  const std::string_view words = part.what;
  const bool meets = exposes(prediction.communication.by_kind, words.substr(0, comma)) &&
                     exposes(prediction.communication.by_dimension, words.substr(comma + 2));
  return meets ? part.time : Seconds(0);
}

}  // namespace

std::vector<PathPart> worker_path(std::vector<PathPart> lone, const Prediction& prediction) {
  Seconds sum;
  for (PathPart& part : lone) sum += part.time = time_of_worker(part, prediction);
  std::erase_if(lone, [](const PathPart& part) { return part.time <= Seconds(0); });
  if (const double longer = sum / prediction.step_time; longer > 1)
    for (PathPart& part : lone) part.time /= longer;
  std::stable_sort(lone.begin(), lone.end(), [](const PathPart& a, const PathPart& b) { return a.time > b.time; });
  return lone;
}

Json to_json(const StepDetail& detail) {
  Json path = Json::array(), streams = Json::array();
  for (const PathPart& part : detail.critical_path)
    path.push_back({{"what", part.what}, {"time_s", part.time.value()}, {"operations", part.operations}});
  for (const DrawnStream& stream : detail.streams) {
    Json spans = Json::array();
    for (const DrawnSpan& span : stream.spans)
      spans.push_back({span.start.value(), span.end.value(), span.what, span.micro_batch});
    streams.push_back({{"device", stream.device},
                       {"stream", stream.stream},
                       {"devices", stream.devices},
                       {"spans", std::move(spans)}});
  }
  Json power = Json::array();
  for (const Watts watts : detail.device_power) power.push_back(watts.value());
  return {{"critical_path", std::move(path)}, {"streams", std::move(streams)}, {"device_power_W", std::move(power)}};
}

StepDetail step_detail_from_json(const Json& document) {
  try {
    StepDetail out;
    for (const Json& part : document.at("critical_path"))
      out.critical_path.push_back({part.at("what").get<std::string>(), Seconds(part.at("time_s").get<double>()),
                                   part.at("operations").get<int>()});
    for (const Json& stream : document.at("streams")) {
      DrawnStream& drawn = out.streams.emplace_back();
      drawn.device = stream.at("device").get<std::string>();
      drawn.stream = stream.at("stream").get<std::string>();
      drawn.devices = stream.at("devices").get<double>();
      for (const Json& span : stream.at("spans"))
        drawn.spans.push_back({Seconds(span.at(0).get<double>()), Seconds(span.at(1).get<double>()),
                               span.at(2).get<std::string>(), span.at(3).get<int>()});
    }
    for (const Json& watts : document.at("device_power_W")) out.device_power.emplace_back(watts.get<double>());
    return out;
  } catch (const Json::exception& error) {
    throw std::runtime_error(fmt::format("not the detail of a step: {}", error.what()));
  }
}

}  // namespace stepcast
