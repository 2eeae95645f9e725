#include <algorithm>
#include <array>

#include "models/scenario/draft.hpp"

namespace stepcast {

namespace {

constexpr std::array kTrainingFormats{Precision::bf16, Precision::fp16, Precision::tf32,
                                      Precision::fp32, Precision::fp8,  Precision::mxfp8,
                                      Precision::fp4,  Precision::int8, Precision::fp64};

void resolve_sequence(Draft& draft) {
  Scenario& s = draft.scenario;
  if (!s.model || !draft.sound({"/workload/seq_len"})) return;
  const std::optional<int> wanted = draft.spec().workload.seq_len;
  const TransformerShape* shape = draft.transformer();
  if (shape == nullptr) {
    if (wanted)
      draft.fault(
          "/workload/seq_len",
          fmt::format("found {}, but {} is {} without sequences", *wanted, s.model->id, kind_in_words(*s.model)),
          "leave seq_len out");
    return;
  }
  s.seq_len = wanted.value_or(s.model->default_seq_len > 0 ? s.model->default_seq_len : shape->max_positions);
  if (s.seq_len <= 0) {
    draft.fault("/workload/seq_len", fmt::format("missing: {} has no usual sequence length", s.model->id));
  } else if (!wanted) {
    draft.assume(fmt::format("sequence length {} (the model's)", s.seq_len));
  }
  const bool table = shape->positions == PositionKind::learned && shape->max_positions > 0;
  if (table && s.seq_len > shape->max_positions)
    draft.fault("/workload/seq_len",
                fmt::format("found {}, but {} has learned positions for {} tokens", s.seq_len, s.model->id,
                            shape->max_positions),
                fmt::format("nearest valid: {}", shape->max_positions));
}

std::vector<Precision> formats_of(const Scenario& s) {
  if (s.accelerator == nullptr) return {Precision::fp32};
  std::vector<Precision> formats;
  std::copy_if(kTrainingFormats.begin(), kTrainingFormats.end(), std::back_inserter(formats), [&](Precision p) {
    const bool trained = p != Precision::int8 || (s.compute != nullptr && s.compute->trains_in_int8);
    return trained && s.accelerator->peak(p) > FlopsPerSecond(0);
  });
  return formats;
}

void resolve_precision(Draft& draft) {
  Scenario& s = draft.scenario;
  if (s.node == nullptr || !draft.sound({"/workload/precision"})) return;
  if (s.node->has_accelerators() ? s.accelerator == nullptr : s.cpu == nullptr) return;
  const std::vector<Precision> formats = formats_of(s);
  const std::string device = s.accelerator != nullptr ? s.accelerator->id : s.cpu->id;
  const std::optional<Precision> wanted = draft.spec().workload.precision;
  if (formats.empty()) return draft.fault("/cluster/node", fmt::format("{} has no format to train in", device));
  if (!wanted) {
    s.precision = formats.front();
    return draft.assume(
        fmt::format("precision {} (the first of bf16, fp16, tf32, fp32 that {} has)", name_of(s.precision), device));
  }
  s.precision = *wanted;
  if (std::find(formats.begin(), formats.end(), *wanted) != formats.end()) return;
  std::vector<std::string> names(formats.size());
  std::transform(formats.begin(), formats.end(), names.begin(), [](Precision p) { return std::string(name_of(p)); });
  draft.fault("/workload/precision", fmt::format("found {}, which {} cannot train in", name_of(*wanted), device),
              expected_one_of(names));
}

void check_length(Draft& draft) {
  const WorkloadSpec& w = draft.spec().workload;
  std::vector<std::string> given;
  if (w.tokens) given.emplace_back("tokens");
  if (w.samples) given.emplace_back("samples");
  if (w.epochs) given.emplace_back("epochs");
  if (given.size() > 1)
    draft.fault("/workload/" + given.back(),
                fmt::format("the training length is given {} times: {}", given.size(), listed(given)),
                "keep one of them");
  if (w.stated_at_batch && !w.critical_batch && draft.sound({"/workload/stated_at_batch", "/workload/critical_batch"}))
    draft.fault("/workload/stated_at_batch", "says nothing where the stated work suffices at any batch",
                "leave it out, or state critical_batch");
  if (!given.empty() && w.critical_batch && !w.stated_at_batch)
    draft.assume(fmt::format("the stated work reaches the target at a batch of {}, the run's own: no stated_at_batch",
                             w.global_batch));
  if (!draft.scenario.model) return;
  const Model& model = *draft.scenario.model;
  if (w.tokens && !model.is_transformer())
    draft.fault("/workload/tokens", fmt::format("{} is {} and reads no tokens", model.id, kind_in_words(model)),
                "state samples or epochs");
  if (w.epochs && model.dataset_samples <= 0)
    draft.fault("/workload/epochs", fmt::format("{} has no usual data set to pass over", model.id),
                model.is_transformer() ? "state tokens or samples" : "state samples");
}

/// Of input that a step reads or copies: beyond 2^53, doubles skip bytes.
constexpr Bytes kMostStepBytes{9007199254740992.0};

void check_input_size(Draft& draft) {
  const WorkloadSpec& w = draft.spec().workload;
  if (!draft.scenario.model || !draft.sound({"/workload/input", "/workload/global_batch"})) return;
  const auto check = [&](const char* key, const std::optional<Bytes>& sample) {
    const Bytes step = static_cast<double>(w.global_batch) * sample.value_or(Bytes(0));
    if (step > kMostStepBytes)
      draft.fault(
          fmt::format("/workload/input/{}", key),
          fmt::format("found {:g}: the {} samples of a step have {:.3g} bytes, expected at most 2^53 (9.01e+15)",
                      sample->in(1_kB), w.global_batch, step.value()),
          "a smaller sample or global_batch");
  };
  const Bytes own = draft.scenario.model->sample_bytes;
  check("sample_kB", w.input.sample ? w.input.sample : own);
  check("device_sample_kB", w.input.device_sample);
}

}  // namespace

void resolve_workload(Draft& draft) {
  resolve_sequence(draft);
  resolve_precision(draft);
  check_length(draft);
  check_input_size(draft);
}

}  // namespace stepcast
