#include "calibration/fit/step/step_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/estimate.hpp"
#include "models/frameworks/framework.hpp"
#include "models/frameworks/prediction_errors.hpp"
#include "models/scenario/framework_constants.hpp"
#include "report/humane.hpp"
#include "version.hpp"

namespace stepcast {

namespace {

/// A constant of a framework's profile that differs between releases, recipes and hosts.
struct Software {
  const char* key;
  const char* what;
  double spread;  ///< of the logarithm
  double least, most;
  double floor;  ///< what a profile that has less, as 0 where the thing is off, can gain or lose; 0: it stays off
  double (*get)(const FrameworkProfile&);
  void (*set)(FrameworkProfile&, double);
};

// Spreads: those under which one run of a published group predicts the others best (`stepcast calibrate check
// --steps`); about what releases and hosts of one framework differ by (calibration/fit/training/constants.json).
// The shipped profiles' shares of memory traffic lie 0.43 apart (of the logarithm).
// Hooks of data parallelism take from none to 12 % of the computation over the shipped profiles, so theirs is wide.
constexpr std::array kSoftware{
    Software{"host_per_layer_forward_us", "host floor", 0.25, 0, 1e5, 0,
             [](const FrameworkProfile& p) { return p.host_per_layer_forward.in(1_us); },
             [](FrameworkProfile& p, double v) { p.host_per_layer_forward = Seconds(v * 1e-6); }},
    Software{"memory_efficiency", "memory share", 0.5, 0.5, 6, 0,
             [](const FrameworkProfile& p) { return p.memory_efficiency; },
             [](FrameworkProfile& p, double v) { p.memory_efficiency = v; }},
    Software{"tensor_parallel_exposed", "overlap", 0.4, 0, 1, 0,
             [](const FrameworkProfile& p) { return p.tensor_parallel_exposed; },
             [](FrameworkProfile& p, double v) { p.tensor_parallel_exposed = v; }},
    Software{"data_parallel_overhead", "overlap", 1, 0, 0.3, 0.02,
             [](const FrameworkProfile& p) { return p.data_parallel_overhead; },
             [](FrameworkProfile& p, double v) { p.data_parallel_overhead = v; }},
    Software{"step_overhead_ms", "fixed time", 0.3, 0, 1e5, 5,
             [](const FrameworkProfile& p) { return p.step_overhead.in(1_ms); },
             [](FrameworkProfile& p, double v) { p.step_overhead = Seconds(v * 1e-3); }},
};

static_assert(std::equal(kSoftware.begin(), kSoftware.end(), kFittedFrameworkKeys.begin(), kFittedFrameworkKeys.end(),
                         [](const Software& one, std::string_view key) { return one.key == key; }),
              "what a fit writes is what a scenario takes");

// A constant moves no farther: beyond, it is not what releases and hosts differ by, but something else that it would
// hide.
constexpr double kFarthest = 2;  // spreads

// Share of a step that exposed communication takes where a slow network is the first thing to look for.
constexpr double kMuchCommunication = 0.1;

// What a measured step is true to: repeats on one machine lie 2 % apart, and the model's shapes a little more.
constexpr double kMeasured = 0.03;

/// What the fit moves stands for the profile's own value plus what it lacks of the floor, so that a constant that has
/// not moved is the profile's.
double own_value(const Software& one, const FrameworkProfile& shipped, double moved_to) {
  const double lacks = std::max(0.0, one.floor - one.get(shipped));
  return std::clamp(moved_to - lacks, one.least, one.most);
}

const Software* software_of(const std::string& key) {
  for (const Software& one : kSoftware)
    if (key == one.key) return &one;
  return nullptr;
}

Seconds time_of(const Scenario& scenario, std::shared_ptr<const FrameworkProfile> framework) {
  Scenario own = scenario;
  own.framework = std::move(framework);
  return estimate(lower(own)).step_time;
}

std::shared_ptr<const FrameworkProfile> moved(const FrameworkProfile& shipped, const std::vector<const Software*>& what,
                                              const std::vector<double>& values) {
  auto out = std::make_shared<FrameworkProfile>(shipped);
  for (std::size_t i = 0; i < what.size(); ++i) what[i]->set(*out, own_value(*what[i], shipped, values[i]));
  return out;
}

/// How far a measured step can lie from its forecast before something else is the matter.
struct Reach {
  Seconds least, most;
};

/// How far all constants together can move a step, at their farthest.
Reach reach_of(const Scenario& scenario, const std::vector<const Software*>& what,
               const std::vector<PriorConstant>& priors) {
  const auto time_at = [&](double PriorConstant::*end) {
    std::vector<double> values;
    values.reserve(priors.size());
    for (const PriorConstant& prior : priors) values.push_back(prior.*end);
    return time_of(scenario, moved(*scenario.framework, what, values));
  };
  return {time_at(&PriorConstant::least), time_at(&PriorConstant::most)};
}

/// The same with the model's own error, which has nothing to do with the software's: so the squares of both add.
Reach with_own_error(const Reach& software, Seconds forecast, double own_error) {
  const auto off = [&](Seconds end) { return std::hypot(std::log(end / forecast), own_error); };
  return {forecast * std::exp(-off(software.least)), forecast * std::exp(off(software.most))};
}

std::string words_of(const ExpectedError& own) {
  return fmt::format("80 % of like runs took {:.2f} to {:.2f} of their forecast: evidence {}", std::exp(-own.share_80),
                     std::exp(own.share_80), name_of(own.grade));
}

/// A step beyond the reach: what may be the matter.
std::string beyond(const Scenario& scenario, const StepRow& row, const Reach& reach, const ExpectedError& own) {
  const bool slow = row.measured_s > row.before_s;
  std::string out = fmt::format(
      "{}: {} measured, and the {} that such software (two standard deviations) and this model's own error ({}) make "
      "of it is {}: ",
      row.name, humane(Seconds(row.measured_s)), slow ? "slowest" : "quickest", words_of(own),
      humane(slow ? reach.most : reach.least));
  if (!slow) return out + "the scenario is not what ran, or the hardware is better than the catalogue's";
  const StepBreakdown parts = estimate(lower(scenario));
  const double communication = parts.communication_exposed() / parts.step_time;
  return out + (communication > kMuchCommunication
                    ? fmt::format("the network is slower than this model can account for, or something else is wrong "
                                  "({:.0f} % of the predicted step is exposed communication; stepcast calibrate fit "
                                  "measures it)",
                                  100 * communication)
                    : "the devices are slower than this model can account for (clocks, power limits, input, another "
                      "load), or the scenario is not what ran");
}

/// Says of a step that it is beyond what can be explained, or what the constants leave of its gap.
void explain(StepFit& fit, const MeasuredStep& step, const StepRow& row, const Reach& software) {
  const ExpectedError own = expected_error(*step.scenario, prediction_errors());
  const Reach reach = with_own_error(software, Seconds(row.before_s), own.share_80);
  if (step.measured < reach.least || step.measured > reach.most) {
    fit.explained = false;
    fit.words.push_back(beyond(*step.scenario, row, reach, own));
  } else if (std::abs(std::log(row.after_s / row.measured_s)) > kMeasured) {
    fit.left.push_back(fmt::format(
        "{}: {} measured, {} with these constants: the {:.1f} % between them are within this model's own error ({}); "
        "they are not the software's, and predictions with this calibration keep them",
        row.name, humane(Seconds(row.measured_s)), humane(Seconds(row.after_s)), std::abs(row.left_percent()),
        words_of(own)));
  }
}

/// Bounds of a constant in a fit: physical, and no farther from its prior than software lies.
PriorConstant prior_of(const Software& one, double value) {
  const double far = std::exp(kFarthest * one.spread);
  return {one.key, value, one.spread, std::max(one.least, value / far), std::min(one.most, value * far)};
}

}  // namespace

StepFit fit_steps(const std::vector<MeasuredStep>& steps) {
  if (steps.empty()) throw InputError({{"stepcast calibrate step", "", "no measured step", "--step-time 12.3s"}});
  const FrameworkProfile& shipped = *steps.front().scenario->framework;
  for (const MeasuredStep& step : steps)
    if (step.scenario->framework->id != shipped.id)
      throw InputError({{step.name, "/strategy/framework",
                         fmt::format("is {}, the steps before are of {}", step.scenario->framework->id, shipped.id),
                         "calibrate one framework at a time"}});
  std::vector<const Software*> what;
  std::vector<PriorConstant> priors;
  for (const Software& one : kSoftware) {
    const double value = std::max(one.get(shipped), one.floor);
    // A constant that is off (or at its most, as an overlap that there is none of) stays so.
    if (value <= 0 || (one.get(shipped) >= one.most)) continue;
    what.push_back(&one);
    priors.push_back(prior_of(one, value));
  }
  PriorFitRows rows;
  rows.weights.assign(steps.size(), 1);
  rows.predict = [&](const std::vector<double>& values, int, double* residuals) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Scenario& scenario = *steps[i].scenario;
      residuals[i] = std::log(time_of(scenario, moved(*scenario.framework, what, values)) / steps[i].measured);
    }
  };
  const PriorFit found =
      fit_with_priors(priors, rows, {std::vector<double>(priors.size(), 0)}, {.drawn = kMeasured, .step = 1e-3});
  StepFit out;
  out.framework = shipped.id;
  for (std::size_t i = 0; i < what.size(); ++i)
    out.constants.push_back({what[i]->key, what[i]->what, what[i]->get(shipped),
                             own_value(*what[i], shipped, found.values[i]),
                             std::log(found.values[i] / priors[i].prior) / priors[i].spread});
  for (const MeasuredStep& step : steps) {
    StepRow row{step.name, step.measured.value(), time_of(*step.scenario, step.scenario->framework).value(),
                time_of(*step.scenario, moved(*step.scenario->framework, what, found.values)).value()};
    explain(out, step, row, reach_of(*step.scenario, what, priors));
    out.rows.push_back(std::move(row));
  }
  return out;
}

