#include "models/phases/phase_spec.hpp"

namespace stepcast {

const FieldTable<PhaseSpec>& PhaseSpec::fields() {
  using P = PhaseSpec;
  static const auto kTable = [] {
    const Rules amount{.min = 0, .max = 1e18, .above_min = true};
    FieldTable<P> t("phase", "A stretch of the run that differs from the rest");
    t.field("name", &P::name, "Name for reports")
        .field("kind", &P::kind, "What happens in it")
        .field("tokens", &P::tokens, "Tokens that it trains on, or that one evaluation reads", amount)
        .field("samples", &P::samples, "The same in samples", amount)
        .field("steps", &P::steps, "The same in steps", amount)
        .field("time_s", &P::time, "Its duration, stated instead of predicted; required of startup and compile",
               {.min = 0, .max = 1e9})
        .field("every_steps", &P::every_steps, "Evaluation: once in so many training steps", {.min = 1, .max = 1e15})
        .field("times", &P::times, "How often it occurs; default: once", {.min = 0, .max = 1e12})
        .field("global_batch", &P::global_batch, "Samples of one of its steps; default: the workload's",
               {.min = 1, .max = 1e9})
        .field("global_batch_end", &P::global_batch_end,
               "Samples of its last step: the batch ramps up to it, linearly over the phase's samples",
               {.min = 1, .max = 1e9})
        .field("seq_len", &P::seq_len, "Tokens of a sequence; default: the workload's", {.min = 1, .max = 1 << 26})
        .field("set", &P::set, "What else differs: values of the scenario, as --set takes them");
    return t;
  }();
  return kTable;
}

}  // namespace stepcast
