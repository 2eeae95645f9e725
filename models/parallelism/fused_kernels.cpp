#include "models/parallelism/fused_kernels.hpp"

namespace stepcast {

FusedKernels fused_kernels(const Scenario& scenario) {
  const FrameworkProfile& framework = *scenario.framework;
  const StrategySpec& strategy = scenario.spec.strategy;
  const bool compiled = strategy.torch_compile;
  const bool one_rotary = strategy.fused_rotary.value_or(compiled || framework.rotary_passes <= 0);
  return {.loss = strategy.fused_loss.value_or(compiled || framework.fused_loss),
          .activation = strategy.fused_activation.value_or(compiled || framework.fused_activation),
          .norm = strategy.fused_norm.value_or(compiled || framework.fused_norm),
          .rotary_passes = one_rotary ? 0 : framework.rotary_passes,
          .memory_passes = compiled ? framework.compiled_memory_efficiency : framework.memory_efficiency};
}

}  // namespace stepcast
