#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "models/collectives/slower_links.hpp"
#include "models/parallelism/compression.hpp"
#include "models/parallelism/decoding.hpp"
#include "models/parallelism/groups.hpp"
#include "models/parallelism/layer_cost.hpp"
#include "models/parallelism/lowering.hpp"
#include "models/parallelism/parameter_update.hpp"
#include "models/parallelism/synchronization.hpp"

namespace stepcast {

namespace {

/// A kind of layer: its role, the first layer that is so, and whether the backward pass may repeat it.
struct LayerKind {
  LayerRole role;
  int first;
  bool repeats = true;
};

/// Which kind every layer of a model is, and which it is where it repeats nothing (the same where every layer repeats).
struct LayerKinds {
  std::vector<int> of_layer;
  std::vector<LayerKind> kinds;
  std::vector<int> kept;  ///< by kind
};

LayerKinds kinds_of(const Scenario& scenario) {
  const Model& model = *scenario.model;
  LayerKinds out;
  const int layers = layer_count(model);
  out.of_layer.resize(static_cast<std::size_t>(layers));
  if (model.compact) {  // equal layers
    out.kinds.push_back({LayerRole::cnn, 0});
    out.kept = {0};
    return out;
  }
  if (!model.is_transformer()) {
    for (int i = 0; i < layers; ++i) {
      out.of_layer[i] = i;
      out.kinds.push_back({LayerRole::cnn, i});
    }
    out.kept = out.of_layer;
    return out;
  }
  // By experts, local attention, half, side, streams, own weights, whose keys, and entries.
  using Block = std::tuple<bool, bool, char, bool, bool, bool, KeyHolding, int>;
  std::map<Block, int> kind_of_block;
  std::optional<Block> last;
  const TransformerShape& shape = *model.transformer;
  for (int i = 0; i < layers; ++i) {
    const bool is_moe = shape.is_moe(i);
    const Block block(is_moe, shape.is_windowed(i), shape.half(i), shape.is_encoder(i), shape.has_two_streams(i),
                      shape.holds_weights(i), shape.keys_of(i), shape.entry_tokens(i));
    if (block == last) {
      out.of_layer[i] = out.of_layer[i - 1];
      continue;
    }
    last = block;
    int& kind = kind_of_block.try_emplace(block, -1).first->second;
    if (kind < 0) {
      kind = static_cast<int>(out.kinds.size());
      out.kinds.push_back({is_moe ? LayerRole::moe_block : LayerRole::dense_block, i});
    }
    out.of_layer[i] = kind;
  }
  const std::size_t blocks = out.kinds.size();
  const StrategySpec& strategy = scenario.spec.strategy;
  const bool some_keep = !strategy.recompute_last_stage || strategy.recompute_layers.has_value();
  for (std::size_t kind = 0; kind < blocks; ++kind) {
    out.kept.push_back(static_cast<int>(some_keep ? out.kinds.size() : kind));
    if (some_keep) out.kinds.push_back({out.kinds[kind].role, out.kinds[kind].first, false});
  }
  out.kinds.push_back({LayerRole::embedding, 0});
  out.kinds.push_back({LayerRole::output, 0});
  return out;
}

void cost_layers(Job& job, const LayerKinds& kinds) {
  job.layer_kinds.clear();
  job.layer_kinds.reserve(kinds.kinds.size());
  for (const LayerKind& kind : kinds.kinds)
    job.layer_kinds.push_back(cost_layer(job, kind.role, kind.first, kind.repeats));
}

/// `count` equal layers, one after the other.
void add_to_stage(Job& job, Chunk& chunk, const LayerCost& cost, double count) {
  chunk.forward += cost.forward.total() * count;
  chunk.backward_input += cost.backward_input.total() * count;
  chunk.backward_weight += cost.backward_weight.total() * count;
  chunk.saved += cost.saved * count;
  job.stage_parameters[chunk.stage] += cost.parameters * count;
  job.stage_expert_parameters[chunk.stage] += cost.expert_parameters * count;
  job.stage_frozen_parameters[chunk.stage] += cost.frozen_parameters * count;
  job.stage_frozen_expert_parameters[chunk.stage] += cost.frozen_expert_parameters * count;
  chunk.send = cost.output;
}

void add_layers_to_stage(Job& job, Chunk& chunk) {
  for (auto kind = chunk.layer_kinds.begin(); kind != chunk.layer_kinds.end();) {
    const auto other = std::find_if(kind, chunk.layer_kinds.end(), [&](int next) { return next != *kind; });
    add_to_stage(job, chunk, job.layer_kinds[*kind], static_cast<double>(other - kind));
    kind = other;
  }
}

/// Fills in chunks that may hold those of another job: what they have allocated is used again.
void build_chunks(Job& job, const LayerKinds& kinds) {
  const Scenario& scenario = *job.scenario;
  const bool transformer = scenario.model->is_transformer();
  const auto last_kind = static_cast<int>(kinds.kinds.size()) - 1;
  const int embedding = last_kind - 1;
  const int output = last_kind;
  const int stages = scenario.degrees.pp;
  const auto count = static_cast<int>(scenario.stage_layers.size());
  for (auto* parameters : {&job.stage_parameters, &job.stage_expert_parameters, &job.stage_frozen_parameters,
                           &job.stage_frozen_expert_parameters})
    parameters->assign(static_cast<std::size_t>(stages), 0);
  job.chunks.resize(static_cast<std::size_t>(count));
  int layer = 0;
  for (int c = 0; c < count; ++c) {
    Chunk& chunk = job.chunks[static_cast<std::size_t>(c)];
    std::vector<int> layer_kinds = std::move(chunk.layer_kinds);
    layer_kinds.clear();
    chunk = {};
    chunk.layer_kinds = std::move(layer_kinds);
    chunk.stage = c % stages;
    chunk.index = c / stages;
    chunk.layers = scenario.stage_layers[c];
    chunk.has_embedding = transformer && c == 0;
    chunk.has_output = transformer && c == count - 1;
    chunk.layer_kinds.reserve(static_cast<std::size_t>(chunk.layers) + 2);
    if (chunk.has_embedding) chunk.layer_kinds.push_back(embedding);
    const StrategySpec& strategy = scenario.spec.strategy;
    const bool keeps_all = chunk.stage == stages - 1 && !strategy.recompute_last_stage;
    const int repeating = keeps_all ? 0 : strategy.recompute_layers.value_or(chunk.layers);
    for (int i = 0; i < chunk.layers; ++i) {
      const int kind = kinds.of_layer[layer++];
      chunk.layer_kinds.push_back(i < repeating ? kind : kinds.kept[static_cast<std::size_t>(kind)]);
    }
    if (chunk.has_output) chunk.layer_kinds.push_back(output);
    add_layers_to_stage(job, chunk);
  }
  // Tied embeddings live on both ends of a pipeline.
  if (transformer && stages > 1) job.stage_parameters.back() += job.layer_kinds[output].tied_parameters;
}

void load_groups(Job& job) {
  if (job.nodes.levels() == 0) return;
  const auto load = [&](GroupShape& shape, GroupKind kind) {
    if (shape.nodes() > 1) job.nodes.load_group(shape, job.layout.group(kind, 0));
  };
  load(job.groups.tensor, GroupKind::tensor);
  load(job.groups.context, GroupKind::context);
  load(job.groups.expert, GroupKind::expert);
  load(job.groups.data, GroupKind::data);
  load(job.groups.expert_data, GroupKind::expert_data);
  load(job.groups.shard, GroupKind::shard);
  load(job.groups.replicate, GroupKind::replicate);
}

/// The scenario on the kind of a node in a state, with the NICs that it has left.
std::shared_ptr<const Scenario> scenario_in_state(const Scenario& scenario, const NodeState& state) {
  auto out = std::make_shared<Scenario>(on_kind(scenario, state.kind));
  out->nics_per_node -= state.failed_nics;
  return out;
}

Interconnect links_of(const Scenario& scenario, const NodeMap& map) {
  Interconnect out = interconnect_of(scenario);
  set_uplinks(out, map);
  return out;
}

/// Links of a node in a state, of which `scenario` is on its kind.
Interconnect links_in_state(const Scenario& scenario, const NodeMap& map, const NodeState& state) {
  Interconnect out = links_of(scenario, map);
  out.native *= state.native;
  for (BytesPerSecond* rate : {&out.nic, &out.node_network, &out.rank_network}) *rate *= state.network;
  return out;
}

/// Links as libraries find them when they start on nodes that meet: kinds and NICs count, how fast they happen to be
/// does not, and of each figure the least that any rank has, which all take (NCCL: src/init.cc, initTransportsRank).
class LinksAsBuilt {
 public:
  LinksAsBuilt(const Scenario& scenario, const NodeMap& map) : scenario_(scenario), map_(map) {}

