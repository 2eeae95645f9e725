#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/collectives/collective.hpp"
#include "models/compute/device.hpp"
#include "models/parallelism/fold.hpp"
#include "models/parallelism/layout.hpp"
#include "models/parallelism/node_map.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/backward_memory.hpp"

namespace stepcast {

/// Which parallel dimension a communication serves.
enum class Dimension { tensor, context, expert, data, pipeline, storage };
template <>
struct EnumNames<Dimension> {
  static constexpr std::array names{"tensor", "context", "expert", "data", "pipeline", "storage"};
};

/// The group whose ranks communicate for a dimension; storage's, which has none, stands as tensor ranks.
constexpr GroupKind group_of(Dimension dimension) {
  switch (dimension) {
    case Dimension::context:
      return GroupKind::context;
    case Dimension::expert:
      return GroupKind::expert;
    case Dimension::data:
      return GroupKind::data;
    case Dimension::pipeline:
      return GroupKind::pipeline;
    case Dimension::tensor:
    case Dimension::storage:
      break;
  }
  return GroupKind::tensor;
}

/// What the device waits for in a piece that neither computes nor communicates: the host to issue the next kernels,
/// activations to cross the host link, or the slowest of its peers (variability.hpp). The names are the pieces'.
enum class Wait : std::uint8_t { none, kernels, offload, peers };
template <>
struct EnumNames<Wait> {
  static constexpr std::array names{"none", "host", "offload", "wait for peers"};
};

/// One step of a segment with its cost: an operator, or a collective inside the layer.
struct Piece {
  std::string_view name;  ///< static storage
  bool communication = false;
  CollectiveKind collective = CollectiveKind::all_reduce;
  Dimension dimension = Dimension::tensor;
  Seconds duration;     ///< on the compute stream; of a collective: on idle links, less what it hides
  Seconds hidden;       ///< of a collective: what runs beside the pieces after it
  int beside = 0;       ///< of a collective: how many of these it runs beside; the one after them waits for it
  CollectiveCost cost;  ///< of a collective
  OperatorKind kind = OperatorKind::memory;
  Wait wait = Wait::none;
  Flops flops;
  Bytes bytes;  ///< memory traffic, for power
  /// Whether the device waits for its host: for kernels to be issued, or for what has been offloaded.
  [[nodiscard]] bool waits_for_host() const { return wait == Wait::kernels || wait == Wait::offload; }
};

/// What one chunk of layers does for one micro-batch in one phase, in order.
struct Segment {
  std::vector<Piece> pieces;
  Seconds compute;        ///< sum of operators, host floor included
  Seconds communication;  ///< sum of collectives on idle links
  Seconds network;        ///< of that, while bytes flow between nodes
  Flops flops;
  [[nodiscard]] Seconds total() const { return compute + communication; }
  /// The device waits behind the pieces so far; nothing for no time.
  void add_wait(Wait wait, Seconds duration);
};

/// A run of consecutive layers on one pipeline rank (one virtual stage).
struct Chunk {
  int stage = 0;  ///< pipeline rank
  int index = 0;  ///< virtual stage on that rank
  bool has_embedding = false, has_output = false;
  int layers = 0;
  /// One entry for every layer in order of execution (embedding, blocks, output): index into Job::layer_kinds.
  std::vector<int> layer_kinds;
  Seconds forward, backward_input, backward_weight;  ///< of all its layers for one micro-batch, on idle links
  Seconds saved;  ///< where a forward and a backward pass of two micro-batches are merged (merged_passes.hpp)
  Bytes send;     ///< activation handed to the next chunk for one micro-batch, per device
};

/// Matrices of one shape that Muon updates.
struct MuonMatrices {
  WeightMatrix shape;                                                           ///< with their count
  Seconds orthogonalized;                                                       ///< Newton–Schulz on one of them
  [[nodiscard]] double elements() const { return shape.rows * shape.columns; }  ///< of one
};

/// Costed work of one kind of layer for one micro-batch. What recomputation repeats leads backward_input.
struct LayerCost {
  LayerRole role = LayerRole::dense_block;
  bool repeats = true;  ///< the backward pass repeats what the strategy recomputes
  Segment forward, backward_input, backward_weight;
  Segment merged;  ///< forward and backward pass of two micro-batches, where the strategy merges them
  Seconds saved;   ///< what `merged` is shorter than both
  double parameters = 0, expert_parameters = 0;
  double frozen_parameters = 0, frozen_expert_parameters = 0;  ///< held and not trained
  double tied_parameters = 0;  ///< of an output layer: the embedding table again, where it lies on another stage
  /// What recomputing one module frees of `activations`, by RecomputeModule.
  std::array<Bytes, EnumNames<RecomputeModule>::names.size()> freed_by_module{};
  Bytes activations, activations_selective, activation_input, output;
  double unrecomputed = 1;                 ///< kept over `activations` where nothing is recomputed (FrameworkProfile)
  Bytes activations_per_operator;          ///< kept when operators are recomputed (Recompute::per_operator)
  Bytes gradients_at_once;                 ///< most that the backward pass holds of gradients of activations
  std::vector<WeightShape> weight_shapes;  ///< of the trained weights, each once
  std::vector<WeightMatrix> weight_matrices;  ///< all trained matrices but experts'
  /// What Muon updates of the layer's own and of its experts' matrices; none under other optimizers.
  std::vector<MuonMatrices> hidden_matrices, expert_matrices;

