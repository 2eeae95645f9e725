#include <algorithm>

#include "models/scenario/at_size.hpp"
#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

/// The document of a phase: the scenario's with what differs, and without phases.
Json phase_document(const Json& document, const PhaseSpec& phase, const std::optional<long>& batch,
                    Diagnostics& diagnostics) {
  Json out = document;
  out["run"].erase("phases");
  free_data_parallel(out);  // another cut of the model leaves other replicas
  if (batch) out["workload"]["global_batch"] = *batch;
  if (phase.seq_len) out["workload"]["seq_len"] = *phase.seq_len;
  for (const std::string& assignment : phase.set) apply_override(out, assignment, diagnostics);
  return out;
}

/// "startup is stated, not predicted" and the like for each key that says nothing of a phase's kind.
void check_keys(Draft& draft, const PhaseSpec& phase, const std::string& at) {
  const auto refuse = [&](bool stated, const char* key, const std::string& why) {
    if (stated) draft.fault(at + key, why, "leave it out");
  };
  const bool trains = phase.kind == PhaseKind::train;
  refuse(trains && phase.every_steps, "/every_steps", "belongs to evaluations");
  refuse(trains && phase.times, "/times", "belongs to what occurs again, and training is one stretch");
  refuse(!trains && phase.global_batch_end, "/global_batch_end", "belongs to training, which alone ramps");
  if (trains || phase.kind == PhaseKind::evaluation) return;
  const std::string stated = fmt::format("says nothing of {}, whose time is stated", name_of(phase.kind));
  refuse(phase.tokens.has_value(), "/tokens", stated);
  refuse(phase.samples.has_value(), "/samples", stated);
  refuse(phase.steps.has_value(), "/steps", stated);
  refuse(phase.global_batch.has_value(), "/global_batch", stated);
  refuse(phase.seq_len.has_value(), "/seq_len", stated);
  refuse(!phase.set.empty(), "/set", stated);
}

/// Terms of the whole run, and the work that it is for, are no phase's.
void check_set(Draft& draft, const PhaseSpec& phase, const std::string& at) {
  for (std::size_t i = 0; i < phase.set.size(); ++i)
    for (const std::string_view whole : {"cluster.cost", "run", "workload.tokens", "workload.samples",
                                         "workload.epochs", "workload.critical_batch", "workload.stated_at_batch"})
      if (phase.set[i].starts_with(std::string(whole) + ".") || phase.set[i].starts_with(std::string(whole) + "="))
        draft.fault(fmt::format("{}/set/{}", at, i), fmt::format("{} is one for all phases", whole),
                    "state it outside run.phases");
}

/// What the model has none of is no amount.
void check_tokens(Draft& draft, const PhaseSpec& phase, const std::string& at) {
  const std::shared_ptr<const Model>& model = draft.scenario.model;
  if (phase.tokens && model && !model->is_transformer())
    draft.fault(at + "/tokens", fmt::format("{} reads no tokens", model->id), "state samples or steps");
}

void check_amount(Draft& draft, const PhaseSpec& phase, const std::string& at, int& rests) {
  const int stated = phase.tokens.has_value() + phase.samples.has_value() + phase.steps.has_value();
  if (stated > 1) draft.fault(at, "states its amount more than once", "one of tokens, samples and steps");
  if (phase.kind == PhaseKind::startup || phase.kind == PhaseKind::compile) {
    if (!phase.time)
      draft.fault(at + "/time_s", fmt::format("missing: {} is stated, not predicted", name_of(phase.kind)));
    return;
  }
  if (stated > 0 || phase.time) return;
  if (phase.kind == PhaseKind::evaluation)
    return draft.fault(at, "says neither how much it evaluates nor how long", "samples, tokens or time_s");
  if (phase.global_batch_end) return draft.fault(at, "a ramp needs an amount", "tokens, samples or steps");
  if (++rests > 1) draft.fault(at, "a second phase without an amount", "tokens, samples or steps");
}

/// Key of a phase that a fault of its scenario comes from, and the fault's place beside it.
struct FaultOfPhase {
  std::string pointer, before;
};

FaultOfPhase place_of(const Fault& fault, const PhaseSpec& phase, const std::string& at, const char* batch) {
  if (fault.pointer == "/workload/global_batch" && batch != nullptr) return {at + batch, ""};
  if (fault.pointer == "/workload/seq_len" && phase.seq_len) return {at + "/seq_len", ""};
  std::string path = fault.pointer.empty() ? "" : fault.pointer.substr(1);
  std::replace(path.begin(), path.end(), '/', '.');
  for (std::size_t i = 0; i < phase.set.size(); ++i)
    if (const std::string key = phase.set[i].substr(0, phase.set[i].find('=')); !path.empty() && path.starts_with(key))
      return {fmt::format("{}/set/{}", at, i), path == key ? "" : fault.pointer + ": "};
  return {at, fault.pointer + ": "};
}

}  // namespace

void check_phases(Draft& draft) {
  const std::vector<PhaseSpec>& phases = draft.spec().run.phases;
  if (!draft.sound({"/run/phases"})) return;
  const bool train =
      std::any_of(phases.begin(), phases.end(), [](const PhaseSpec& phase) { return phase.kind == PhaseKind::train; });
  if (!phases.empty() && !train)
    draft.fault("/run/phases", "no phase trains", "a phase of kind \"train\", which may leave its amount out");
  int rests = 0;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::string at = fmt::format("/run/phases/{}", i);
    check_amount(draft, phases[i], at, rests);
    check_tokens(draft, phases[i], at);
    check_keys(draft, phases[i], at);
    check_set(draft, phases[i], at);
    if (phases[i].every_steps && phases[i].times)
      draft.fault(at + "/times", "says how often it occurs beside every_steps", "keep one of them");
  }
}

void resolve_phases(Draft& draft, const Json& document) {
  const std::vector<PhaseSpec>& phases = draft.spec().run.phases;
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const PhaseSpec& phase = phases[i];
    const std::string at = fmt::format("/run/phases/{}", i);
    const auto add = [&](bool differs, const std::optional<long>& batch, const char* key) {
      draft.scenario.phases.push_back(nullptr);
      if (!differs) return;
      Diagnostics own(draft.diagnostics.file());
      try {
        const Json phase_json = phase_document(document, phase, batch, own);
        own.throw_if_faulty();
        draft.scenario.phases.back() =
            std::make_shared<const Scenario>(resolve(phase_json, draft.diagnostics.file(), {}, draft.catalog));
      } catch (const InputError& error) {
        for (const Fault& fault : error.faults()) {
          const FaultOfPhase place = place_of(fault, phase, at, batch ? key : nullptr);
          draft.fault(place.pointer, place.before + fault.message, fault.suggestion);
        }
      }
    };
    add(phase.global_batch || phase.seq_len || !phase.set.empty(), phase.global_batch, "/global_batch");
    add(phase.global_batch_end.has_value(), phase.global_batch_end, "/global_batch_end");
  }
}

}  // namespace stepcast
