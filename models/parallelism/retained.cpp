#include "models/parallelism/retained.hpp"

#include <algorithm>

namespace stepcast {

namespace {

/// Modules are recomputed one at a time. The attention core is part of attention.
Retained without_modules(const LayerCost& layer, const std::vector<RecomputeModule>& modules) {
  const bool attention = std::find(modules.begin(), modules.end(), RecomputeModule::attention) != modules.end();
  Retained kept{layer.activations, Bytes(0)};
  for (const RecomputeModule module : modules) {
    if (module == RecomputeModule::attention_core && attention) continue;
    const Bytes freed = layer.freed_by_module[static_cast<std::size_t>(module)];
    kept.waiting -= freed;
    kept.recomputed = std::max(kept.recomputed, freed);
  }
  return kept;
}

}  // namespace

bool repeats_blocks(const StrategySpec& strategy) {
  return strategy.recompute == Recompute::full || strategy.recompute == Recompute::per_operator;
}

bool is_block(LayerRole role) { return role == LayerRole::dense_block || role == LayerRole::moe_block; }

Retained retained(const LayerCost& layer, const StrategySpec& strategy) {
  const Retained everything{layer.activations * layer.unrecomputed, Bytes(0)};
  if (!is_block(layer.role) || !layer.repeats) return everything;
  const auto keeping = [&](Bytes waiting) { return Retained{waiting, layer.activations - waiting}; };
  switch (strategy.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      return keeping(layer.activations_selective);
    case Recompute::full:
      return keeping(layer.activation_input);
    case Recompute::per_operator:
      return keeping(layer.activations_per_operator);
    case Recompute::modules:
      return without_modules(layer, strategy.recompute_modules);
  }
  return everything;
}

}  // namespace stepcast