  [[nodiscard]] Seconds backward() const { return backward_input.total() + backward_weight.total(); }
};

/// Groups of the parallel dimensions, as they lie over the nodes. `data` is the gradient group (dp·cp ranks).
struct Groups {
  GroupShape tensor, context, expert, data, expert_data, pipeline;
  GroupShape shard;      ///< ranks that share one copy of sharded parameters or states
  GroupShape replicate;  ///< equal shards of different copies (HSDP)
};

/// How pipeline ranks lie over the nodes.
struct StagePlacement {
  std::vector<int> node;   ///< representative node of each pipeline rank
  int nodes = 1;           ///< representative nodes
  int ranks_per_node = 1;  ///< devices of one pipeline rank on one node
  [[nodiscard]] bool crosses(int from, int to) const { return node[from] != node[to]; }
};

/// The scenario lowered to facts about ranks.
struct Job {
  const Scenario* scenario = nullptr;
  Device device;
  Interconnect interconnect;
  /// Links by which a library chooses algorithms and protocols, for communicators within replicas and over them: as
  /// built, of all kinds of node that one joins. Null: `interconnect`.
  std::shared_ptr<const Interconnect> chosen_in_replica, chosen_over_replicas;
  RankLayout layout;
  NodeMap nodes;
  Groups groups;
  StagePlacement placement;
  Fold fold;
  std::vector<LayerCost> layer_kinds;
  /// By kind of layer, the backward pass on the nodes that are slowest at it; empty where all are in one state.
  std::vector<Seconds> slowest_backward;
  std::vector<Chunk> chunks;             ///< pp·vpp, in model order; chunk c lies on stage c mod pp
  std::vector<double> stage_parameters;  ///< per device of each stage, dense part
  std::vector<double> stage_expert_parameters;
  std::vector<double> stage_frozen_parameters, stage_frozen_expert_parameters;  ///< the same, held and not trained
  Seconds optimizer;                                                            ///< of the slowest stage
  double communication_slowdown = 0;  ///< share of the compute rate that a collective kernel takes beside computation
  std::vector<std::shared_ptr<const Job>> in_other_states;  ///< by Fold::states, from the second on
  std::shared_ptr<const Scenario> owned_scenario;           ///< what `scenario` points to, if nobody else keeps it

  /// The job as it is on nodes in one of Fold::states: the same layers and groups with other times and links. Of nodes
  /// of several kinds that meet, the scenario is the one of those that compute slowest.
  [[nodiscard]] const Job& in_state(int state) const {
    return state == 0 ? *this : *in_other_states[static_cast<std::size_t>(state) - 1];
  }
};

/// Lowers a scenario, for the nodes of a fabric that it has. Never fails on a resolved scenario.
Job lower(const Scenario& scenario, const JobNodes& nodes = {});
/// A job points at its scenario, which must outlive it.
Job lower(Scenario&& scenario, const JobNodes& nodes = {}) = delete;

}  // namespace stepcast
