#include "models/parallelism/retained.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

bool repeats_experts(const StrategySpec& strategy) {
  if (repeats_blocks(strategy)) return true;
  const auto& modules = strategy.recompute_modules;
  return strategy.recompute == Recompute::modules &&
         std::find(modules.begin(), modules.end(), RecomputeModule::moe) != modules.end();
}

/// Schedules with enough micro-batches under way. A pass that is merged takes the time of two to a stage's neighbour,
/// both ways: with one chunk a stage, where stage s has p − s of them, half of every stage's time would be waiting
/// (Megatron-LM asks for virtual stages, too).
bool has_pairs(const Scenario& s, const StrategySpec& strategy) {
  return s.schedule == PipelineSchedule::interleaved ||
         (strategy.pipeline_parallel == 1 && s.schedule == PipelineSchedule::one_f_one_b);
}

}  // namespace

void check_merging(Draft& draft) {
  const char* pointer = "/strategy/overlap_expert_parallel";
  const StrategySpec& strategy = draft.spec().strategy;
  if (!strategy.overlap_expert_parallel || !draft.sound({pointer})) return;
  const Scenario& s = draft.scenario;
  const std::string leave_out = "leave overlap_expert_parallel out";
  const auto refuse = [&](const std::string& why, const std::string& nearest) {
    draft.fault(pointer, "found true, but " + why, nearest + leave_out);
  };
  if (s.model && (draft.transformer() == nullptr || draft.transformer()->experts == 0))
    return refuse(s.model->id + " has no experts", "");
  if (s.model && !draft.transformer()->layer_pattern.empty())
    return refuse(s.model->id + " has layers of one half each, and merged passes are described with whole blocks", "");
  if (draft.sound({"/strategy/expert_parallel"}) && strategy.expert_parallel == 1)
    return refuse("expert_parallel is 1: nothing is exchanged", "expert_parallel 2, or ");
  const bool scheduled =
      draft.sound({"/strategy/schedule", "/strategy/virtual_pipeline", "/strategy/pipeline_parallel"});
  if (scheduled && !has_pairs(s, strategy))
    return refuse(fmt::format("schedule {} with {} stages has no passes to merge", name_of(s.schedule),
                              strategy.pipeline_parallel),
                  "virtual_pipeline 2, or ");
  if (draft.sound({"/strategy/recompute", "/strategy/recompute_modules"}) && repeats_experts(strategy))
    return refuse(fmt::format("recompute {} repeats the experts' exchanges, too", name_of(strategy.recompute)),
                  "recompute \"selective\", or ");
  if (strategy.offload_activations) return refuse("offload_activations copies between the passes", "");
  if (!draft.sound({"/strategy/sharding", "/strategy/update"})) return;
  if (s.sharding != Sharding::none && s.sharding != Sharding::zero1)
    return refuse(fmt::format("sharding {} synchronises within the merged passes", name_of(s.sharding)),
                  "sharding \"zero-1\", or ");
  if (s.update != UpdateMode::synchronous || s.servers)
    refuse(fmt::format("update {} is not modelled with it", name_of(s.update)), "update \"synchronous\", or ");
}

}  // namespace stepcast
