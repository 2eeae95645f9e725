#include "calibration/importers/kineto/kineto_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "calibration/importers/kineto/traced_cluster.hpp"
#include "report/humane.hpp"

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

/// Groups of so many ranks, each so far from the next, that tile all ranks.
struct GroupTiling {
  int members = 0, stride = 1;
  bool listed = false;  ///< by the trace; else neighbours are assumed
  auto operator<=>(const GroupTiling&) const = default;
  [[nodiscard]] std::string name() const {
    return stride == 1 ? fmt::format("of {}", members) : fmt::format("of {}, {} apart", members, stride);
  }
};

/// By the ranks that the trace lists of one group, where they are evenly apart: [0, 8] is two ranks, 8 apart.
GroupTiling tiling_of(int members, const std::vector<int>& ranks) {
  if (static_cast<int>(ranks.size()) != members || members < 2) return {members, 1, false};
  const int stride = ranks[1] - ranks[0];
  for (std::size_t i = 1; i < ranks.size(); ++i)
    if (stride < 1 || ranks[i] - ranks[i - 1] != stride) return {members, 1, false};
  return {members, stride, true};
}

/// A collective of a program: who takes part, and how long it ran there.
struct PlacedCollective {
  std::size_t operation = 0;  ///< place in the program
  CollectiveKind kind = CollectiveKind::all_reduce;
  int members = 0, stride = 1;
  double time = 0;  ///< as long as it would have run alone: what ran beside it had its part of the links
};

/// One rank's step as a program.
class ProgramBuilder {
 public:
  ProgramBuilder(const KinetoTrace& trace, const TracedStep& step, const TracedCluster* cluster, int world)
      : trace_(trace), step_(step), cluster_(cluster), world_(world), launches_(launches_of(trace)) {}

  std::vector<RankOperation> operations;
  std::vector<PlacedCollective> collectives;
  std::set<GroupTiling> odd_groups;  ///< groups that are not all ranks
  std::size_t fixed = 0;             ///< communication whose time cannot be modelled
  std::size_t guessed = 0;           ///< kernels that may be of any collective

  void build() {
    if (!trace_.on_processor) follow_host();
    for (const int index : step_.device) add_device(index);
    if (trace_.on_processor) end_step();
  }

 private:
  const TraceEvent& event(int index) const { return trace_.events[static_cast<std::size_t>(index)]; }

