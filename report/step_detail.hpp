#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fields/json_text.hpp"
#include "models/parallelism/job.hpp"
#include "models/step_breakdown.hpp"
#include "report/prediction.hpp"
#include "sim/step_graph.hpp"
#include "sim/timeline.hpp"

namespace stepcast {

/// What a path calls waiting for input.
inline constexpr const char* kLoadingOfInput = "loading of input";

/// Time that the longest chain of operations spends on one thing.
struct PathPart {
  std::string what;  ///< "matrix products and attention", "all_reduce, data", …
  Seconds time;
  int operations = 0;  ///< of the step graph that it was found in; 0 in closed form
};

/// A stretch of a stream as a drawing needs it: what is shorter than the drawing can show is merged.
struct DrawnSpan {
  Seconds start, end;
  std::string what;  ///< "forward", "backward", "all_reduce, data", …
  int micro_batch = -1;
};

/// One stream of a representative device.
struct DrawnStream {
  std::string device, stream;
  double devices = 1;  ///< real devices that it stands for
  std::vector<DrawnSpan> spans;
};

/// What a report shows of a step beyond its prediction.
struct StepDetail {
  std::vector<PathPart> critical_path;  ///< longest first; adds up to the step
  std::vector<DrawnStream> streams;     ///< empty in closed form
  std::vector<Watts> device_power;      ///< of the mean device, in equal windows of the step; empty in closed form
};

/// Limits of a drawing: streams beyond are left out, evenly over the devices; a stream has at most so many spans.
inline constexpr std::size_t kMostDrawnDevices = 16;
inline constexpr std::size_t kMostDrawnSpans = 600;
inline constexpr std::size_t kMostPowerWindows = 256;

/// Critical path, drawing and power of a simulated step.
StepDetail detail_of(const Job& job, const StepGraph& graph, const Timeline& timeline);
/// The closed form knows no single path: the parts of the mean device's step stand for it, bubble and waits included.
StepDetail detail_of(const StepBreakdown& breakdown);

/// The path of a worker that meets others otherwise than by collectives (exchanges_apart), from that of one node by
/// itself: without waits, collectives and updates that the prediction has none of, for such a worker does not meet its
/// neighbours in every step. Where what is left is longer than the step, for waits hide under the next one and draws
/// have a mean of their own, all parts are shorter alike.
std::vector<PathPart> worker_path(std::vector<PathPart> lone, const Prediction& prediction);

Json to_json(const StepDetail& detail);
/// Throws std::runtime_error on what to_json did not write.
StepDetail step_detail_from_json(const Json& document);

}  // namespace stepcast
