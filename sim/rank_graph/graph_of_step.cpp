#include "sim/rank_graph/graph_of_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "models/parallelism/message.hpp"

namespace stepcast {

namespace {

std::string_view name_of_group(GroupKind kind) {
  switch (kind) {
    case GroupKind::tensor:
      return "tensor";
    case GroupKind::context:
      return "context";
    case GroupKind::expert:
      return "expert";
    case GroupKind::data:
      return "data";
    case GroupKind::expert_data:
      return "expert data";
    case GroupKind::pipeline:
      return "pipeline";
    case GroupKind::shard:
      return "shard";
    case GroupKind::replicate:
      return "replicate";
  }
  return "ranks";
}

/// Both ends of a pipeline, which share an embedding.
constexpr const char* kEnds = "pipeline ends";

/// Experts' tokens that leave once (expert_dispatch.hpp), which no format of graphs has a kind for.
constexpr const char *kOnceToNodes = "all_to_all, a token once to each node",
                     *kOnceToRanks = "all_to_all, a token once to each rank";

/// Writes a step down operation by operation, each once what it waits for is written.
class StepExporter {
 public:
  StepExporter(const Job& job, const StepGraph& graph) : job_(job), graph_(graph) {}

  RankGraph write() {
    refuse_replicas();
    const Scenario& scenario = *job_.scenario;
    out_.name = scenario.spec.name;
    out_.source = "simulated step";
    out_.ranks = job_.layout.devices();
    out_.precision = scenario.precision;
    out_.communication_slowdown = job_.communication_slowdown;
    for (int stage = 0; stage < stages(); ++stage) {
      out_.programs.emplace_back();
      for (int rank = 0; rank < *out_.ranks; ++rank)
        if (job_.layout.coordinate(rank, Axis::pipeline) == stage) out_.programs.back().ranks.push_back(rank);
    }
    remark_dispatch();
    const auto count = static_cast<int>(graph_.operations().size());
    last_.assign(count, {});
    // Operations before those that wait for them: messages may be wanted before they have been emitted.
    for (const int id : topological()) add(id);
    return std::move(out_);
  }

 private:
  using Ids = std::vector<std::uint64_t>;

  int stages() const { return static_cast<int>(graph_.devices().size()); }

  void refuse_replicas() const {
    if (stages() == job_.scenario->degrees.pp) return;
    throw InputError(
        {{"", "/run/flows", "only the folded step of equal replicas can be exported, and this one sets some apart",
          "leave out stragglers, other nodes and full flows"}});
  }

  bool dispatches_once() const {
    const Scenario& scenario = *job_.scenario;
    return scenario.expert_dispatch == ExpertDispatch::deepep && scenario.degrees.ep > 1;
  }

  void remark_dispatch() {
    if (!dispatches_once()) return;
    out_.notes.emplace_back(
        job_.groups.expert.nodes() > 1
            ? "tokens go to their experts by DeepEP or HybridEP, once to each node and on from there over its native "
              "links: such an all_to_all has the bytes that leave for nodes, and what is forwarded inside them is left "
              "out"
            : "tokens go to their experts by DeepEP or HybridEP, once to each rank: such an all_to_all has these "
              "bytes");
  }

  std::string_view name_of_piece(const Piece& piece) const {
    if (!dispatches_once() || piece.dimension != Dimension::expert) return piece.name;
    return job_.groups.expert.nodes() > 1 ? kOnceToNodes : kOnceToRanks;
  }

  std::vector<int> topological() const {
    std::vector<std::int32_t> waiting = graph_.predecessor_counts();
    std::set<int> ready;
    for (int i = 0; i < static_cast<int>(waiting.size()); ++i)
      if (waiting[i] == 0) ready.insert(i);
    std::vector<int> out;
    while (!ready.empty()) {
      const int at = *ready.begin();
      ready.erase(ready.begin());
      out.push_back(at);
      for (const auto next : graph_.successors(at))
        if (--waiting[next] == 0) ready.insert(static_cast<int>(next));
    }
    return out;
  }

  RankOperation& emit(int stage, RankOperationKind kind, std::string_view name, const Ids& after) {
    RankOperation& operation = out_.programs[stage].operations.emplace_back();
    operation.id = ++ids_[stage];
    operation.kind = kind;
    operation.name = name;
    operation.after = after;
    return operation;
  }

