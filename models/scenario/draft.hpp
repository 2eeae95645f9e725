#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace stepcast {

/// A scenario on its way from what was written to what is meant. The steps below run in the order of their declaration;
/// each fills in its part, notes the defaults it takes, and reports what is illegal. A step whose input is already
/// at fault says nothing, so that one mistake is one message.
class Draft {
 public:
  Draft(ScenarioSpec written, const Catalog& parts, Diagnostics& faults);

  const Catalog& catalog;
  Diagnostics& diagnostics;
  Scenario scenario;

  [[nodiscard]] const ScenarioSpec& spec() const { return scenario.spec; }
  /// None of these values was misread: no fault lies at, above or below their pointers.
  [[nodiscard]] bool sound(std::initializer_list<std::string_view> pointers) const;
  void assume(std::string words) { scenario.assumptions.push_back(std::move(words)); }
  void fault(std::string pointer, std::string message, std::string suggestion = {}) {
    diagnostics.error(std::move(pointer), std::move(message), std::move(suggestion));
  }

  [[nodiscard]] const TransformerShape* transformer() const;
  /// "GPUs", "processors" or "accelerators".
  [[nodiscard]] std::string_view device_word() const;
  [[nodiscard]] bool cluster_known() const { return scenario.node != nullptr && sound({"/cluster/nodes"}); }

  bool degrees_known = false;  ///< tp·cp·pp divides the devices, so dp is known
  bool batch_known = false;    ///< micro_batch and micro_batches are known

 private:
  std::vector<std::string> misread_;
};

/// The catalogue behind the calibrations that a cluster names, which are anchored to the folder of diagnostics.file();
/// the same catalogue where it names none, or where they are at fault.
const Catalog& behind_calibrations(ClusterSpec& cluster, const Catalog& catalog, Diagnostics& diagnostics);
/// Assumptions about calibrations: what they give, and which were measured with other software or on other nodes.
void remark_calibrations(Draft& draft);
/// Catalogue entries, model and framework.
void resolve_references(Draft& draft);
/// NICs after the fabric's overrides.
void resolve_network(Draft& draft);
/// What collectives reach of links and network.
void resolve_communication(Draft& draft);
/// Sequence length, precision and training length.
void resolve_workload(Draft& draft);
/// Formats of parameters and states.
void check_optimizer(Draft& draft);
/// What the framework offers, and what a CNN cannot have.
void check_offers(Draft& draft);
/// The framework where nobody names one, on accelerators of `maker` (empty: on processors): the one that is usual for
/// replicas where it offers the degrees and the sharding that the strategy states, else for parts of a model (degrees)
/// or for shards, whichever does.
std::string usual_framework(const StrategySpec& strategy, std::string_view maker);
/// Tensor, context, expert and data degrees against model and cluster, order of dimensions.
void resolve_degrees(Draft& draft);
/// How tokens reach their experts.
void resolve_expert_dispatch(Draft& draft);
/// Schedule and layers of each stage.
void resolve_pipeline(Draft& draft);
/// Micro-batch and how many of them.
void resolve_batch(Draft& draft);
/// Whether a framework takes a sharding beside pipeline parallelism.
bool shards_in_pipelines(const FrameworkProfile& framework, Sharding sharding);
/// What is sharded, and over which ranks.
void resolve_sharding(Draft& draft);
void resolve_shard_group(Draft& draft);
/// What layers that share their weights cannot have. After resolve_sharding.
void check_shared_weights(Draft& draft);
/// What layers that take keys, values or embeddings from earlier ones cannot have.
void check_shared_keys(Draft& draft);
void check_recompute(Draft& draft);
void check_offload(Draft& draft);
/// What attention in 8 bit needs.
void check_narrow_attention(Draft& draft);
/// What all_to_alls beside another micro-batch's computation need. After resolve_update, for it asks for the whole
/// strategy.
void check_merging(Draft& draft);
/// How far kernels are fused: what the framework compiles, and which it has one by one.
void check_kernels(Draft& draft);
/// When workers' updates meet, through what, and what that rules out.
void resolve_update(Draft& draft);
/// Whether any collective of the job runs by a stated algorithm, on every kind of node. After resolve_conditions, for
/// it lowers the scenario, which needs all kinds.
void check_algorithm_runs(Draft& draft);
/// A remark where groups straddle nodes, which the closed form cannot show.
void remark_straddling(Draft& draft);
/// Nodes that generate samples for reinforcement learning. After everything else, for it asks for the whole scenario.
void resolve_actors(Draft& draft);
/// What surrounds the step: drives, shared storage, clocks, published rates of failure, terms of payment.
void check_surroundings(Draft& draft);
/// Amounts of run.phases, and keys that say nothing of a phase's kind.
void check_phases(Draft& draft);
/// The scenario as each of run.phases has it; `document`: what was read, overrides applied.
void resolve_phases(Draft& draft, const Json& document);
/// Nodes that are slower or of another kind. After resolve_parts, for what it needs of the other kinds is the whole
/// scenario.
void resolve_conditions(Draft& draft);
/// The steps that a strategy cannot change: catalogue entries, network, communication and workload.
void resolve_surface(Draft& draft);
/// The steps from check_offers to check_kernels.
void resolve_strategy(Draft& draft);
/// Buckets counted in parameters become bytes, once the gradients' format and dp are known.
void settle_bucket(Scenario& scenario);
/// All steps before resolve_conditions: the scenario on one kind of node.
void resolve_parts(Draft& draft);

/// "nearest valid: 8", or "nearest valid: 4 or 6" when both neighbours are as near; "" when nothing up to `most` is.
std::string nearest_valid(long wanted, long most, const std::function<bool(long)>& valid);
/// Layers over chunks as evenly as whole layers allow. Embedding and output count as a layer each where that comes out
/// even (Llama 3 405B: 126 + 2 layers over 16 stages); else the first and the last chunk, which hold them, are spared
/// the odd ones. Blocks that predict further tokens, and their output layers, are behind the last chunk's layers.
std::vector<int> balanced_stages(int layers, int chunks, int predictions);
/// "a, b and c".
std::string listed(const std::vector<std::string>& words);
/// Ids of the framework profiles for which `offers` holds, sorted.
std::vector<std::string> frameworks_that(const std::function<bool(const FrameworkProfile&)>& offers);
/// "offered by megatron-lm and pytorch-fsdp"; "" where nobody does.
std::string offered_by(const std::function<bool(const FrameworkProfile&)>& offers);

}  // namespace stepcast
