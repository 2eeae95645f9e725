#include "models/frameworks/prediction_errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "fields/data_directory.hpp"
#include "models/scenario/node_kinds.hpp"

namespace stepcast {

namespace {

/// Runs from which the errors of a framework on an accelerator say something.
constexpr double kFewestRuns = 5;

/// Where neither the framework nor the accelerator was ever measured with a kind of workload, errors of a new framework
/// are taken twice: their variances add, and a new accelerator's is taken as large. Estimated; nothing measures it.
constexpr double kNeither = 1.41;

/// |ln| of an error in per cent.
double share(double percent) { return std::log1p(percent / 100); }

}  // namespace

const FieldTable<RunErrors>& RunErrors::fields() {
  using R = RunErrors;
  static const FieldTable<R> table =
      FieldTable<R>("run errors", "How far off predictions of a framework's runs on an accelerator were")
          .field("framework", &R::framework, "Framework profile", {.required = true})
          .field("workload", &R::kind, "Kind of workload", {.required = true})
          .field("accelerator", &R::accelerator, "Accelerator", {.required = true})
          .field("runs", &R::runs, "Measured runs", {.required = true, .min = 1})
          .field("error_80_percent", &R::own_model, "80 % of them were no further off, their model left out of the fit",
                 {.required = true, .min = 0})
          .field("unfitted_80_percent", &R::unfitted, "The same with the framework left out",
                 {.required = true, .min = 0});
  return table;
}

const FieldTable<FrameworkErrors>& FrameworkErrors::fields() {
  using F = FrameworkErrors;
  static const FieldTable<F> table =
      FieldTable<F>("framework errors", "How far off predictions of a framework's runs were, on all accelerators")
          .field("framework", &F::framework, "Framework profile", {.required = true})
          .field("workload", &F::kind, "Kind of workload", {.required = true})
          .field("runs", &F::runs, "Measured runs", {.required = true, .min = 1})
          .field("other_accelerator_80_percent", &F::other_accelerator,
                 "80 % of them were no further off, their accelerator left out of the fit; 0: there is one only",
                 {.min = 0})
          .field("unfitted_80_percent", &F::unfitted, "The same with the framework left out",
                 {.required = true, .min = 0});
  return table;
}

const FieldTable<FitErrors>& FitErrors::fields() {
  using F = FitErrors;
  static const FieldTable<F> table =
      FieldTable<F>("fit errors", "Errors of one fit in cross-validation")
          .field("source", &F::source, "The fit that says so", {.required = true})
          .field("frameworks", &F::frameworks, "By framework and kind of workload", {.required = true})
          .field("runs", &F::runs, "The same by accelerator", {.required = true});
  return table;
}

const FieldTable<PredictionErrors>& PredictionErrors::fields() {
  using P = PredictionErrors;
  static const FieldTable<P> table = FieldTable<P>("prediction errors", "Errors of predictions in cross-validation")
                                         .field("fits", &P::fits, "By list of constants", {.required = true})
                                         .field("accelerator_families", &P::accelerator_families,
                                                "Compute profile of each accelerator", {.required = true});
  return table;
}

PredictionErrors read_prediction_errors(const std::filesystem::path& file) {
  Diagnostics faults(file.string());
  const Json document = read_json(file, faults);
  faults.throw_if_faulty();
  auto out = read_document<PredictionErrors>(document, faults);
  faults.throw_if_faulty();
  return out;
}

const PredictionErrors& prediction_errors() {
  static const PredictionErrors kErrors =
      read_prediction_errors(data_directory("models/frameworks") / "prediction-errors.json");
  return kErrors;
}

double PredictionErrors::other_framework(WorkloadKind kind) const {
  std::array<double, EnumNames<WorkloadKind>::names.size()> sums{}, counts{};
  for (const auto& [list, fit] : fits)
    for (const FrameworkErrors& one : fit.frameworks) {
      if (one.runs < kFewestRuns) continue;
      sums[static_cast<std::size_t>(one.kind)] += one.unfitted;
      counts[static_cast<std::size_t>(one.kind)] += 1;
    }
  const auto mean = [&](std::size_t i) { return counts[i] > 0 ? sums[i] / counts[i] : 0; };
  if (counts[static_cast<std::size_t>(kind)] > 0) return mean(static_cast<std::size_t>(kind));
  double largest = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) largest = std::max(largest, mean(i));
  return largest;
}

namespace {

/// What the fits know of one framework, accelerator and kind of workload. Where two fits have runs of the same, the one
/// with more of them counts.
class Known {
 public:
  Known(const PredictionErrors& errors, std::string framework, const Accelerator* accelerator, WorkloadKind kind)
      : errors_(errors),
        framework_(std::move(framework)),
        accelerator_(accelerator != nullptr ? accelerator->id : ""),
        family_(accelerator != nullptr ? accelerator->family : ""),
        kind_(kind) {
    for (const auto& [list, fit] : errors.fits) {
      for (const RunErrors& one : fit.runs) add(one);
      for (const FrameworkErrors& one : fit.frameworks)
        if (one.framework == framework_ && one.kind == kind_ && one.runs > own_.runs) own_ = one;
    }
  }

