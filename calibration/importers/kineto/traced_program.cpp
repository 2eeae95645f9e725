#include "calibration/importers/kineto/traced_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace stepcast {

namespace {

/// Gaps up to this belong to the kernel behind them: launch latency, and the switch from one kernel to the next.
constexpr double kOwnGap = 20e-6;
/// What begins so soon after a kernel of another stream ended may have waited for it.
constexpr double kCausedWithin = 20e-6;
constexpr double kUnexplained = 3e-6;
constexpr std::size_t kLongestLabel = 96;
/// Kernels before one, or before a call's end, that are looked at for what it may have waited for.
constexpr int kMostCauses = 512;

/// Calls that return when the device has done what they wait for. Copies issue it themselves; hipMemcpyWithStream is
/// what PyTorch reads single numbers by on AMD's devices.
bool waits_for_device(const std::string& name) {
  return name.find("Synchronize") != std::string::npos || name == "cudaMemcpy" || name == "hipMemcpy" ||
         name == "hipMemcpyWithStream";
}

/// By the ranks that the trace lists of one group, where they are evenly apart: [0, 8] is two ranks, 8 apart.
GroupTiling tiling_of(int members, const std::vector<int>& ranks) {
  if (static_cast<int>(ranks.size()) != members || members < 2) return {members, 1, false};
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (stride < 1 || ranks[i] - ranks[i - 1] != stride) return {members, 1, false};
  return {members, stride, true};
}

/// Builds one rank's program.
class ProgramBuilder {
 public:
  ProgramBuilder(const KinetoTrace& trace, const TracedStep& step, const TracedCluster* cluster, int world)
      : trace_(trace),
        step_(step),
        cluster_(cluster),
        world_(world),
        launches_(launches_of(trace)),
        others_(others_of(trace, step)) {
    std::copy_if(step.device.begin(), step.device.end(), std::back_inserter(communication_), [&](int index) {
      return event(index).kernel == KernelKind::communication && event(index).kind != TraceEventKind::copy;
    });
  }

  TracedProgram build() {
    if (!trace_.on_processor) follow_host();
    for (const int index : step_.device) add_device(index);
    if (trace_.on_processor) end_step();
    return std::move(out_);
  }

 private:
  const TraceEvent& event(int index) const { return trace_.events[static_cast<std::size_t>(index)]; }

  RankOperation& add(std::string name, RankOperationKind kind, std::vector<std::uint64_t> after) {
    RankOperation& out = out_.operations.emplace_back();
    out.id = out_.operations.size();
    out.name = name.size() > kLongestLabel ? name.substr(0, kLongestLabel) : std::move(name);
    out.kind = kind;
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    out.after = std::move(after);
    return out;
  }

  std::uint64_t add_time(const char* name, const char* stream, double seconds, std::vector<std::uint64_t> after) {
    RankOperation& out = add(name, RankOperationKind::compute, std::move(after));
    out.duration = Seconds(std::max(0.0, seconds));
    out.host = true;
    out.stream = stream;
    return out.id;
  }

  /// What the host comes to.
  struct HostEvent {
    double time = 0;
    int call = 0;
    bool waits = false;  ///< for the device; else it issues something
    auto operator<=>(const HostEvent&) const = default;
  };