  RankOperation& add(std::string name, RankOperationKind kind, std::vector<std::uint64_t> after) {
    RankOperation& out = operations.emplace_back();
    out.id = operations.size();
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
      } else if (const int awaited = last_ended(event(call)); awaited >= 0) {
        host_until(event(call).start);
        waiting_hosts_.emplace(awaited, operations.size());
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

  /// The device event of this step that a synchronising call waited for; −1 if it did not wait.
  int last_ended(const TraceEvent& call) const {
    const auto begun = std::upper_bound(step_.device.begin(), step_.device.end(), call.end,
                                        [&](double time, int index) { return time < event(index).start; });
    int out = -1, seen = 0;
    for (auto before = begun; before != step_.device.begin() && ++seen <= kMostCauses;) {
      const int index = *--before;
      const int launch = launches_[static_cast<std::size_t>(index)];
      const double issued = launch < 0 ? event(index).start : event(launch).start;
      if (issued > call.start || event(index).end > call.end + 1e-6 || event(index).end <= call.start) continue;
      if (out < 0 || event(index).end > event(out).end) out = index;
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
    } else if (self.start - out.time > kUnexplained) {
      if (const int cause = ended_just_before(index, out.time); cause >= 0)
        out.wait_for(done_.at(cause), event(cause).end);
    }
    return out;
  }

  /// End of what earlier steps left on a stream.
  double end_before_step(const TraceEvent& self) const {
    double out = 0;
    for (const TraceEvent& other : trace_.events) {
      if (other.start >= self.start) break;
      const bool device = other.kind == TraceEventKind::kernel || other.kind == TraceEventKind::copy;
      if (device && other.stream == self.stream) out = std::max(out, std::min(other.end, self.start));
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
      operations.back().stream = fmt::format("wait {}", wait);
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
      if (called <= waiting->second) operations[waiting->second].after.push_back(id);
  }

  /// The last of the host's operations that one of the device, which was just added, comes after. Where clocks of host
  /// and device disagree it may be one behind the call that waits for it.
  std::uint64_t last_call_behind(std::uint64_t id) {
    std::uint64_t out = 0;
    for (const std::uint64_t before : operations[id - 1].after) {
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
      ++fixed;
      RankOperation& out = add(self.name, RankOperationKind::compute, std::move(after));
      out.stream = fmt::format("stream {}", self.stream);
      out.duration = Seconds(time);
      return out.id;
    }
    const GroupTiling group = members == world_
                                  ? GroupTiling{members, 1, true}
                                  : tiling_of(members, self.collective ? self.collective->ranks : std::vector<int>());
    if (members != world_) odd_groups.insert(group);
    if (!told_kind) ++guessed;
    RankOperation& out = add(self.name, RankOperationKind::collective, std::move(after));
    out.collective = kind;
    out.group = members == world_ ? std::string() : group.name();
    out.stream = fmt::format("stream {}", self.stream);
    collectives.push_back({operations.size() - 1, kind, members, group.stride, time - self.length() + alone(self)});
    return out.id;
  }

  /// What a collective's length would be without others of its group beside it, which are on the same links: of every
  /// stretch that k of them shared it had a k-th part.
  double alone(const TraceEvent& self) const {
    std::vector<std::pair<double, int>> edges{{self.start, 0}, {self.end, 0}};
    for (const int index : step_.device) {
      const TraceEvent& other = event(index);
      if (&other == &self || other.kernel != KernelKind::communication || other.kind == TraceEventKind::copy) continue;
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
  std::vector<int> launches_;
  std::uint64_t host_ = 0;
  std::map<int, std::pair<std::uint64_t, double>> issued_;  ///< by call: its operation, and when it was done
  std::map<long, std::pair<std::uint64_t, double>> last_on_stream_;
  std::map<int, std::uint64_t> done_;                        ///< by device event
  std::unordered_map<std::uint64_t, std::uint64_t> called_;  ///< by operation of the device: last_call_behind
  std::unordered_multimap<int, std::size_t> waiting_hosts_;  ///< device event, and place of who waits for it
};

/// Gives the collectives that meet, one of each program, one size: the one that takes as long as it took the rank that
/// came last, for whom it was shortest.
void size_meeting(const std::vector<RankOperation*>& met, const PlacedCollective& shortest,
                  const TracedCluster& cluster) {
  if (shortest.kind == CollectiveKind::barrier) return;
  const Bytes size = cluster.size_that_takes(Seconds(shortest.time), shortest.kind, shortest.members, shortest.stride)
                         .value_or(Bytes(1));
  for (RankOperation* operation : met) operation->size = size;
}

/// A collective as a time that nothing changes.
void keep_time(RankOperation& operation, double seconds) {
  operation.kind = RankOperationKind::compute;
  operation.collective.reset();
  operation.group.clear();
  operation.duration = Seconds(seconds);
}

/// Sizes the k-th collective of each group alike in all programs. Groups in which the traced ranks do not do the same
/// (as the stages of a pipeline send and receive) keep their times; how many collectives that are is returned.
std::size_t size_collectives(std::vector<ProgramBuilder>& programs, const TracedCluster& cluster) {
  using Sequence = std::vector<const PlacedCollective*>;
  std::map<std::pair<int, int>, std::vector<Sequence>> groups;  // by members and stride: of each program
  for (std::size_t p = 0; p < programs.size(); ++p)
    for (const PlacedCollective& placed : programs[p].collectives) {
      std::vector<Sequence>& of_group = groups[{placed.members, placed.stride}];
      of_group.resize(programs.size());
      of_group[p].push_back(&placed);
    }
  const auto same_kind = [](const PlacedCollective* a, const PlacedCollective* b) { return a->kind == b->kind; };
  std::size_t unlike = 0;
  for (const auto& entry : groups) {
    const std::vector<Sequence>& of_program = entry.second;
    const Sequence& first = of_program.front();
    const bool alike = std::all_of(of_program.begin(), of_program.end(), [&](const Sequence& other) {
      return std::equal(first.begin(), first.end(), other.begin(), other.end(), same_kind);
    });
    const auto operation = [&](std::size_t p, std::size_t k) -> RankOperation& {
      return programs[p].operations[of_program[p][k]->operation];
    };
    if (!alike) {
      for (std::size_t p = 0; p < programs.size(); ++p)
        for (std::size_t k = 0; k < of_program[p].size(); ++k, ++unlike)
          keep_time(operation(p, k), of_program[p][k]->time);
      continue;
    }
    for (std::size_t k = 0; k < first.size(); ++k) {
      std::vector<RankOperation*> met;
      const PlacedCollective* shortest = first[k];
      for (std::size_t p = 0; p < programs.size(); ++p) {
        met.push_back(&operation(p, k));
        if (of_program[p][k]->time < shortest->time) shortest = of_program[p][k];
      }
      size_meeting(met, *shortest, cluster);
    }
  }
  return unlike;
}

/// How many ranks the job had, as far as its traces tell: those without distributedInfo by their largest group.
int ranks_of_job(const std::vector<KinetoTrace>& traces) {
  int out = std::max(traces.front().world, static_cast<int>(traces.size()));
  if (out > 1) return out;
  for (const TraceEvent& event : traces.front().events)
    if (event.collective) out = std::max(out, event.collective->group_size);
  return out;
}

/// Which ranks do what each trace shows. Where the first ranks of the job were traced the others repeat them in turn,
/// else each repeats the nearest traced one below it.
std::vector<std::vector<int>> ranks_of_traces(const std::vector<KinetoTrace>& traces, int ranks) {
  std::vector<std::vector<int>> out(traces.size());
  bool first_ranks = true;
  for (std::size_t i = 0; i < traces.size(); ++i)
    first_ranks = first_ranks && (traces[i].world <= 1 || traces[i].rank == static_cast<int>(i));
  const auto traced_by = [&](int rank) {
    if (first_ranks) return static_cast<std::size_t>(rank) % traces.size();
    std::size_t nearest = 0;
    for (std::size_t i = 0; i < traces.size() && traces[i].rank <= rank; ++i) nearest = i;
    return nearest;
  };
  for (int rank = 0; rank < ranks; ++rank) out[traced_by(rank)].push_back(rank);
  return out;
}

/// Operations of Gloo in a step that has kernels of a device: they move data on the processor, as what the host does.
std::size_t beside_device(const KinetoTrace& trace, const TracedStep& step) {
  if (trace.on_processor) return 0;
  return static_cast<std::size_t>(std::count_if(trace.events.begin(), trace.events.end(), [&](const TraceEvent& event) {
    return event.name.starts_with(kGloo) && event.start >= step.start && event.start < step.end;
  }));
}

/// A process that drives several devices is no rank: its kernels would stand in one queue.
void refuse_several_devices(const KinetoTrace& trace, const TracedStep& step) {
  std::map<int, double> time;
  double all = 0;
  for (const int index : step.device) {
    const TraceEvent& event = trace.events[static_cast<std::size_t>(index)];
    time[event.device] += event.length();
    all += event.length();
  }
  // Libraries put single copies and fills on other devices.
  std::erase_if(time, [&](const auto& entry) { return entry.second < 0.01 * all; });
  if (time.size() > 1)
    throw InputError({{trace.file, "", fmt::format("its kernels ran on {} devices of one process", time.size()),
                       "for a step graph trace one process for each device (DistributedDataParallel)"}});
}

/// All groups of a tiling.
RankGroup tiled_group(const GroupTiling& tiling, int ranks) {
  RankGroup out{tiling.name(), {}};
  for (int block = 0; block < ranks; block += tiling.members * tiling.stride)
    for (int first = block; first < block + tiling.stride; ++first) {
      std::vector<int> members;
      members.reserve(static_cast<std::size_t>(tiling.members));
      for (int i = 0; i < tiling.members; ++i) members.push_back(first + i * tiling.stride);
      out.members.push_back(std::move(members));
    }
  return out;
}

/// The groups of all programs over all ranks, with a note on those that no trace lists.
void add_groups(RankGraph& out, const std::set<GroupTiling>& odd, int ranks, const std::string& file) {
  for (const GroupTiling& tiling : odd) {
    if (ranks % (tiling.members * tiling.stride) != 0)
      throw InputError({{file, "",
                         fmt::format("has collectives of {} ranks{}, which do not divide {}", tiling.members,
                                     tiling.stride == 1 ? "" : fmt::format(", {} apart", tiling.stride), ranks),
                         "--ranks: a multiple of them"}});
    if (std::none_of(out.groups.begin(), out.groups.end(),
                     [&](const RankGroup& known) { return known.name == tiling.name(); }))
      out.groups.push_back(tiled_group(tiling, ranks));
    if (!tiling.listed)
      out.notes.push_back(
          fmt::format("groups of {} ranks are taken to be neighbours: the trace does not say which, or not evenly",
                      tiling.members));
  }
}

}  // namespace

RankGraph kineto_graph(const KinetoGraphQuestion& question, const Catalog& catalog) {
  const KinetoTrace& first = question.traces.front();
  const int world = ranks_of_job(question.traces);
  const int ranks = question.ranks.value_or(world);
  RankGraph out;
  out.precision = precision_of(first);
  const std::optional<TracedCluster> cluster = traced_cluster(first, question.node, world, out.precision, catalog);
  std::vector<TracedStep> steps;
  for (const KinetoTrace& trace : question.traces) {
    std::optional<int> number = question.step;
    if (!number && !steps.empty() && steps.front().name.starts_with("ProfilerStep#"))
      number = std::stoi(steps.front().name.substr(13));
    steps.push_back(typical_step(trace, number));
    refuse_several_devices(trace, steps.back());
  }
  std::vector<ProgramBuilder> programs;
  for (std::size_t i = 0; i < question.traces.size(); ++i) {
    programs.emplace_back(question.traces[i], steps[i], cluster ? &*cluster : nullptr, world);
    programs.back().build();
  }
  const std::size_t unlike = cluster ? size_collectives(programs, *cluster) : 0;
  out.name = std::filesystem::path(first.file).stem().stem().string();
  out.source = fmt::format("{} of {} PyTorch profiler trace{}", steps.front().name, question.traces.size(),
                           question.traces.size() == 1 ? "" : "s");
  out.ranks = ranks;
  std::set<GroupTiling> odd;
  std::size_t fixed = 0, guessed = 0;
  std::vector<std::vector<int>> ranks_of = ranks_of_traces(question.traces, ranks);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    RankProgram& program = out.programs.emplace_back();
    program.ranks = std::move(ranks_of[i]);
    program.operations = std::move(programs[i].operations);
    odd.insert(programs[i].odd_groups.begin(), programs[i].odd_groups.end());
    fixed += programs[i].fixed;
    guessed += programs[i].guessed;
  }
  std::erase_if(out.programs, [](const RankProgram& program) { return program.ranks.empty(); });
  add_groups(out, odd, ranks, first.file);
  out.notes.push_back(fmt::format("the traced step took {}", humane(Seconds(steps.front().length()))));
  if (cluster)
    out.notes.push_back(fmt::format("traced on {}{}: work and sizes are those that take as long there as was traced",
                                    cluster->node, question.node.empty() ? " (by the device's name; --node)" : ""));
  else
    out.notes.emplace_back("the traced node is not known (--node): times stay as traced on whatever it runs");
  if (static_cast<int>(question.traces.size()) < ranks)
    out.notes.push_back(
        fmt::format("{} of {} ranks are traced; the others repeat them", question.traces.size(), ranks));
  std::size_t earlier = 0;
  for (const KinetoTrace& trace : question.traces) earlier += events_of_earlier_steps(trace);
  const auto note_count = [&out](const char* text, std::size_t count) {
    if (count > 0) out.notes.push_back(fmt::format(fmt::runtime(text), count));
  };
  note_count("events on devices that earlier steps launched, before the profiler began: {} left out", earlier);
  std::size_t gloo = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) gloo += beside_device(question.traces[i], steps[i]);
  note_count("operations of Gloo beside a device: {} count as the host's time, whatever the network", gloo);
  note_count("collectives that not all traced ranks call: {} keep the time that they were traced with", unlike);
  note_count("kernels of communication that do not tell of which collective: {} taken for all_reduce", guessed);
  note_count("{} communication kernels keep the time that they were traced with", fixed);
  return out;
}

}  // namespace stepcast
