#pragma once

#include <optional>
#include <string>
#include <vector>

#include "checks/baseline.hpp"
#include "checks/check_metric.hpp"
#include "checks/measured/measured_results.hpp"

namespace stepcast {

/// `regression`: worse by more than is tolerated, in a metric that gates. `changed`: the same in one that does not.
enum class Verdict { unchanged, improved, changed, regression };
template <>
struct EnumNames<Verdict> {
  static constexpr std::array names{"unchanged", "improved", "changed", "regression"};
};

/// One figure beside what was expected of it.
struct MetricCheck {
  std::string name;
  double expected = 0, actual = 0;
  double tolerance_percent = 0;  ///< for the worse
  bool gates = false;
  Verdict verdict = Verdict::unchanged;
  /// Relative change, positive when larger; 0 from 0.
  [[nodiscard]] double change() const { return expected != 0 ? actual / expected - 1 : 0; }
};

/// What a check found of one scenario.
struct ScenarioCheck {
  std::string scenario;
  std::vector<MetricCheck> metrics;
  std::vector<std::string> errors;  ///< why it fails whatever its figures say
  std::vector<std::string> notes;   ///< what a reader should know
  bool illegal = false;             ///< nothing can be compared, as an input is bad: `errors` says which
  [[nodiscard]] bool passed() const;
};

enum class CheckKind { baseline, measured, timings };
template <>
struct EnumNames<CheckKind> {
  static constexpr std::array names{"baseline", "measured", "timings"};
};

struct CheckReport {
  CheckKind kind = CheckKind::baseline;
  std::string against;  ///< file of the baseline or of the measured results
  std::vector<ScenarioCheck> scenarios;
  [[nodiscard]] bool passed() const;
  /// As the command line has it: 0, 1 where something failed, 2 where nothing could be compared.
  [[nodiscard]] int exit_code() const;
};

/// Gives a check its verdict by its tolerance. `better_percent`: how far better counts as improved.
void judge(MetricCheck& check, WorseWhen worse, double better_percent);

/// A forecast beside the accepted one. `given` tolerances come before those of the baseline.
ScenarioCheck check_against_baseline(const std::string& scenario, const Prediction& now, const BaselineEntry& accepted,
                                     const Tolerances& of_baseline, const Tolerances& given);

/// A measured run beside its forecast. Without a tolerance of its own a metric is bounded by the interval that holds 80
/// of 100 like runs. Steps of `warmup` at the start do not count; by default a tenth of them.
ScenarioCheck check_against_measured(const std::string& scenario, const Prediction& forecast,
                                     const MeasuredResults& run, const Tolerances& given,
                                     std::optional<std::size_t> warmup);

std::string check_text(const CheckReport& report);
std::string check_markdown(const CheckReport& report);
/// JUnit XML: a suite a scenario, a case a metric.
std::string check_junit(const CheckReport& report);
Json check_json(const CheckReport& report);

}  // namespace stepcast
