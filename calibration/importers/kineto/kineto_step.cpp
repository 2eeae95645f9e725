#include "calibration/importers/kineto/kineto_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "calibration/importers/text_file.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

/// A kernel begins so long after its call on an idle device (PyTorch on CUDA and HIP, 4 to 10 µs): no wait of its own.
constexpr double kLaunchLatency = 10e-6;

bool on_device(const TraceEvent& event) {
  return event.kind == TraceEventKind::kernel || event.kind == TraceEventKind::copy;
}

/// Device events whose launch is not recorded while that of a later one of their stream is: they were launched before
/// the profiler began, by steps that are not in the trace.
std::vector<bool> left_by_earlier_steps(const KinetoTrace& trace, const std::vector<int>& launches) {
  std::vector<bool> out(trace.events.size(), false);
  std::set<long> launched;
  for (std::size_t i = out.size(); i-- > 0;) {
    if (!on_device(trace.events[i])) continue;
    if (launches[i] >= 0)
      launched.insert(trace.events[i].stream);
    else
      out[i] = launched.contains(trace.events[i].stream);
  }
  return out;
}

void assign(const KinetoTrace& trace, TracedStep& step, const std::vector<int>& launches,
            const std::vector<bool>& earlier) {
  for (int i = 0; i < static_cast<int>(trace.events.size()); ++i) {
    const TraceEvent& event = trace.events[static_cast<std::size_t>(i)];
    const auto inside = [&](double time) { return time >= step.start && time < step.end; };
    if (event.kind == TraceEventKind::runtime && inside(event.start)) step.host.push_back(i);
    if (!on_device(event) || earlier[static_cast<std::size_t>(i)]) continue;
    const int launch = launches[static_cast<std::size_t>(i)];
    if (inside(launch < 0 ? event.start : trace.events[static_cast<std::size_t>(launch)].start))
      step.device.push_back(i);
  }
}

}  // namespace

std::optional<int> TracedStep::number() const {
  return name.starts_with(kStepMark) ? whole_number(std::string_view(name).substr(kStepMark.size())) : std::nullopt;
}

std::vector<int> launches_of(const KinetoTrace& trace) {
  std::unordered_map<long, int> call;
  for (int i = 0; i < static_cast<int>(trace.events.size()); ++i) {
    const TraceEvent& event = trace.events[static_cast<std::size_t>(i)];
    if (event.kind == TraceEventKind::runtime && event.correlation >= 0) call.emplace(event.correlation, i);
  }
  std::vector<int> out(trace.events.size(), -1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!on_device(trace.events[i])) continue;
    const auto found = call.find(trace.events[i].correlation);
    if (found != call.end()) out[i] = found->second;
  }
  return out;
}

std::vector<TracedStep> steps_of(const KinetoTrace& trace) {
  std::vector<TracedStep> out;
  for (const TraceEvent& event : trace.events)
    if (event.kind == TraceEventKind::annotation && event.name.starts_with(kStepMark))
      out.push_back({event.name, event.start, event.end, {}, {}});
  if (out.empty()) {
    TracedStep all{"whole trace", trace.events.front().start, 0, {}, {}};
    for (const TraceEvent& event : trace.events)
      if (on_device(event) || event.kind == TraceEventKind::runtime) all.end = std::max(all.end, event.end);
    out.push_back(std::move(all));
  }
  const std::vector<int> launches = launches_of(trace);
  const std::vector<bool> earlier = left_by_earlier_steps(trace, launches);
  for (TracedStep& step : out) assign(trace, step, launches, earlier);
  std::erase_if(out, [](const TracedStep& step) { return step.device.empty() || step.length() <= 0; });
  return out;
}

std::size_t events_of_earlier_steps(const KinetoTrace& trace) {
  const std::vector<bool> earlier = left_by_earlier_steps(trace, launches_of(trace));
  return static_cast<std::size_t>(std::count(earlier.begin(), earlier.end(), true));
}

TracedStep typical_step(const KinetoTrace& trace, std::optional<int> number) {
  std::vector<TracedStep> steps = steps_of(trace);
  if (number) {
    const std::string name = fmt::format("{}{}", kStepMark, *number);
    std::vector<std::string> names;
    for (TracedStep& step : steps) {
      if (step.name == name) return std::move(step);
      names.push_back(step.name);
    }
    throw InputError({{trace.file, "", fmt::format("has no step {} with work on a device", *number),
                       fmt::format("it has {}", fmt::join(names, ", "))}});
  }
  if (steps.empty())
    throw InputError({{trace.file, "/traceEvents", "no step runs anything", "a trace of whole steps"}});
  std::stable_sort(steps.begin(), steps.end(),
                   [](const TracedStep& a, const TracedStep& b) { return a.length() < b.length(); });
  return std::move(steps[steps.size() / 2]);
}