  [[nodiscard]] ExpectedError error() const {
    const std::string_view kinds = plural_of(kind_);
    if (together_.runs >= kFewestRuns)
      return {EvidenceGrade::together, share(together_.own_model),
              fmt::format("{} measured runs of {} on {}, {}", together_.runs, framework_, accelerator_, kinds)};
    const double other = own_.other_accelerator > 0 ? own_.other_accelerator : errors_.other_framework(kind_);
    if (sibling_.runs >= kFewestRuns)
      return {EvidenceGrade::apart, share(other),
              fmt::format("{} of {} measured on {}, a sibling of {}", kinds, framework_, sibling_.accelerator,
                          accelerator_)};
    if (own_.runs > 0 && on_accelerator_ > 0)
      return {EvidenceGrade::apart, share(other),
              fmt::format("{} of {} measured on other accelerators, on {} with other frameworks", kinds, framework_,
                          accelerator_)};
    if (kind_ == WorkloadKind::diffusion_transformer) return of_transformers();
    const double unfitted = errors_.other_framework(kind_);
    if (own_.runs > 0)
      return {EvidenceGrade::one, share(unfitted),
              fmt::format("{} of {} measured, none on this hardware{}", kinds, framework_, of_others())};
    if (on_accelerator_ > 0)
      return {EvidenceGrade::one, share(std::max(unfitted, on_accelerator_error())),
              fmt::format("{} measured on {}, none of {}{}", kinds, accelerator_, framework_, of_others())};
    if (!pair_kinds_.empty())
      return {EvidenceGrade::one, share(unfitted),
              fmt::format("no {} measured with {} or on {}{}", kinds, framework_, accelerator_, of_others())};
    return {EvidenceGrade::none, kNeither * share(unfitted),
            fmt::format("no {} measured with {}, none on this hardware", kinds, framework_)};
  }

 private:
  /// No fit has runs of diffusion transformers. Their operators are transformers', so errors of those with a framework
  /// that was never measured are taken, twice.
  [[nodiscard]] ExpectedError of_transformers() const {
    const double unfitted = errors_.other_framework(WorkloadKind::transformer);
    return {EvidenceGrade::one, kNeither * share(unfitted),
            "no diffusion transformers measured; their operators are those of transformers"};
  }

  void add(const RunErrors& one) {
    const bool same_framework = one.framework == framework_, here = one.accelerator == accelerator_;
    if (one.kind != kind_) {
      if (same_framework && here) pair_kinds_.insert(one.kind);
      return;
    }
    if (here) {
      on_accelerator_ += one.runs;
      weighted_ += one.runs * one.unfitted;
    }
    if (!same_framework) return;
    if (here && one.runs > together_.runs) together_ = one;
    const auto family = errors_.accelerator_families.find(one.accelerator);
    if (!here && family != errors_.accelerator_families.end() && family->second == family_ && one.runs > sibling_.runs)
      sibling_ = one;
  }

  /// Of other frameworks' runs of the kind on the accelerator, were their framework new; 0: too few.
  [[nodiscard]] double on_accelerator_error() const {
    return on_accelerator_ < kFewestRuns ? 0 : weighted_ / on_accelerator_;
  }

  /// "; jax on tpu-v4 was measured with transformers"
  [[nodiscard]] std::string of_others() const {
    if (pair_kinds_.empty()) return {};
    std::vector<std::string_view> words;
    for (const WorkloadKind kind : pair_kinds_) words.push_back(plural_of(kind));
    return fmt::format("; {} on {} was measured with {} only", framework_, accelerator_, fmt::join(words, ", "));
  }

  const PredictionErrors& errors_;
  std::string framework_, accelerator_, family_;
  WorkloadKind kind_;
  RunErrors together_, sibling_;  ///< of the framework, here and on the sibling with most runs
  FrameworkErrors own_;           ///< of the framework, anywhere
  double on_accelerator_ = 0;     ///< runs of any framework here
  double weighted_ = 0;           ///< their errors were their framework new, each times its runs
  std::set<WorkloadKind> pair_kinds_;
};

}  // namespace

ExpectedError expected_error(const Scenario& scenario, const PredictionErrors& errors) {
  const WorkloadKind workload = workload_kind(*scenario.model);
  const std::vector<NodeKind> kinds = node_kinds(scenario);
  std::optional<ExpectedError> worst;
  double widest = 0;
  for (const NodeKind& kind : kinds) {
    ExpectedError error = Known(errors, kind.scenario->framework->id, kind.scenario->accelerator, workload).error();
    widest = std::max(widest, error.share_80);
    if (!worst || std::pair(error.grade, error.share_80) > std::pair(worst->grade, worst->share_80))
      worst = std::move(error);
  }
  worst->share_80 = widest;
  if (kinds.size() > 1) {
    // Runs of each kind by itself are runs apart.
    worst->grade = std::max(worst->grade, EvidenceGrade::apart);
    worst->why += "; the mix of nodes was not measured";
  }
  return std::move(*worst);
}

}  // namespace stepcast