Seconds step_time_with(const Scenario& scenario, const std::vector<SoftwareConstant>& constants) {
  auto framework = std::make_shared<FrameworkProfile>(*scenario.framework);
  for (const SoftwareConstant& constant : constants)
    if (const Software* software = software_of(constant.key)) software->set(*framework, constant.value);
  return time_of(scenario, std::move(framework));
}

std::string step_text(const StepFit& fit) {
  std::string out = fmt::format("software of {}\n{:<30}{:<14}{:>12}{:>12}{:>10}\n", fit.framework, "constant", "",
                                "before", "fitted", "by");
  for (const SoftwareConstant& c : fit.constants)
    out += fmt::format("{:<30}{:<14}{:>12.4g}{:>12.4g}{:>+9.1f}σ\n", c.key, c.what, c.shipped, c.value, c.deviation);
  out += fmt::format("\n{:<40}{:>12}{:>12}{:>12}{:>10}\n", "step", "measured", "before", "after", "left");
  for (const StepRow& row : fit.rows)
    out += fmt::format("{:<40}{:>12}{:>12}{:>12}{:>+8.1f} %\n", row.name, humane(Seconds(row.measured_s)),
                       humane(Seconds(row.before_s)), humane(Seconds(row.after_s)), row.left_percent());
  for (const std::string& line : fit.left) out += "\nleft: " + line + "\n";
  for (const std::string& line : fit.words) out += "\nnot explained: " + line + "\n";
  return out;
}

