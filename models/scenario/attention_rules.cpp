#include "models/compute/attention_time.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

void check_narrow_attention(Draft& draft) {
  const char* pointer = "/strategy/fp8_dot_product_attention";
  if (!draft.spec().strategy.fp8_dot_product_attention || !draft.sound({pointer})) return;
  const Scenario& s = draft.scenario;
  const auto refuse = [&](const std::string& why, const std::string& nearest) {
    draft.fault(pointer, "found true, but " + why, nearest);
  };
  const std::string leave_out = "leave fp8_dot_product_attention out";
  if (s.model && draft.transformer() == nullptr) return refuse(s.model->id + " has no attention", leave_out);
  if (s.framework && !s.framework->fused_attention())
    return refuse(fmt::format("{} computes attention in 16 bit, product by product", s.framework->id), leave_out);
  // NVIDIA's own recipes turn to 16 bit where keys and values travel in a ring (MLPerf Training v5.1, Llama 3.1 8B:
  // NVTE_DPA_FP8_RECIPE="F16" with context parallelism): nothing is known of 8 bit there.
  const StrategySpec& strategy = draft.spec().strategy;
  if (strategy.context_parallel > 1 && s.context_method != ContextMethod::ulysses)
    return refuse(fmt::format("context_parallel is {} with context_method {}, which is not modelled in 8 bit",
                              strategy.context_parallel, name_of(s.context_method)),
                  "context_method ulysses, context_parallel 1, or " + leave_out);
  if (s.node == nullptr || !draft.sound({"/workload/precision"})) return;
  if (s.accelerator == nullptr || !narrow_attention(*s.accelerator, s.operators)) {
    const std::string device = s.accelerator != nullptr ? s.accelerator->id : s.node->id;
    return refuse(fmt::format("no 8-bit attention of {} is known", device), leave_out);
  }
  if (!below_16_bit(s.precision))
    refuse(fmt::format("precision is {}", name_of(s.precision)), "precision fp8, or " + leave_out);
}

}  // namespace stepcast
