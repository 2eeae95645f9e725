#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fields/field_table.hpp"
#include "report/prediction.hpp"

namespace stepcast {

/// A change to a scenario, and what it is called.
struct StudyVariantSpec {
  std::string name;
  std::vector<std::string> set;  ///< as --set takes it
  static const FieldTable<StudyVariantSpec>& fields();
};

/// Improvements that are commonly claimed, in per cent; a gain is positive whether the figure should rise or fall.
struct ClaimSpec {
  std::string figure;  ///< throughput, time_to_target, flops_per_W, pue, cost_per_model or utilization
  double low_percent = 0, high_percent = 0;
  static const FieldTable<ClaimSpec>& fields();
};

/// A study: one scenario, changes to it, and claims to hold the changes against.
struct ClaimStudySpec {
  std::string name, description;
  Json scenario;  ///< the baseline, a scenario document
  std::vector<StudyVariantSpec> variants;
  std::vector<ClaimSpec> claims;
};
/// Reads a study; faults go to the diagnostics.
ClaimStudySpec read_claim_study(const Json& document, Diagnostics& diagnostics);

/// A figure of a prediction by which variants are compared.
struct StudyFigure {
  std::string name;
  bool smaller_is_better = false;
};
const std::vector<StudyFigure>& study_figures();

/// Whether the model bears a claim out for a variant.
enum class ClaimVerdict { supported, beyond, less, none, worse, unknown };
template <>
struct EnumNames<ClaimVerdict> {
  static constexpr std::array names{"as claimed", "more than claimed", "less than claimed",
                                    "no change",  "the opposite",      "not known"};
};

struct StudyGain {
  std::string figure;
  std::optional<double> value;          ///< of the variant
  std::optional<double> gain_percent;   ///< over the baseline, positive when better
  std::optional<ClaimVerdict> verdict;  ///< null without a claim
};

struct StudyVariant {
  std::string name;
  std::vector<StudyGain> gains;
  std::vector<std::string> notes;  ///< what the model says of why
};

struct ClaimStudy {
  std::string name;
  StudyVariant baseline;  ///< values alone
  std::vector<StudyVariant> variants;
  std::vector<ClaimSpec> claims;
};

/// Holds predictions of the variants against the baseline's. One prediction a variant, in order.
ClaimStudy study_claims(const ClaimStudySpec& spec, const Prediction& baseline,
                        const std::vector<Prediction>& variants);

std::string text_report(const ClaimStudy& comparison);
Json to_json(const ClaimStudy& comparison);

}  // namespace stepcast