Json step_json(const StepFit& fit) {
  Json constants = Json::array(), rows = Json::array();
  for (const SoftwareConstant& c : fit.constants)
    constants.push_back({{"key", c.key},
                         {"what", c.what},
                         {"shipped", c.shipped},
                         {"value", c.value},
                         {"moved_by_deviations", c.deviation}});
  for (const StepRow& row : fit.rows)
    rows.push_back({{"name", row.name},
                    {"measured_s", row.measured_s},
                    {"before_s", row.before_s},
                    {"after_s", row.after_s},
                    {"left_percent", row.left_percent()}});
  return {{"framework", fit.framework}, {"explained", fit.explained}, {"constants", std::move(constants)},
          {"rows", std::move(rows)},    {"left", fit.left},           {"not_explained", fit.words}};
}

CalibrationProfile step_calibration(const StepFit& fit, const std::string& name, const std::string& date) {
  CalibrationProfile out;
  out.name = name;
  out.created = date;
  out.tool_version = kVersion;
  out.notes = fit.left;
  Json entry = Json::object();
  for (const SoftwareConstant& c : fit.constants) {
    entry[c.key] = c.value;
    out.constants.push_back({fmt::format("{}/{}", kFrameworkConstants, fit.framework), c.key, c.shipped, c.value,
                             c.value, c.value, fit.rows.size()});
  }
  out.catalogue[std::string(kFrameworkConstants)][fit.framework] = std::move(entry);
  for (const StepRow& row : fit.rows) out.figures.push_back({row.name, "step", row.measured_s, row.after_s, "s"});
  return out;
}

}  // namespace stepcast