  void add(int id) {
    const Operation& operation = graph_.operations()[id];
    if (operation.kind == OperationKind::meeting) return;  // seen through by who waits for it
    const int stage = operation.device;
    const Ids after = waits(id);
    switch (operation.kind) {
      case OperationKind::compute:
        last_[id] = operation.segment >= 0 ? add_segment(stage, operation, after)
                                           : add_work(stage, operation.name, operation.work, after, false);
        return;
      case OperationKind::optimizer:
        last_[id] = add_work(stage, operation.name, operation.work, after, false);
        return;
      case OperationKind::overhead:
        last_[id] = add_work(stage, operation.name, operation.work, after, true);
        return;
      case OperationKind::collective:
      case OperationKind::gather:
        last_[id] = add_collective(stage, operation.name, operation.collective, operation.group, operation.payload,
                                   operation.calls, name_of(operation.stream), after);
        return;
      case OperationKind::send_recv:
        last_[id] = add_send(id, after);
        return;
      case OperationKind::storage:
        last_[id] = add_storage(operation, after);
        return;
      case OperationKind::meeting:
        return;
    }
  }

  /// What an operation of a stage waits for, through meetings: of a collective that has ended, the stage's own part.
  std::vector<int> predecessors(int id, int stage) const {
    std::vector<int> out;
    for (const int before : graph_.predecessors(id)) {
      const std::span<const int> ended = graph_.ended_by(before);
      const int own = ended.empty() ? -1 : graph_.joined_on(stage, ended.front());
      if (own >= 0) {
        out.push_back(own);
      } else if (graph_.operations()[before].kind == OperationKind::meeting) {
        const std::vector<int> met = predecessors(before, stage);
        out.insert(out.end(), met.begin(), met.end());
      } else {
        out.push_back(before);
      }
    }
    return out;
  }

  /// What an operation waits for in its own program.
  Ids waits(int id) {
    const Operation& operation = graph_.operations()[id];
    const int stage = operation.device;
    std::set<std::uint64_t> after;
    std::vector<int> scattered;
    bool others = false;
    for (const int before : predecessors(id, stage)) {
      const Operation& earlier = graph_.operations()[before];
      if (earlier.device == stage) {
        after.insert(last_[before].begin(), last_[before].end());
      } else if (earlier.kind == OperationKind::send_recv && stage_after(before) == stage) {
        if (scatters_messages(job_, earlier.device, stage)) {
          scattered.push_back(before);
        } else {
          after.insert(receive(before, stage));
        }
      } else {
        others = true;
      }
    }
    Ids out(after.begin(), after.end());
    for (const int message : scattered) out = gather_parts(message, stage, out);
    // Ends that share an embedding meet in its collective itself.
    const bool meets = operation.kind == OperationKind::collective && operation.group == GroupKind::pipeline;
    if (!others || meets) return out;
    RankOperation& barrier = emit(stage, RankOperationKind::collective, "wait for the other stages", out);
    barrier.collective = CollectiveKind::barrier;
    barrier.group = family(GroupKind::pipeline);
    return {barrier.id};
  }

  Ids add_work(int stage, std::string_view name, Seconds time, const Ids& after, bool host) {
    RankOperation& operation = emit(stage, RankOperationKind::compute, name, after);
    operation.duration = time;
    operation.host = host;
    operation.stream = "compute";
    return {operation.id};
  }

  /// What has been emitted of a collective that runs beside pieces, and how many of these are still to come.
  struct Beside {
    int left;
    Ids ended;
  };

  /// Computation up to the next collective is one operation. A collective that runs beside pieces holds up what comes
  /// behind them.
  Ids add_segment(int stage, const Operation& operation, Ids after) {
    Seconds open(0);
    std::vector<Beside> beside;
    const auto flush = [&] {
      if (open > Seconds(0)) after = add_work(stage, operation.name, open, after, false);
      open = Seconds(0);
    };
    for (const Piece& piece : graph_.segments()[operation.segment]->pieces) {
      for (Beside& collective : beside) --collective.left;
      if (piece.communication) {
        flush();
        const Ids ended = add_collective(stage, name_of_piece(piece), piece.collective, group_of(piece.dimension),
                                         piece.cost.payload, piece.cost.calls, "layer communication", after);
        if (piece.beside > 0) {
          beside.push_back({piece.beside, ended});
        } else {
          after = ended;
        }
      } else {
        open += piece.duration;
      }
      while (!beside.empty() && beside.back().left == 0) {
        flush();
        after.insert(after.end(), beside.back().ended.begin(), beside.back().ended.end());
        beside.pop_back();
      }
    }
    flush();
    return after;
  }

  Ids add_collective(int stage, std::string_view name, CollectiveKind kind, GroupKind group, Bytes payload, int calls,
                     std::string_view stream, Ids after) {
    for (int call = 0; call < std::max(1, calls); ++call) {
      RankOperation& operation = emit(stage, RankOperationKind::collective, name, after);
      operation.collective = kind;
      operation.group = group == GroupKind::pipeline ? ends() : family(group);
      operation.stream = stream;
      operation.size = payload / std::max(1, calls);
      after = {operation.id};
    }
    return after;
  }