  /// Calls that issue something, when they begin, and that wait, when they end: what one thread issues while another
  /// waits, which may be what that waits for, comes first.
  std::vector<HostEvent> host_events(const std::map<int, double>& begins) const {
    std::vector<HostEvent> out;
    for (const int call : step_.host) {
      if (begins.contains(call)) out.push_back({event(call).start, call, false});
      if (waits_for_device(event(call).name)) out.push_back({event(call).end, call, true});
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  /// What the host does up to each call that issues a kernel or waits for one.
  void follow_host() {
    std::map<int, double> begins;  // by call: start of the first thing that it issued
    for (const int index : step_.device)
      if (const int call = launches_[static_cast<std::size_t>(index)]; call >= 0) {
        const auto [entry, fresh] = begins.try_emplace(call, event(index).start);
        entry->second = std::min(entry->second, event(index).start);
      }
    double now = step_.start;
    const auto host_until = [&](double time) {
      std::vector<std::uint64_t> after;
      if (host_ > 0) after.push_back(host_);
      host_ = add_time("host", "host", time - now, std::move(after));
      now = std::max(now, time);
    };
    for (const auto& [time, call, waits] : host_events(begins)) {
      if (!waits) {
        // A call that waits has issued its copy long before it returns.
        const double end = waits_for_device(event(call).name) ? event(call).start : event(call).end;
        host_until(std::min(end, std::max(event(call).start, begins.at(call))));
        issued_[call] = {host_, now};
      } else if (const int awaited = last_ended(event(call), step_.device); awaited < 0) {
        // What earlier steps left on the device: no work of the host, and of this step's own rest the next one waits.
        if (const int earlier = last_ended(event(call), others_); earlier >= 0) {
          host_until(event(call).start);
          now = std::max(now, std::min(event(call).end, event(earlier).end));
        }
      } else {
        host_until(event(call).start);
        waiting_hosts_.emplace(awaited, out_.operations.size());
        now = std::max(now, std::min(event(call).end, event(awaited).end));
        // The wait itself: joined to the kernel once that has an operation.
        RankOperation& join = add("synchronisation", RankOperationKind::compute, {host_});
        join.duration = Seconds(0);
        join.host = true;
        join.stream = "host";
        host_ = join.id;
      }
    }
    host_until(step_.end);
  }

  /// Where the host is the device, what it does behind its last operator ends the step.
  void end_step() {
    const auto last = std::max_element(done_.begin(), done_.end(), [&](const auto& a, const auto& b) {
      return event(a.first).end < event(b.first).end;
    });
    if (last != done_.end()) add_time("host", "host", step_.end - event(last->first).end, {last->second});
  }

  /// The device event of some that a synchronising call waited for; −1 if it waited for none of them.
  int last_ended(const TraceEvent& call, const std::vector<int>& device) const {
    const auto begun = std::upper_bound(device.begin(), device.end(), call.end,
                                        [&](double time, int index) { return time < event(index).start; });
    int out = -1, seen = 0;
    for (auto before = begun; before != device.begin() && ++seen <= kMostCauses;) {
      const int index = *--before;
      if (issued_at(index) > call.start || event(index).end > call.end + 1e-6 || event(index).end <= call.start)
        continue;
      if (out < 0 || event(index).end > event(out).end) out = index;
    }
    return out;
  }

  /// When a device event was launched; without a launch that is recorded when it began, or before the step.
  double issued_at(int index) const {
    const int launch = launches_[static_cast<std::size_t>(index)];
    return launch < 0 ? std::min(event(index).start, step_.start) : event(launch).start;
  }

  /// Events of the device that the step did not launch, by start.
  static std::vector<int> others_of(const KinetoTrace& trace, const TracedStep& step) {
    std::vector<int> out;
    auto own = step.device.begin();
    for (int i = 0; i < static_cast<int>(trace.events.size()); ++i) {
      const TraceEventKind kind = trace.events[static_cast<std::size_t>(i)].kind;
      if (own != step.device.end() && *own == i)
        ++own;
      else if (kind == TraceEventKind::kernel || kind == TraceEventKind::copy)
        out.push_back(i);
    }
    return out;
  }

  /// What a kernel waited for, and until when that lasted.
  struct Ready {
    std::vector<std::uint64_t> after;
    double time = 0;
    void wait_for(std::uint64_t operation, double until) {
      after.push_back(operation);
      time = std::max(time, until);
    }
  };

  Ready ready_of(int index) {
    const TraceEvent& self = event(index);
    Ready out;
    out.time = step_.start;
    if (const auto issued = issued_.find(launches_[static_cast<std::size_t>(index)]); issued != issued_.end())
      out.wait_for(issued->second.first, issued->second.second);
    if (const auto before = last_on_stream_.find(self.stream); before != last_on_stream_.end())
      out.wait_for(before->second.first, before->second.second);
    else
      out.time = std::max(out.time, end_before_step(self));
    if (self.kernel == KernelKind::communication) {
      if (const int cause = issued_before(index); cause >= 0) out.wait_for(done_.at(cause), event(cause).end);
    }
    // Collectives of one communicator run one after another, on whichever streams.
    if (self.start - out.time > kUnexplained) {
      if (const int cause = ended_just_before(index, out.time); cause >= 0)
        out.wait_for(done_.at(cause), event(cause).end);
      else
        out.time = std::max(out.time, end_of_earlier_steps(self, out.time));
    }
    return out;
  }

  /// When work of earlier steps ended, on any stream, right before a kernel began; `ready` where none did. The step is
  /// replayed alone, without that wait.
  double end_of_earlier_steps(const TraceEvent& self, double ready) const {
    const auto begun = std::upper_bound(others_.begin(), others_.end(), self.start,
                                        [&](double time, int index) { return time < event(index).start; });
    double out = ready;
    int seen = 0;
    for (auto before = begun; before != others_.begin() && ++seen <= kMostCauses;) {
      const double end = event(*--before).end;
      if (end <= self.start + 1e-6 && self.start - end <= kCausedWithin) out = std::max(out, std::min(end, self.start));
    }
    return out;
  }

  /// End of what earlier steps left on a stream.
  double end_before_step(const TraceEvent& self) const {
    double out = 0;
    for (const int index : others_) {
      const TraceEvent& other = event(index);
      if (other.start >= self.start) break;
      if (other.stream == self.stream) out = std::max(out, std::min(other.end, self.start));
    }
    return out;
  }

  /// A collective waits for what had been issued to other streams when it was called.
  int issued_before(int index) const {
    const int call = launches_[static_cast<std::size_t>(index)];
    int out = -1, seen = 0;
    for (auto done = done_.rbegin(); done != done_.rend() && ++seen <= kMostCauses; ++done) {
      const int other = done->first;
      if (event(other).kernel == KernelKind::communication || event(other).end > event(index).start + 1e-6) continue;
      const int launch = launches_[static_cast<std::size_t>(other)];
      if (call >= 0 && launch >= 0 && event(launch).start > event(call).start) continue;
      if (out < 0 || event(other).end > event(out).end) out = other;
    }
    return out;
  }

  int ended_just_before(int index, double ready) const {
    const TraceEvent& self = event(index);
    int out = -1, seen = 0;
    for (auto done = done_.rbegin(); done != done_.rend() && ++seen <= kMostCauses; ++done) {
      const int other = done->first;
      const double end = event(other).end;
      if (event(other).stream == self.stream || end <= ready || end > self.start + 1e-6) continue;
      // A process that waits for another is woken whenever the processor is free.
      const bool woken = trace_.on_processor && event(other).kernel == KernelKind::communication;
      if (!woken && self.start - end > kCausedWithin) continue;
      if (out < 0 || end > event(out).end) out = other;
    }
    return out;
  }

  void add_device(int index) {
    const TraceEvent& self = event(index);
    Ready ready = ready_of(index);
    double gap = std::max(0.0, self.start - ready.time);
    if (gap > kOwnGap) {
      const std::uint64_t wait = add_time("unexplained wait", "", gap, ready.after);
      out_.operations.back().stream = fmt::format("wait {}", wait);
      last_call_behind(wait);
      ready.after = {wait};
      gap = 0;
    }
    const double time = self.length() + gap;
    const std::uint64_t id = self.kernel == KernelKind::communication ? communicate(self, time, ready.after)
                                                                      : compute(self, time, ready.after);
    done_.emplace(index, id);
    last_on_stream_[self.stream] = {id, self.end};
    const std::uint64_t called = last_call_behind(id);
    const auto [first, last] = waiting_hosts_.equal_range(index);
    for (auto waiting = first; waiting != last; ++waiting)
      if (called <= waiting->second) out_.operations[waiting->second].after.push_back(id);
  }

  /// The last of the host's operations that one of the device, which was just added, comes after. Where clocks of host
  /// and device disagree it may be one behind the call that waits for it.
  std::uint64_t last_call_behind(std::uint64_t id) {
    std::uint64_t out = 0;
    for (const std::uint64_t before : out_.operations[id - 1].after) {
      const auto of_device = called_.find(before);
      out = std::max(out, of_device == called_.end() ? before : of_device->second);
    }
    return called_[id] = out;
  }

  std::uint64_t compute(const TraceEvent& self, double time, std::vector<std::uint64_t> after) {
    RankOperation& out = add(self.name, RankOperationKind::compute, std::move(after));
    out.stream = fmt::format("stream {}", self.stream);
    const double floor = cluster_ && cluster_->device ? cluster_->device->kernel_floor.value() : time;
    const bool copy = self.kind == TraceEventKind::copy;
    if (copy || time <= floor) {
      out.duration = Seconds(time);
    } else if (self.kernel == KernelKind::memory) {
      out.memory = cluster_->device->memory_bandwidth * Seconds(time - floor);
    } else {
      out.work = cluster_->device->product.sustained_rate * Seconds(time - floor);
    }
    return out.id;
  }

  std::uint64_t communicate(const TraceEvent& self, double time, std::vector<std::uint64_t> after) {
    const std::optional<CollectiveKind> told_kind =
        self.collective ? std::optional(self.collective->kind) : self.communication;
    const CollectiveKind kind = told_kind.value_or(CollectiveKind::all_reduce);
    const int told = self.collective ? self.collective->group_size : 0;
    const int members = told > 0 ? told : world_;
    if (members < 2 || !cluster_ || self.kind == TraceEventKind::copy) {
      ++out_.fixed;
      RankOperation& out = add(self.name, RankOperationKind::compute, std::move(after));
      out.stream = fmt::format("stream {}", self.stream);
      out.duration = Seconds(time);
      return out.id;
    }
    const GroupTiling group = members == world_
                                  ? GroupTiling{members, 1, true}
                                  : tiling_of(members, self.collective ? self.collective->ranks : std::vector<int>());
    if (members != world_) out_.odd_groups.insert(group);
    if (!told_kind) ++out_.guessed;
    RankOperation& out = add(self.name, RankOperationKind::collective, std::move(after));
    out.collective = kind;
    out.group = members == world_ ? std::string() : group.name();
    out.stream = fmt::format("stream {}", self.stream);
    out_.collectives.push_back(
        {out_.operations.size() - 1, kind, members, group.stride, time - self.length() + alone(self)});
    return out.id;
  }

  /// What a collective's length would be without others of its group beside it, which are on the same links: of every
  /// stretch that k of them shared it had a k-th part.
  double alone(const TraceEvent& self) const {
    std::vector<std::pair<double, int>> edges{{self.start, 0}, {self.end, 0}};
    for (const int index : communication_) {
      const TraceEvent& other = event(index);
      if (&other == &self) continue;
      if ((other.collective ? other.collective->group_size : 0) != (self.collective ? self.collective->group_size : 0))
        continue;
      const double from = std::max(other.start, self.start), to = std::min(other.end, self.end);
      if (from >= to) continue;
      edges.emplace_back(from, 1);
      edges.emplace_back(to, -1);
    }
    std::sort(edges.begin(), edges.end());
    double out = 0;
    int beside = 0;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      beside += edges[i].second;
      out += (edges[i + 1].first - edges[i].first) / (1 + beside);
    }
    return out;
  }

  const KinetoTrace& trace_;
  const TracedStep& step_;
  const TracedCluster* cluster_;
  int world_;
  TracedProgram out_;
  std::vector<int> launches_;
  std::vector<int> others_;
  std::vector<int> communication_;  ///< kernels of the step that communicate
  std::uint64_t host_ = 0;
  std::map<int, std::pair<std::uint64_t, double>> issued_;  ///< by call: its operation, and when it was done
  std::map<long, std::pair<std::uint64_t, double>> last_on_stream_;
  std::map<int, std::uint64_t> done_;                        ///< by device event
  std::unordered_map<std::uint64_t, std::uint64_t> called_;  ///< by operation of the device: last_call_behind
  std::unordered_multimap<int, std::size_t> waiting_hosts_;  ///< device event, and place of who waits for it
};

}  // namespace

std::string GroupTiling::name() const {
  return stride == 1 ? fmt::format("of {}", members) : fmt::format("of {}, {} apart", members, stride);
}

TracedProgram traced_program(const KinetoTrace& trace, const TracedStep& step, const TracedCluster* cluster,
                             int world) {
  return ProgramBuilder(trace, step, cluster, world).build();
}

}  // namespace stepcast