  std::shared_ptr<const Interconnect> of(MeetingNodes nodes) {
    for (NodeState& node : nodes) node = {node.kind, 1, 1, 1, node.failed_nics};
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    std::shared_ptr<const Interconnect>& links = known_[nodes];
    if (!links) links = std::make_shared<const Interconnect>(joined(nodes));
    return links;
  }

 private:
  [[nodiscard]] Interconnect joined(const MeetingNodes& nodes) const {
    Interconnect out = links_in_state(*scenario_in_state(scenario_, nodes.front()), map_, nodes.front());
    for (const NodeState& other : nodes)
      take_slower(out, links_in_state(*scenario_in_state(scenario_, other), map_, other));
    return out;
  }

  const Scenario& scenario_;
  const NodeMap& map_;
  std::map<MeetingNodes, std::shared_ptr<const Interconnect>> known_;
};

/// By what links libraries choose in a state (Job).
struct ChosenBy {
  std::shared_ptr<const Interconnect> in_replica, over_replicas;
};

double communication_slowdown(const Scenario& scenario) {
  if (!scenario.accelerator || scenario.accelerator->sm_count <= 0) return 0;
  return std::min(0.9, static_cast<double>(scenario.framework->communication_sms) / scenario.accelerator->sm_count);
}

/// The update of the slowest stage.
void finish(Job& job) {
  job.optimizer = Seconds(0);
  for (int stage = 0; stage < job.scenario->degrees.pp; ++stage)
    job.optimizer = std::max(job.optimizer, update_time(job, stage));
}

/// Where ranks and groups lie.
void place(Job& job, const RankLayout& layout, const NodeMap& map) {
  job.layout = layout;
  job.nodes = map;
  job.groups = groups_of(job.layout);
  load_groups(job);
  job.placement = placement_of(job.layout);
}

/// Lowers a scenario for devices and links that its nodes have.
Job lower_for(const Scenario& scenario, const NodeMap& map, const Device& device, Interconnect links, ChosenBy by,
              std::shared_ptr<const Scenario> owned = nullptr) {
  Job job;
  job.scenario = &scenario;
  job.chosen_in_replica = std::move(by.in_replica);
  job.chosen_over_replicas = std::move(by.over_replicas);
  job.owned_scenario = std::move(owned);
  job.device = device;
  job.interconnect = std::move(links);
  job.communication_slowdown = communication_slowdown(scenario);
  place(job, rank_layout(scenario), map);
  const LayerKinds kinds = kinds_of(scenario);
  cost_layers(job, kinds);
  build_chunks(job, kinds);
  add_compression(job);
  add_decoding(job);
  finish(job);
  return job;
}

/// Lowers a scenario for nodes that meet: computing goes by the slowest of them, and what crosses links by whoever has
/// least of each.
Job lower_for(const Scenario& scenario, const NodeMap& map, const MeetingNodes& nodes, ChosenBy by) {
  const NodeState& slowest = slowest_of(scenario, nodes);
  std::shared_ptr<const Scenario> own = scenario_in_state(scenario, slowest);
  Device device = device_of(*own);
  slow_down(device, slowest.compute);
  Interconnect links = links_in_state(*own, map, slowest);
  for (const NodeState& other : nodes)
    if (other != slowest) take_slower(links, links_in_state(*scenario_in_state(scenario, other), map, other));
  const Scenario& at = *own;
  return lower_for(at, map, device, std::move(links), std::move(by), std::move(own));
}

/// A strategy without what layers' costs depend on in resolved form only: degrees, shards and the pipeline's order.
/// What a new key may change stays in it.
StrategySpec beside_degrees(StrategySpec strategy) {
  const StrategySpec standard;
  strategy.tensor_parallel = standard.tensor_parallel;
  strategy.pipeline_parallel = standard.pipeline_parallel;
  strategy.virtual_pipeline = standard.virtual_pipeline;
  strategy.context_parallel = standard.context_parallel;
  strategy.expert_parallel = standard.expert_parallel;
  strategy.expert_tensor_parallel = standard.expert_tensor_parallel;
  strategy.data_parallel = standard.data_parallel;
  strategy.micro_batch = standard.micro_batch;
  strategy.schedule = standard.schedule;
  strategy.stage_layers.reset();
  strategy.sharding = standard.sharding;
  strategy.hsdp_shard_size = standard.hsdp_shard_size;
  return strategy;
}

}  // namespace

Job lower(const Scenario& scenario, const JobNodes& nodes) {
  const RankLayout layout = rank_layout(scenario);
  const NodeMap map(scenario, layout, nodes);
  Fold fold = fold_of(scenario, layout);
  const Model& model = *scenario.model;
  const bool tied = model.is_transformer() && model.transformer->tied_embeddings;
  const std::vector<MeetingNodes> joined = joined_by_replicas(fold, tied);
  LinksAsBuilt built(scenario, map);
  // On nodes that are all as the scenario says a library finds the links that it uses.
  const ChosenBy own{nullptr, joined.front() == fold.states.front() ? nullptr : built.of(joined.front())};
  Job job = lower_for(scenario, map, device_of(scenario), links_of(scenario, map), own);
  job.fold = std::move(fold);
  if (job.fold.states.size() == 1) return job;
  for (const LayerCost& layer : job.layer_kinds) job.slowest_backward.push_back(layer.backward());
  std::vector<Job> others;
  for (std::size_t i = 1; i < job.fold.states.size(); ++i) {
    Job& other = others.emplace_back(
        lower_for(scenario, map, job.fold.states[i], {built.of(job.fold.states[i]), built.of(joined[i])}));
    // The switches stay what they are.
    other.interconnect.uplinks = job.interconnect.uplinks;
    for (std::size_t kind = 0; kind < job.slowest_backward.size(); ++kind)
      job.slowest_backward[kind] = std::max(job.slowest_backward[kind], other.layer_kinds[kind].backward());
  }
  for (Job& other : others) {
    other.slowest_backward = job.slowest_backward;
    job.in_other_states.push_back(std::make_shared<const Job>(std::move(other)));
  }
  return job;
}

/// What layers' costs depend on beside what the scenarios of one family share.
struct Lowering::LayerInputs {
  StrategySpec strategy;  ///< beside its degrees
  int tp, cp, ep, etp;
  long micro_batch, accumulated;  ///< micro-batches, where gradients or hooks cost something once for all of them
  bool replicated;
  long reductions;  ///< of a step, where hooks cost something at each
  int parameter_shards;
  GroupShape tensor, context, expert, data;