const char* name_of_category(StepCategory category) {
  constexpr std::array names{"GEMM", "attention", "memory-bound", "exposed communication", "host gaps", "waiting"};
  return names[static_cast<std::size_t>(category)];
}

namespace {

/// The quickest of like collectives, by name, sizes and group.
using CollectiveLike = std::tuple<std::string, double, double, int>;
CollectiveLike like_of(const TraceEvent& event) {
  return {event.name, event.collective->in_elements, event.collective->out_elements, event.collective->group_size};
}

struct Edge {
  double time;
  StepCategory category;
  int change;
};

/// Device time in the window, as edges of what runs.
std::vector<Edge> edges_of(const KinetoTrace& trace, const TracedStep& step) {
  std::map<CollectiveLike, double> quickest;
  for (const TraceEvent& event : trace.events)
    if (on_device(event) && event.collective) {
      const auto [entry, fresh] = quickest.try_emplace(like_of(event), event.length());
      entry->second = std::min(entry->second, event.length());
    }
  std::vector<Edge> out;
  const auto add = [&](double from, double to, StepCategory category) {
    from = std::max(from, step.start);
    to = std::min(to, step.end);
    if (to <= from) return;
    out.push_back({from, category, 1});
    out.push_back({to, category, -1});
  };
  for (const TraceEvent& event : trace.events) {
    if (!on_device(event) || event.end <= step.start || event.start >= step.end) continue;
    switch (event.kernel) {
      case KernelKind::gemm:
        add(event.start, event.end, StepCategory::gemm);
        break;
      case KernelKind::attention:
        add(event.start, event.end, StepCategory::attention);
        break;
      case KernelKind::memory:
        add(event.start, event.end, StepCategory::memory);
        break;
      case KernelKind::communication: {
        const double late = event.collective ? event.length() - quickest.at(like_of(event)) : 0;
        add(event.start, event.start + late, StepCategory::waiting);
        add(event.start + late, event.end, StepCategory::communication);
        break;
      }
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Edge& a, const Edge& b) { return a.time < b.time; });
  return out;
}

/// When each device event was issued, in order of its start.
std::vector<std::pair<double, double>> issued_times(const KinetoTrace& trace) {
  const std::vector<int> launches = launches_of(trace);
  std::vector<std::pair<double, double>> out;  // start, end of the call
  for (std::size_t i = 0; i < trace.events.size(); ++i)
    if (on_device(trace.events[i]))
      out.emplace_back(trace.events[i].start, launches[i] < 0
                                                  ? trace.events[i].start
                                                  : trace.events[static_cast<std::size_t>(launches[i])].end);
  return out;
}

}  // namespace

std::array<double, kStepCategories> categories_of(const KinetoTrace& trace, const TracedStep& step) {
  std::array<double, kStepCategories> out{}, running{};
  const auto at = [&out](StepCategory category) -> double& { return out[static_cast<std::size_t>(category)]; };
  const std::vector<std::pair<double, double>> issued = issued_times(trace);
  const auto idle = [&](double from, double to) {
    const auto next = std::lower_bound(issued.begin(), issued.end(), std::pair{to - 1e-12, 0.0},
                                       [](const auto& a, const auto& b) { return a.first < b.first; });
    // The host is at it until it has issued what comes next; behind the last kernel it ends the step.
    double until = next == issued.end() || next->first > to + 1e-9 ? to : next->second + kLaunchLatency;
    until = std::clamp(until, from, to);
    at(StepCategory::host) += until - from;
    at(StepCategory::waiting) += to - until;
  };
  double now = step.start;
  const auto pass = [&](double until) {
    if (until <= now) return;
    for (const StepCategory category : {StepCategory::gemm, StepCategory::attention, StepCategory::memory,
                                        StepCategory::communication, StepCategory::waiting})
      if (running[static_cast<std::size_t>(category)] > 0) {
        at(category) += until - now;
        now = until;
        return;
      }
    idle(now, until);
    now = until;
  };
  for (const Edge& edge : edges_of(trace, step)) {
    pass(edge.time);
    running[static_cast<std::size_t>(edge.category)] += edge.change;
  }
  pass(step.end);
  return out;
}

}  // namespace stepcast
