#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "models/parallelism/job.hpp"

namespace stepcast {

/// How a strategy keeps data-parallel replicas equal.
struct SynchronizationPlan {
  /// Of gradients: all_reduce or reduce_scatter; all_gather where each rank sends elements of its own choice,
  /// all_to_all where each sums a part of what all send in signs.
  CollectiveKind reduction = CollectiveKind::all_reduce;
  CollectiveKind expert_reduction = CollectiveKind::all_reduce;  ///< of experts' gradients, which are sent as they are
  CollectiveKind gather = CollectiveKind::all_gather;            ///< of parameters: all_gather or broadcast
  /// Micro-batches of a chunk whose gradients add up before they are reduced; 0: all of a step's. ZeRO-2/3 and FSDP
  /// reduce each micro-batch, for full gradients are not kept; under ZeRO-2 a chunk of an interleaved pipeline keeps
  /// those of the micro-batches that it runs in a row.
  long accumulated = 0;
  bool overlap = true;                ///< buckets go while the backward pass goes on, else after it
  bool gather_after_update = false;   ///< ZeRO-1/2: updated parameters are gathered
  bool gather_under_forward = false;  ///< … under the next forward pass instead of after the update
  /// … under every micro-batch's forward pass: FSDP's SHARD_GRAD_OP gives them up after each backward pass.
  bool gather_each_forward = false;
  bool sharded_parameters = false;   ///< ZeRO-3, FSDP, HSDP: gathered unit by unit where they are used
  bool kept_after_backward = false;  ///< … and whole from a backward pass to the next forward pass of its chunk
  bool wrapped_layers = false;       ///< FSDP's units, also of its SHARD_GRAD_OP: so many layers, whatever they hold
  bool prefetch_backward = true;
};
SynchronizationPlan synchronization_plan(const Scenario& scenario);
/// How often a step reduces a chunk's gradients.
long reductions_of(const SynchronizationPlan& plan, long micro_batches);

/// What a unit sends, and how long.
struct SyncTraffic {
  CollectiveCost reduce, gather;  ///< over the data (or shard) group; all buckets of the unit together
  CollectiveCost signs;           ///< 1-bit: all_gather of the parts that each rank has summed and packed anew
  CollectiveCost replicate;       ///< HSDP: all_reduce of the shard between copies
  CollectiveCost expert_reduce, expert_gather;
  Seconds reduce_alone, gather_alone;  ///< on idle links, expert parts included
  Seconds reduce_flow, gather_flow;    ///< of them, what is not latency: the computation slows down meanwhile
  Seconds contended;                   ///< of reduce_flow, what uses the same kind of links as the gather
};

/// Consecutive layers of a chunk whose gradients are reduced (and whose parameters are gathered) together.
struct SyncUnit : SyncTraffic {
  int chunk = 0;            ///< index into Job::chunks
  int first = 0, last = 0;  ///< positions in Chunk::layer_kinds, inclusive
  Seconds backward;         ///< time of these layers' backward pass for one micro-batch, on idle links
  Seconds forward;          ///< the same of their forward pass
};

/// Traffic of units by what they hold: equal ones are costed once. Of one job.
class SyncTrafficCache {
 public:
  /// Parameters of a unit, and the buckets that hold the trained ones, experts' left out (0: cut by size).
  struct Key {
    double dense = 0, expert = 0;                ///< trained
    double narrow = 0;                           ///< of `dense`, those that 8-bit products read
    double frozen_dense = 0, frozen_expert = 0;  ///< held beside them
    int buckets = 0;
    bool operator==(const Key&) const = default;
  };
  /// Null where it is not known yet.
  [[nodiscard]] const SyncTraffic* find(const Key& key) const;
  void add(const Key& key, const SyncTraffic& traffic) { known_.emplace_back(key, traffic); }

 private:
  std::vector<std::pair<Key, SyncTraffic>> known_;
};

/// The units of one pipeline rank in the order in which their gradients become ready: last chunk and last layer first.
/// Empty when there is nobody to synchronise with.
std::vector<SyncUnit> sync_units(const Job& job, int stage);
/// The same for a caller that asks for several stages of one job.
std::vector<SyncUnit> sync_units(const Job& job, int stage, SyncTrafficCache& known);

/// Processes that share a cycle (Horovod) agree once in it on what is ready on all of them: half a cycle passes on
/// average, then a word goes around. Before each collective over the replicas; nothing in other frameworks.
Seconds agreement(const GroupShape& group, const Job& job);

/// Tied embeddings live on the first and the last stage of a pipeline, which add their gradients up.
struct TiedEmbedding {
  CollectiveCost cost;
  GroupShape pair;
};
/// Null where nothing is tied over stages.
std::optional<TiedEmbedding> tied_embedding_sum(const Job& job);

/// Bytes of one gradient element and one parameter element on the wire.
double gradient_bytes(const Scenario& scenario);
double parameter_bytes(const Scenario& scenario);

/// Whether weights are fp32 and cast to the training's format for each product (FrameworkProfile's
/// automatic_mixed_precision in 16 bit or less).
bool automatic_mixed_precision(const Scenario& scenario);

}  // namespace stepcast
