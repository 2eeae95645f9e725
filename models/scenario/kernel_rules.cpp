#include "models/scenario/draft.hpp"
#include "models/scenario/memory_format.hpp"
#include "models/workload/workload_kind.hpp"

namespace stepcast {

namespace {

/// Lookups and recurrences are kernels of libraries, whose neighbours were not traced; detectors break their graph
/// where boxes are matched.
bool compiles(const Model& model) {
  const WorkloadKind kind = workload_kind(model);
  return kind != WorkloadKind::recommender && kind != WorkloadKind::recurrent && kind != WorkloadKind::detection;
}

void check_compiled(Draft& draft) {
  const char* pointer = "/strategy/torch_compile";
  if (!draft.spec().strategy.torch_compile || !draft.sound({pointer})) return;
  const Scenario& s = draft.scenario;
  const std::string leave_out = "leave torch_compile out";
  if (s.framework && s.framework->compiled_memory_efficiency <= 0)
    return draft.fault(
        pointer, fmt::format("found true, but {} is not known to use torch.compile", s.framework->id),
        fmt::format("{}, or {}", offered_by([](const auto& f) { return f.compiled_memory_efficiency > 0; }),
                    leave_out));
  if (s.model && !compiles(*s.model))
    draft.fault(pointer, fmt::format("found true, but what it fuses in {} is not modelled", s.model->id), leave_out);
}

/// The order of images is of networks that read some, and a compiler's own.
void check_memory_format(Draft& draft) {
  const char* pointer = "/strategy/memory_format";
  const StrategySpec& strategy = draft.spec().strategy;
  const Scenario& s = draft.scenario;
  if (const std::string assumed = assumed_memory_format(s); !assumed.empty()) draft.assume(assumed);
  if (!strategy.memory_format || !draft.sound({pointer})) return;
  const std::string found = fmt::format("found \"{}\", but ", name_of(*strategy.memory_format));
  const std::string leave_out = "leave memory_format out";
  if (s.model && !reads_images(*s.model))
    return draft.fault(pointer, fmt::format("{}{} is no network of images", found, s.model->id), leave_out);
  if (strategy.torch_compile && *strategy.memory_format == MemoryFormat::channels_first)
    draft.fault(pointer, found + "torch.compile puts channels last before convolutions",
                "\"channels_last\", or leave memory_format out");
}

void say_what_stays_wide(Draft& draft) {
  const Scenario& s = draft.scenario;
  if (s.model && below_16_bit(s.precision) && has_convolutions(*s.model))
    draft.assume(fmt::format("convolutions in 16 bit: linear layers alone train in {}", name_of(s.precision)));
}

void check_rotary(Draft& draft) {
  const char* pointer = "/strategy/fused_rotary";
  if (draft.spec().strategy.fused_rotary.value_or(true) || !draft.sound({pointer})) return;
  if (draft.scenario.framework && draft.scenario.framework->rotary_passes <= 0)
    draft.fault(pointer, fmt::format("found false, but {} has one kernel for them", draft.scenario.framework->id),
                "leave fused_rotary out");
}

/// Kernels, packing and adapters of transformers, stated of models that have neither.
void check_transformers_alone(Draft& draft) {
  const Scenario& s = draft.scenario;
  if (!s.model || s.model->is_transformer()) return;
  const StrategySpec& strategy = draft.spec().strategy;
  const auto refuse = [&](bool stated, const std::string& pointer) {
    if (stated && draft.sound({pointer}))
      draft.fault(pointer, fmt::format("is for transformers, and changes nothing of {}", s.model->id), "leave it out");
  };
  refuse(strategy.fused_loss.has_value(), "/strategy/fused_loss");
  refuse(strategy.fused_norm.has_value(), "/strategy/fused_norm");
  refuse(strategy.fused_rotary.has_value(), "/strategy/fused_rotary");
  refuse(strategy.attention_kernel.has_value(), "/strategy/attention_kernel");
  refuse(draft.spec().workload.adapter_rank > 0, "/workload/adapter_rank");
  refuse(draft.spec().workload.document_len > 0, "/workload/document_len");
}

}  // namespace

void check_kernels(Draft& draft) {
  check_compiled(draft);
  check_memory_format(draft);
  say_what_stays_wide(draft);
  check_rotary(draft);
  check_transformers_alone(draft);
}

}  // namespace stepcast