  explicit LayerInputs(const Job& job)
      : strategy(beside_degrees(job.scenario->spec.strategy)),
        tp(job.scenario->degrees.tp),
        cp(job.scenario->degrees.cp),
        ep(job.scenario->degrees.ep),
        etp(job.scenario->degrees.etp),
        micro_batch(job.scenario->degrees.micro_batch),
        accumulated(job.scenario->framework->fused_gradient_accumulation &&
                            job.scenario->framework->data_parallel_overhead <= 0
                        ? 0
                        : job.scenario->degrees.micro_batches),
        replicated(job.groups.data.size > 1),
        reductions(job.scenario->framework->data_parallel_overhead <= 0
                       ? 0
                       : reductions_of(synchronization_plan(*job.scenario), job.scenario->degrees.micro_batches)),
        parameter_shards(stepcast::parameter_shards(*job.scenario)),
        tensor(job.groups.tensor),
        context(job.groups.context),
        expert(job.groups.expert),
        data(strategy.sync_batch_norm ? job.groups.data : GroupShape{}) {}

  bool operator==(const LayerInputs&) const = default;
};

struct Lowering::Kept {
  /// Degrees, experts, ranks of a shard and the order of dimensions: what decides where groups lie in a family.
  using Cut = std::pair<std::array<int, 7>, std::string>;
  struct Place {
    RankLayout layout;
    NodeMap nodes;
    Groups groups;
    StagePlacement placement;
  };

