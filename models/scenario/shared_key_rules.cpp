#include "models/scenario/draft.hpp"

namespace stepcast {

/// A stage would need of earlier ones more than the hidden state: the keys and values that its layers take from them,
/// or embeddings that the first layer made for it. Context-parallel ranks would hand on shared keys once for all layers
/// or for each.
void check_shared_keys(Draft& draft) {
  const TransformerShape* shape = draft.transformer();
  if (shape == nullptr || (shape->shared_kv_layers == 0 && shape->per_layer_embedding == 0)) return;
  const StrategySpec& strategy = draft.spec().strategy;
  const char* what = shape->shared_kv_layers > 0 ? "share keys and values" : "have embeddings of their own";
  const auto refuse = [&](const char* key, int degree) {
    const std::string pointer = fmt::format("/strategy/{}", key);
    if (degree > 1 && draft.sound({pointer}))
      draft.fault(pointer,
                  fmt::format("found {}, but layers of {} {}, which has no description with it", degree,
                              draft.scenario.model->id, what),
                  fmt::format("{} 1", key));
  };
  refuse("pipeline_parallel", strategy.pipeline_parallel);
  if (shape->shared_kv_layers > 0) refuse("context_parallel", strategy.context_parallel);
}

}  // namespace stepcast
