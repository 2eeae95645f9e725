#include "calibration/fit/step/step_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/estimate.hpp"
#include "models/frameworks/framework.hpp"
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

// From here on a constant is not what releases and hosts differ by, but something else that it would hide.
constexpr double kFarthest = 2;  // spreads

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

/// How far all constants together can move a step, at their farthest.
struct Reach {
  double least = 0, most = 0;
};

Reach reach_of(const MeasuredStep& step, const std::vector<const Software*>& what,
               const std::vector<PriorConstant>& priors) {
  Reach out;
  for (const double side : {-kFarthest, kFarthest}) {
    std::vector<double> values;
    values.reserve(priors.size());
    for (const PriorConstant& prior : priors)
      values.push_back(std::clamp(prior.prior * std::exp(side * prior.spread), prior.least, prior.most));
    (side < 0 ? out.least : out.most) = time_of(*step.scenario, moved(*step.scenario->framework, what, values)).value();
  }
  return out;
}

void explain(StepFit& fit, const MeasuredStep& step, const StepRow& row, const Reach& reach) {
  const double gap = row.after_s / row.measured_s - 1;
  const bool within = reach.least <= row.measured_s && row.measured_s <= reach.most;
  if (std::abs(gap) <= kUnexplained && within) return;
  fit.explained = false;
  const StepBreakdown parts = estimate(lower(*step.scenario));
  const double communication = parts.communication_exposed() / parts.step_time;
  if (within ? gap < 0 : row.measured_s > reach.most) {
    fit.words.push_back(fmt::format(
        "{}: {} measured, and the slowest that such software makes of it (two standard deviations) is {}: {}", row.name,
        humane(Seconds(row.measured_s)), humane(Seconds(reach.most)),
        communication > 0.1
            ? fmt::format(
                  "the network is slower than this model can account for, or something else is wrong ({:.0f} % of "
                  "the predicted step is exposed communication; stepcast calibrate fit measures it)",
                  100 * communication)
            : "the devices are slower than this model can account for (clocks, power limits, input, another load), or "
              "the "
              "scenario is not what ran"));
  } else {
    fit.words.push_back(
        fmt::format("{}: {} measured, and the quickest that such software makes of it (two standard deviations) is {}: "
                    "the scenario "
                    "is not what ran, or the hardware is better than the catalogue's",
                    row.name, humane(Seconds(row.measured_s)), humane(Seconds(reach.least))));
  }
}

/// Steps that are within reach one by one may still ask too much of one constant.
void refuse_far_constants(StepFit& fit) {
  if (!fit.explained) return;
  for (const SoftwareConstant& constant : fit.constants) {
    if (std::abs(constant.deviation) <= kFarthest) continue;
    fit.explained = false;
    fit.words.push_back(
        fmt::format("{} would be {:.4g}, {:+.1f} standard deviations from {:.4g} before: something else makes "
                    "these steps {}",
                    constant.key, constant.value, constant.deviation, constant.shipped,
                    fit.rows.front().measured_s > fit.rows.front().before_s ? "slow" : "quick"));
  }
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
    priors.push_back({one.key, value, one.spread, one.least, one.most});
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
                             own_value(*what[i], shipped, found.values[i]), found.place[i]});
  for (const MeasuredStep& step : steps) {
    StepRow row{step.name, step.measured.value(), time_of(*step.scenario, step.scenario->framework).value(),
                time_of(*step.scenario, moved(*step.scenario->framework, what, found.values)).value()};
    explain(out, step, row, reach_of(step, what, priors));
    out.rows.push_back(std::move(row));
  }
  refuse_far_constants(out);
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
  out += fmt::format("\n{:<40}{:>12}{:>12}{:>12}\n", "step", "measured", "before", "after");
  for (const StepRow& row : fit.rows)
    out += fmt::format("{:<40}{:>12}{:>12}{:>12}\n", row.name, humane(Seconds(row.measured_s)),
                       humane(Seconds(row.before_s)), humane(Seconds(row.after_s)));
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
    rows.push_back(
        {{"name", row.name}, {"measured_s", row.measured_s}, {"before_s", row.before_s}, {"after_s", row.after_s}});
  return {{"framework", fit.framework},
          {"explained", fit.explained},
          {"constants", std::move(constants)},
          {"rows", std::move(rows)},
          {"not_explained", fit.words}};
}

CalibrationProfile step_calibration(const StepFit& fit, const std::string& name, const std::string& date) {
  CalibrationProfile out;
  out.name = name;
  out.created = date;
  out.tool_version = kVersion;
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