  /// The stage that receives a message: others may wait for the sender's end, but only once the passes are over.
  int stage_after(int message) const {
    const auto& operations = graph_.operations();
    int first = -1;
    for (const auto successor : graph_.successors(message)) {
      const auto next = static_cast<int>(successor);
      if (operations[next].device != operations[message].device && (first < 0 || next < first)) first = next;
    }
    return first < 0 ? -1 : operations[first].device;
  }

  Ids add_send(int id, const Ids& after) {
    const Operation& message = graph_.operations()[id];
    const int to = stage_after(id);
    if (to < 0) return after;
    RankOperation& send = emit(message.device, RankOperationKind::send, message.name, after);
    send.peer_offset = job_.layout.first_rank(to) - job_.layout.first_rank(message.device);
    send.size = message.payload;
    send.tag = id;
    send.stream = name_of(message.stream);
    return {send.id};
  }

  /// The receiving end of a message, made when it is first waited for.
  std::uint64_t receive(int id, int stage) {
    const auto [entry, fresh] = receives_.try_emplace(id, 0);
    if (!fresh) return entry->second;
    const Operation& message = graph_.operations()[id];
    RankOperation& receive = emit(stage, RankOperationKind::receive, message.name, {});
    receive.peer_offset = job_.layout.first_rank(message.device) - job_.layout.first_rank(stage);
    receive.tag = id;
    return entry->second = receive.id;
  }

  /// The tensor ranks gather the parts of a message that they have received. In the step the sender's latency holds
  /// that gather; here it stands where it runs, and holds up computation where the sender's would have waited.
  Ids gather_parts(int id, int stage, Ids after) {
    const Operation& message = graph_.operations()[id];
    const std::uint64_t received = receive(id, stage);
    Ids start{received};
    if (!job_.scenario->framework->overlap_pipeline_messages) start.insert(start.end(), after.begin(), after.end());
    const auto [entry, fresh] = gathers_.try_emplace(id);
    if (fresh)
      entry->second = add_collective(stage, "gather parts", CollectiveKind::all_gather, GroupKind::tensor,
                                     message.payload * job_.scenario->degrees.tp, 1, "layer communication", start);
    after.insert(after.end(), entry->second.begin(), entry->second.end());
    return after;
  }

  Ids add_storage(const Operation& operation, const Ids& after) {
    Seconds time = operation.work;
    for (const Flow& flow : graph_.flows(operation)) {
      const GraphPath& path = graph_.paths()[flow.path];
      Seconds slowest = path.cap > BytesPerSecond(0) ? flow.bytes / path.cap : Seconds(0);
      for (const LinkId link : path.links) slowest = std::max(slowest, flow.bytes / graph_.links()[link].bandwidth);
      time = std::max(time, operation.work + slowest);
    }
    RankOperation& read = emit(operation.device, RankOperationKind::storage, operation.name, after);
    read.duration = time;
    return {read.id};
  }

  /// A group of every rank of the given kind, in the graph once used.
  std::string family(GroupKind kind) {
    std::string name(name_of_group(kind));
    if (known(name)) return name;
    RankGroup group{name, {}};
    std::vector<bool> covered(static_cast<std::size_t>(*out_.ranks), false);
    for (int rank = 0; rank < *out_.ranks; ++rank) {
      if (covered[rank]) continue;
      std::vector<int> members = job_.layout.group(kind, rank);
      for (const int member : members) covered[member] = true;
      group.members.push_back(std::move(members));
    }
    out_.groups.push_back(std::move(group));
    return name;
  }

  std::string ends() {
    if (known(kEnds)) return kEnds;
    RankGroup group{kEnds, {}};
    const int last = job_.layout.first_rank(stages() - 1);
    for (const int rank : out_.programs.front().ranks) group.members.push_back({rank, rank + last});
    out_.groups.push_back(std::move(group));
    return kEnds;
  }

  bool known(const std::string& name) const {
    return std::any_of(out_.groups.begin(), out_.groups.end(), [&](const RankGroup& g) { return g.name == name; });
  }

  const Job& job_;
  const StepGraph& graph_;
  RankGraph out_;
  std::map<int, std::uint64_t> ids_, receives_;
  std::map<int, Ids> gathers_;  ///< by message: what gathers its parts
  std::vector<Ids> last_;       ///< by operation: what stands for its end
};

}  // namespace

RankGraph rank_graph_of(const Job& job, const StepGraph& graph) { return StepExporter(job, graph).write(); }

}  // namespace stepcast
