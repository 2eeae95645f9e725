#include <fmt/format.h>

#include <algorithm>

#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

/// Processors update in fp32, by the model's usual optimizer: for transformers Adam (DeepSpeed's CPUAdam,
/// ZeRO-Offload).
void check_offloaded(Draft& draft) {
  const StrategySpec& strategy = draft.spec().strategy;
  if (!strategy.offload_optimizer) return;
  const char* pointer = "/strategy/optimizer";
  if (strategy.optimizer && draft.scenario.model && draft.sound({pointer}))
    if (const OptimizerKind usual = usual_optimizer(*draft.scenario.model); *strategy.optimizer != usual)
      draft.fault(pointer,
                  fmt::format("found {}, but processors update by {} (offload_optimizer)", name_of(*strategy.optimizer),
                              name_of(usual)),
                  fmt::format("{}, or offload_optimizer false", name_of(usual)));
  pointer = "/strategy/parameters_in_16_bit";
  if (strategy.parameters_in_16_bit && draft.sound({pointer}))
    draft.fault(pointer, "found true, but processors update parameters in fp32 (offload_optimizer)",
                "leave it out, or offload_optimizer false");
}

/// Narrower states are what comes nearest; else frameworks of the same degrees that train in 16 bit alone.
void refuse_fp32_sums(Draft& draft, const char* pointer) {
  const FrameworkProfile& own = *draft.scenario.framework;
  const std::vector<std::string> others = frameworks_that([&](const FrameworkProfile& f) {
    return !f.main_gradients_fp32 && f.tensor_parallel >= own.tensor_parallel &&
           f.pipeline_parallel >= own.pipeline_parallel && f.expert_parallel >= own.expert_parallel;
  });
  draft.fault(pointer,
              fmt::format("found true, but {} adds gradients up in fp32 and updates fp32 parameters, of which those in "
                          "16 bit are copies",
                          own.id),
              fmt::format("false, with optimizer adam-16bit or adam-8bit where memory is short{}",
                          others.empty() ? "" : ", or framework " + listed(others)));
}

void check_parameters(Draft& draft) {
  const char* pointer = "/strategy/parameters_in_16_bit";
  const Scenario& s = draft.scenario;
  if (!draft.spec().strategy.parameters_in_16_bit || !draft.sound({pointer})) return;
  if (draft.sound({"/workload/precision"}) &&
      (s.precision == Precision::fp32 || s.precision == Precision::tf32 || s.precision == Precision::fp64))
    draft.fault(pointer, fmt::format("found true, but precision is {}", name_of(s.precision)),
                "precision bf16, or leave it out");
  if (s.framework && s.framework->main_gradients_fp32) refuse_fp32_sums(draft, pointer);
  if (draft.spec().strategy.gradients_in_fp32.value_or(false))
    draft.fault(pointer, "found true, but gradients_in_fp32 is true", "one of them");
}

/// Shards in which matrices stay whole: none, and those of states alone, which ranks can own matrix by matrix.
bool keeps_matrices(std::string_view sharding) { return sharding == "none" || sharding == "zero-1"; }

/// Newton–Schulz takes whole matrices, and the model knows which are hidden of transformers alone.
void check_matrices(Draft& draft) {
  const char* pointer = "/strategy/optimizer";
  const Scenario& s = draft.scenario;
  if (draft.spec().strategy.optimizer != OptimizerKind::muon || !draft.sound({pointer})) return;
  if (s.model && !s.model->is_transformer()) {
    draft.fault(pointer,
                fmt::format("found muon, but which matrices of {} are hidden is not described, only of transformers",
                            kind_in_words(*s.model)),
                fmt::format("{}", name_of(usual_optimizer(*s.model))));
    return;
  }
  if (!s.framework || !draft.sound({"/strategy/sharding"}) || keeps_matrices(name_of(s.sharding))) return;
  std::vector<std::string> whole;
  for (const std::string& offered : s.framework->shardings)
    if (keeps_matrices(offered)) whole.push_back(offered);
  draft.fault(pointer,
              fmt::format("found muon, but {} cuts {}, and Newton-Schulz takes whole matrices", name_of(s.sharding),
                          s.sharding == Sharding::zero2 ? "gradients" : "parameters"),
              whole.empty() ? fmt::format("adam: {} has no other sharding", s.framework->id)
                            : fmt::format("adam, or sharding {}", fmt::join(whole, " or ")));
}

}  // namespace

OptimizerKind optimizer_of(const Scenario& scenario) {
  return scenario.spec.strategy.optimizer.value_or(usual_optimizer(*scenario.model));
}

void check_optimizer(Draft& draft) {
  check_offloaded(draft);
  check_parameters(draft);
  check_matrices(draft);
}

}  // namespace stepcast
