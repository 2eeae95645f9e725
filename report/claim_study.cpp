#include "report/claim_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/run_outlook.hpp"

namespace stepcast {

namespace {

/// Below this a change is none: a tenth of a per cent.
constexpr double kNoChange = 0.1;

std::vector<std::string> figure_names() {
  std::vector<std::string> out;
  for (const StudyFigure& figure : study_figures()) out.push_back(figure.name);
  return out;
}

template <class T>
void read_list(std::vector<T>& out, const Json& document, const char* key, Diagnostics& diagnostics) {
  if (document.contains(key))
    Codec<std::vector<T>>::read(out, document[key], std::string("/") + key, key, {}, diagnostics);
}

std::optional<double> value_of(const Prediction& p, const std::string& figure) {
  if (figure == "throughput") return p.tokens_per_s > 0 ? p.tokens_per_s : p.samples_per_s;
  if (figure == "time_to_target") return p.time_to_train ? std::optional(p.time_to_train->value()) : std::nullopt;
  if (figure == "cost_per_model") return p.run_cost ? std::optional(p.run_cost->value()) : std::nullopt;
  if (figure == "utilization") return p.gpu_utilization;
  if (!p.outlook) return std::nullopt;
  return figure == "pue" ? p.outlook->facility.pue : p.outlook->facility.flops_per_W;
}

std::optional<double> gain(std::optional<double> before, std::optional<double> after, bool smaller_is_better) {
  if (!before || !after || *before == 0) return std::nullopt;
  const double change = 100 * (*after / *before - 1);
  return smaller_is_better ? -change : change;
}

ClaimVerdict verdict_of(const ClaimSpec& claim, std::optional<double> gain) {
  if (!gain) return ClaimVerdict::unknown;
  if (std::abs(*gain) < kNoChange) return ClaimVerdict::none;
  if (*gain < 0) return ClaimVerdict::worse;
  if (*gain < claim.low_percent) return ClaimVerdict::less;
  return *gain > claim.high_percent ? ClaimVerdict::beyond : ClaimVerdict::supported;
}

const ClaimSpec* claim_of(const std::vector<ClaimSpec>& claims, const std::string& figure) {
  const auto found =
      std::find_if(claims.begin(), claims.end(), [&](const ClaimSpec& claim) { return claim.figure == figure; });
  return found == claims.end() ? nullptr : &*found;
}

/// Why figures moved or could not.
std::vector<std::string> notes_of(const Prediction& baseline, const Prediction& variant) {
  std::vector<std::string> out;
  if (!baseline.outlook || !variant.outlook) return out;
  const FacilityOutlook& before = baseline.outlook->facility;
  const FacilityOutlook& after = variant.outlook->facility;
  if (const double clock = after.clock_share.value_or(1); clock < before.clock_share.value_or(1))
    out.push_back(
        fmt::format("matrix products run at {:.1f} % of their clock: power falls faster than throughput, and "
                    "throughput cannot rise by it",
                    100 * clock));
  if (after.pue == before.pue) out.emplace_back("PUE is the building's: nothing that runs on the devices changes it");
  if (baseline.outlook->run && variant.outlook->run &&
      variant.outlook->run->work_factor > baseline.outlook->run->work_factor * (1 + 1e-9))
    out.push_back(fmt::format("the larger batch needs {:.1f} % more samples to the target",
                              100 * (variant.outlook->run->work_factor / baseline.outlook->run->work_factor - 1)));
  if (variant.gpu_utilization < baseline.gpu_utilization - 1e-3 && variant.samples_per_s > baseline.samples_per_s)
    out.emplace_back("computing takes less of a shorter step, so utilisation falls while throughput rises");
  if (variant.gpu_utilization > baseline.gpu_utilization + 1e-3 && variant.samples_per_s < baseline.samples_per_s)
    out.emplace_back("utilisation rises because computing is slower, not because waiting is less");
  if (!variant.memory.fits) out.emplace_back("does not fit memory");
  return out;
}

StudyVariant compared(const std::string& name, const Prediction* baseline, const Prediction& prediction,
                      const std::vector<ClaimSpec>& claims) {
  StudyVariant out;
  out.name = name;
  for (const StudyFigure& figure : study_figures()) {
    StudyGain one;
    one.figure = figure.name;
    one.value = value_of(prediction, figure.name);
    if (baseline != nullptr) {
      one.gain_percent = gain(value_of(*baseline, figure.name), one.value, figure.smaller_is_better);
      if (const ClaimSpec* claim = claim_of(claims, figure.name)) one.verdict = verdict_of(*claim, one.gain_percent);
    }
    out.gains.push_back(std::move(one));
  }
  if (baseline != nullptr) out.notes = notes_of(*baseline, prediction);
  return out;
}

}  // namespace

const std::vector<StudyFigure>& study_figures() {
  static const std::vector<StudyFigure> kFigures{{"throughput", false},    {"time_to_target", true},
                                                 {"flops_per_W", false},   {"pue", true},
                                                 {"cost_per_model", true}, {"utilization", false}};
  return kFigures;
}

const FieldTable<StudyVariantSpec>& StudyVariantSpec::fields() {
  static const auto kTable = [] {
    FieldTable<StudyVariantSpec> t("variant", "A change to the scenario");
    t.field("name", &StudyVariantSpec::name, "Name for the table", {.required = true})
        .field("set", &StudyVariantSpec::set, "Values of the scenario, as --set takes them", {.required = true});
    return t;
  }();
  return kTable;
}

const FieldTable<ClaimSpec>& ClaimSpec::fields() {
  static const auto kTable = [] {
    FieldTable<ClaimSpec> t("claim", "An improvement that is commonly claimed");
    t.field("figure", &ClaimSpec::figure, "throughput, time_to_target, flops_per_W, pue, cost_per_model or utilization",
            {.required = true})
        .field("low_percent", &ClaimSpec::low_percent, "Least improvement", {.required = true, .min = 0, .max = 1e4})
        .field("high_percent", &ClaimSpec::high_percent, "Largest improvement",
               {.required = true, .min = 0, .max = 1e4});
    return t;
  }();
  return kTable;
}

ClaimStudySpec read_claim_study(const Json& document, Diagnostics& diagnostics) {
  ClaimStudySpec out;
  if (!document.is_object()) {
    diagnostics.error("", "found no object, expected a study: scenario, variants and claims");
    return out;
  }
  const std::vector<std::string> keys{"$schema", "name", "description", "scenario", "variants", "claims"};
  for (const auto& [key, value] : document.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) diagnostics.unknown_key("", "study", key, keys);
  for (const auto& [key, member] : {std::pair{"name", &out.name}, std::pair{"description", &out.description}})
    if (document.contains(key))
      Codec<std::string>::read(*member, document[key], std::string("/") + key, key, {}, diagnostics);
  if (document.contains("scenario")) {
    out.scenario = document["scenario"];
    if (!out.scenario.is_object())
      diagnostics.error("/scenario", fmt::format("found {}, expected an object (scenario)", describe(out.scenario)));
  } else if (!diagnostics.meant("/scenario")) {
    diagnostics.error("/scenario", "missing: the scenario that all variants start from");
  }
  if (!document.contains("variants") && !diagnostics.meant("/variants"))
    diagnostics.error("/variants", "missing: what is compared with the scenario");
  read_list(out.variants, document, "variants", diagnostics);
  read_list(out.claims, document, "claims", diagnostics);
  if (document.contains("variants") && document["variants"].is_array() && document["variants"].empty())
    diagnostics.error("/variants", "found none, expected what is compared with the scenario");
  for (std::size_t i = 0; i < out.claims.size(); ++i)
    if (out.claims[i].low_percent > out.claims[i].high_percent)
      diagnostics.error(fmt::format("/claims/{}/low_percent", i),
                        fmt::format("found {:g}, more than the high_percent of {:g}", out.claims[i].low_percent,
                                    out.claims[i].high_percent),
                        "the lesser of the two first");
  const std::vector<std::string> figures = figure_names();
  for (std::size_t i = 0; i < out.claims.size(); ++i)
    if (std::find(figures.begin(), figures.end(), out.claims[i].figure) == figures.end())
      diagnostics.error(fmt::format("/claims/{}/figure", i), fmt::format("no figure \"{}\"", out.claims[i].figure),
                        did_you_mean(out.claims[i].figure, figures));
  return out;
}

ClaimStudy study_claims(const ClaimStudySpec& spec, const Prediction& baseline,
                        const std::vector<Prediction>& variants) {
  ClaimStudy out;
  out.name = spec.name;
  out.claims = spec.claims;
  out.baseline = compared("baseline", nullptr, baseline, spec.claims);
  for (std::size_t i = 0; i < variants.size(); ++i)
    out.variants.push_back(compared(spec.variants[i].name, &baseline, variants[i], spec.claims));
  return out;
}

}  // namespace stepcast