  explicit Kept(const Scenario& scenario) : kinds(kinds_of(scenario)) {
    job.device = device_of(scenario);
    job.interconnect = interconnect_of(scenario);
    job.communication_slowdown = communication_slowdown(scenario);
  }

  /// Puts the job's groups where the scenario's cut has them.
  void place_job(const Scenario& scenario) {
    const Degrees& d = scenario.degrees;
    const Cut wanted{{d.tp, d.cp, d.ep, d.etp, d.dp, d.pp, scenario.shard_size}, scenario.spec.strategy.order};
    if (cut == wanted) return;
    cut = wanted;
    const auto [known, fresh] = places.try_emplace(wanted);
    Place& at = known->second;
    if (fresh) {
      const RankLayout layout = rank_layout(scenario);
      const NodeMap map(scenario, layout, {});
      set_uplinks(job.interconnect, map);
      place(job, layout, map);
      at = {job.layout, job.nodes, job.groups, job.placement};
    } else {
      job.layout = at.layout;
      job.nodes = at.nodes;
      job.groups = at.groups;
      job.placement = at.placement;
    }
    job.fold = fold_of(scenario, job.layout);
  }

  LayerKinds kinds;
  Job job;
  std::optional<Cut> cut;  ///< that the job is placed for
  std::map<Cut, Place> places;
  std::optional<LayerInputs> inputs;  ///< of the job's layers
  bool added = false;                 ///< those hold the cost of compression or decoding
};

Lowering::Lowering() = default;
Lowering::~Lowering() = default;

const Job& Lowering::lower(const Scenario& scenario) {
  if (!kept_) kept_ = std::make_unique<Kept>(scenario);
  Job& job = kept_->job;
  job.scenario = &scenario;
  kept_->place_job(scenario);
  // Compression and decoding add to layers' costs, so those of a scenario with either are no other's.
  const bool adds =
      scenario.spec.strategy.compression.method != CompressionMethod::none || decodes_on_training_cores(scenario);
  if (LayerInputs inputs(job); adds || kept_->added || kept_->inputs != inputs) {
    kept_->kinds = kinds_of(scenario);
    cost_layers(job, kept_->kinds);
    kept_->inputs = std::move(inputs);
  }
  kept_->added = adds;
  build_chunks(job, kept_->kinds);
  add_compression(job);
  add_decoding(job);
  finish(job);
  return job;
}

}  // namespace stepcast
