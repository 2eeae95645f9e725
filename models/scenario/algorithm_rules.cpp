#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/collectives/algorithm_table.hpp"
#include "models/parallelism/compression.hpp"
#include "models/parallelism/groups.hpp"
#include "models/parallelism/synchronization.hpp"
#include "models/scenario/draft.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

namespace {

/// A kind of collective that a job calls, and over whom.
struct CalledCollective {
  CollectiveKind kind;
  GroupShape group;
  friend bool operator==(const CalledCollective& a, const CalledCollective& b) {
    return a.kind == b.kind && a.group.size == b.group.size && a.group.per_node == b.group.per_node;
  }
};

/// All collectives of a job, each once.
class CalledCollectives {
 public:
  explicit CalledCollectives(const Job& job) : job_(job) {
    for (const LayerCost& layer : job.layer_kinds)
      for (const Segment* segment : {&layer.forward, &layer.backward_input, &layer.backward_weight}) add(*segment);
    add_synchronization();
  }
  [[nodiscard]] const std::vector<CalledCollective>& all() const { return all_; }

 private:
  void add(CollectiveKind kind, const GroupShape& group) {
    const CalledCollective call{kind, group};
    if (group.size > 1 && std::find(all_.begin(), all_.end(), call) == all_.end()) all_.push_back(call);
  }

  void add(const Segment& segment) {
    for (const Piece& piece : segment.pieces)
      if (piece.communication) add(piece.collective, group_of(job_.groups, piece.dimension));
  }

  void add_synchronization() {
    const SynchronizationPlan plan = synchronization_plan(*job_.scenario);
    const Groups& groups = job_.groups;
    const bool scattered = plan.reduction == CollectiveKind::reduce_scatter;
    add(plan.reduction, scattered ? groups.shard : groups.data);
    if (sends_signs(job_.scenario->spec.strategy.compression)) add(CollectiveKind::all_gather, groups.data);
    if (scattered) add(CollectiveKind::all_reduce, groups.replicate);
    if (plan.gather_after_update || plan.sharded_parameters) add(plan.gather, groups.shard);
    if (const auto tied = tied_embedding_sum(job_)) add(CollectiveKind::all_reduce, tied->pair);
  }

  const Job& job_;
  std::vector<CalledCollective> all_;
};

/// Collectives that a library runs in one way only, whatever algorithm is asked for.
bool has_one_way(CollectiveKind kind) {
  using enum CollectiveKind;
  return kind == all_to_all || kind == send_recv || kind == broadcast || kind == reduce;
}

/// What becomes of an algorithm in a job: whether any collective runs by it, and why others do not.
struct Use {
  bool any = false;
  std::vector<std::string> reasons;
  std::vector<std::string> assumptions;
};

Use use_of(CollectiveAlgorithm algorithm, const std::vector<CalledCollective>& calls,
           const CollectiveMachine& machine) {
  Use out;
  for (const CalledCollective& call : calls) {
    const bool has = algorithms::entry_of(algorithm).kinds.has(call.kind);
    const auto reason = unavailable_reason(call.kind, algorithm, CollectiveProtocol::automatic, call.group, machine);
    if (!reason) {
      out.any = true;
      continue;
    }
    out.reasons.push_back(*reason);
    if (has) {
      out.assumptions.push_back(fmt::format("{} over {} ranks is priced by {} all the same: {}", name_of(call.kind),
                                            call.group.size, name_of(algorithm), *reason));
    } else if (!has_one_way(call.kind)) {
      const bool reduces = call.kind == CollectiveKind::all_reduce;
      out.assumptions.push_back(fmt::format("{} runs {}: {} has none", name_of(call.kind),
                                            reduces ? "as the library chooses" : "in rings", name_of(algorithm)));
    }
  }
  return out;
}

std::string usable_algorithms(const std::vector<CalledCollective>& calls, const CollectiveMachine& machine) {
  std::vector<std::string> usable;
  for (std::size_t i = 0; i < algorithms::algorithm_table().size(); ++i)
    if (const auto algorithm = static_cast<CollectiveAlgorithm>(i); use_of(algorithm, calls, machine).any)
      usable.emplace_back(name_of(algorithm));
  return fmt::format("possible here: {}", fmt::join(usable, ", "));
}

}  // namespace

void check_algorithm_runs(Draft& draft) {
  const CollectiveAlgorithm stated = draft.spec().strategy.collective_algorithm;
  if (stated == CollectiveAlgorithm::automatic || !draft.diagnostics.faults().empty()) return;
  const Job job = lower(draft.scenario);
  const std::vector<CalledCollective> calls = CalledCollectives(job).all();
  if (calls.empty()) return;
  // A communicator over several kinds of node runs what all of them can.
  std::set<std::string> assumptions;
  for (const NodeKind& kind : node_kinds(draft.scenario)) {
    const CollectiveMachine machine = machine_of(*kind.scenario);
    const Use use = use_of(stated, calls, machine);
    if (!use.any)
      return draft.fault(
          "/strategy/collective_algorithm",
          fmt::format("found {}, but no collective of this job runs by it: {}", name_of(stated), use.reasons.front()),
          usable_algorithms(calls, machine));
    assumptions.insert(use.assumptions.begin(), use.assumptions.end());
  }
  for (const std::string& assumption : assumptions) draft.assume(assumption);
}

}  // namespace stepcast
