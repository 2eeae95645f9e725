#include "calibration/importers/kineto/kineto_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "calibration/importers/kineto/traced_program.hpp"
#include "report/humane.hpp"

namespace stepcast {

namespace {

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
std::size_t size_collectives(std::vector<TracedProgram>& programs, const TracedCluster& cluster) {
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
    const auto above = std::upper_bound(traces.begin(), traces.end(), rank,
                                        [](int one, const KinetoTrace& trace) { return one < trace.rank; });
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, above - traces.begin()) - 1);
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
    if (!number && !steps.empty()) number = steps.front().number();
    steps.push_back(typical_step(trace, number));
    refuse_several_devices(trace, steps.back());
  }
  std::vector<TracedProgram> programs;
  for (std::size_t i = 0; i < question.traces.size(); ++i)
    programs.push_back(traced_program(question.traces[i], steps[i], cluster ? &*cluster : nullptr, world));
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
