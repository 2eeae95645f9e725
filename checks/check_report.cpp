#include "checks/check_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "calibration/validation/statistics.hpp"
#include "fields/diagnostics.hpp"

namespace stepcast {

namespace {

/// Percent by which the worse value lies beyond the expected one; negative when it is better.
double worsening(const MetricCheck& check, WorseWhen worse) {
  const double change = 100 * check.change();
  return worse == WorseWhen::higher ? change : -change;
}

const double* tolerance_of(const std::string& name, const Tolerances& tolerances) {
  const auto found = tolerances.find(name);
  return found == tolerances.end() ? nullptr : &found->second;
}

void note_what_else_changed(ScenarioCheck& out, const Prediction& now, const BaselineEntry& accepted) {
  if (now.version != accepted.version)
    out.notes.push_back(fmt::format("the baseline is of version {}, this is {}", accepted.version, now.version));
  if (now.catalog_hash != accepted.catalog_hash)
    out.notes.push_back(fmt::format("parts of the catalogue are other than the baseline's ({}, now {})",
                                    accepted.catalog_hash, now.catalog_hash));
  if (accepted.memory_fits && !now.memory.fits) out.errors.emplace_back("the step no longer fits memory");
}

double median_of(const std::vector<double>& samples) { return *quantile(samples, 0.5); }

}  // namespace

void judge(MetricCheck& check, WorseWhen worse, double better_percent) {
  // What was nothing and is something now has no percentage.
  if (check.expected == 0 && check.actual != 0) {
    check.verdict = check.gates && worse == WorseWhen::higher ? Verdict::regression : Verdict::changed;
    return;
  }
  // Twelve digits are kept of a baseline; less than that is no change.
  constexpr double kRounding = 1e-8;  // %
  const double by = worsening(check, worse);
  if (by > check.tolerance_percent + kRounding) {
    check.verdict = check.gates ? Verdict::regression : Verdict::changed;
  } else if (-by > better_percent + kRounding) {
    check.verdict = check.gates ? Verdict::improved : Verdict::changed;
  }
}

bool ScenarioCheck::passed() const {
  return errors.empty() &&
         std::none_of(metrics.begin(), metrics.end(), [](const auto& m) { return m.verdict == Verdict::regression; });
}

bool CheckReport::passed() const {
  return std::all_of(scenarios.begin(), scenarios.end(), [](const auto& s) { return s.passed(); });
}

int CheckReport::exit_code() const {
  if (std::any_of(scenarios.begin(), scenarios.end(), [](const auto& s) { return s.illegal; })) return 2;
  return passed() ? 0 : 1;
}

ScenarioCheck check_against_baseline(const std::string& scenario, const Prediction& now, const BaselineEntry& accepted,
                                     const Tolerances& of_baseline, const Tolerances& given) {
  ScenarioCheck out{scenario, {}, {}, {}};
  if (now.fidelity != accepted.fidelity) {
    const Fault fault{scenario, "",
                      fmt::format("the baseline is {}, this forecast is {}: they cannot be compared", accepted.fidelity,
                                  now.fidelity),
                      fmt::format("forecast with --fidelity {}, or accept this one with --update", accepted.fidelity)};
    out.errors.push_back(fault.text());
    out.illegal = true;
    return out;
  }
  note_what_else_changed(out, now, accepted);
  const bool has_tokens = accepted.metrics.contains("tokens_per_s") && now.tokens_per_s > 0;
  for (const CheckMetric& metric : check_metrics()) {
    const std::string name(metric.name);
    const auto before = accepted.metrics.find(name);
    const auto value = metric.read(now);
    if (before == accepted.metrics.end() && !value) continue;
    if (before == accepted.metrics.end() || !value) {
      out.notes.push_back(fmt::format("{} is {}", name, value ? "new" : "no longer known"));
      continue;
    }
    MetricCheck check{name, before->second, *value, kBaselineTolerance};
    const double* tolerance = tolerance_of(name, given);
    if (tolerance == nullptr) tolerance = tolerance_of(name, of_baseline);
    if (tolerance != nullptr) check.tolerance_percent = *tolerance;
    const bool counts_samples_beside_tokens = metric.name == "samples_per_s" && has_tokens;
    check.gates = tolerance != nullptr || (metric.gates_baseline && !counts_samples_beside_tokens);
    judge(check, metric.worse, check.tolerance_percent);
    out.metrics.push_back(std::move(check));
  }
  return out;
}

ScenarioCheck check_against_measured(const std::string& scenario, const Prediction& forecast,
                                     const MeasuredResults& run, const Tolerances& given,
                                     std::optional<std::size_t> warmup) {
  ScenarioCheck out{scenario, {}, {}, run.notes};
  bool gated = false;
  std::vector<std::string> none_left;
  for (const CheckMetric& metric : check_metrics()) {
    const std::string name(metric.name);
    const auto found = run.samples.find(name);
    const auto expected = metric.read(forecast);
    if (found == run.samples.end() || !expected) continue;
    const std::vector<double> steady = after_warmup(found->second, warmup);
    if (steady.empty()) {
      none_left.push_back(fmt::format("{} of {}", count_of(found->second), name));
      continue;
    }
    MetricCheck check{name, *expected, median_of(steady)};
    // The interval is of the step time, [t/f, t·f]; throughput is bounded by its inverse.
    const double share = forecast.expected_error.share_80;
    const double slower = 100 * std::expm1(share), faster = -100 * std::expm1(-share);
    const bool higher = metric.worse == WorseWhen::higher;
    check.tolerance_percent = higher ? slower : faster;
    double better = higher ? faster : slower;
    check.gates = metric.gates_measured;
    if (const double* tolerance = tolerance_of(name, given)) {
      check.tolerance_percent = better = *tolerance;
      check.gates = true;
    }
    gated = gated || check.gates;
    judge(check, metric.worse, better);
    out.notes.push_back(
        fmt::format("{}: median of {} of {} samples{}", name, steady.size(), count_of(found->second),
                    found->second.size() > 1 ? fmt::format(" of {} series", found->second.size()) : std::string()));
    out.metrics.push_back(std::move(check));
  }
  if (!none_left.empty()) {
    out.errors.push_back(fmt::format("no sample is left after the warm-up: {}", fmt::join(none_left, ", ")));
  } else if (!gated) {
    out.errors.emplace_back("the measured results hold no step time or throughput to compare");
  }
  out.illegal = !out.errors.empty();
  return out;
}

}  // namespace stepcast
