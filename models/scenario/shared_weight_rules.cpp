#include "models/scenario/draft.hpp"

namespace stepcast {

/// One copy of the weights serves all layers of a group: stages of a pipeline would hold a copy each, and shards would
/// be gathered once for every layer.
void check_shared_weights(Draft& draft) {
  const TransformerShape* shape = draft.transformer();
  if (shape == nullptr || shape->hidden_groups == 0) return;
  const std::string& model = draft.scenario.model->id;
  const int stages = draft.spec().strategy.pipeline_parallel;
  if (stages > 1 && draft.sound({"/strategy/pipeline_parallel"}))
    draft.fault(
        "/strategy/pipeline_parallel",
        fmt::format("found {}, but layers of {} share weights, which has no description with stages", stages, model),
        "pipeline_parallel 1");
  const Sharding sharding = draft.scenario.sharding;
  const bool shards = sharding == Sharding::zero3 || sharding == Sharding::fsdp || sharding == Sharding::hsdp;
  if (shards && draft.sound({"/strategy/sharding"}))
    draft.fault("/strategy/sharding",
                fmt::format("found {}, but layers of {} share weights, which has no description with sharded ones",
                            name_of(sharding), model),
                "sharding \"none\", zero-1 or zero-2");
}

}  // namespace stepcast
