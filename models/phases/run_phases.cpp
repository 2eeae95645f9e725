#include "models/phases/run_phases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/convergence/target.hpp"
#include "models/phases/evaluation_step.hpp"
#include "models/updates/closed_step.hpp"

namespace stepcast {

namespace {

/// Of the stated work, what rounding leaves of phases that add up to it.
constexpr double kNothingLeft = 1e-12;

/// A step as it is without simulation, on the devices that it has.
struct PhaseStep {
  PowerModel power;
  Seconds time;
  Watts device_power;
  double batch = 0;
  int seq_len = 0, devices = 0;
  std::optional<UpdateOutcome> updates;  ///< null: as in the run's step
};

PhaseStep phase_step(const Scenario& scenario, const PredictedStep& step) {
  return {power_model(scenario), step.time,
          step.device_power,     static_cast<double>(scenario.spec.workload.global_batch),
          scenario.seq_len,      scenario.devices(),
          std::nullopt};
}

PhaseStep phase_step(const Job& job) {
  ClosedStep step = closed_step_of(job);
  PhaseStep out = phase_step(*job.scenario, {step.breakdown.step_time, step.breakdown.average_device_power});
  out.updates = std::move(step.updates);
  return out;
}

/// Taken for the run's own, steps of a phase that differs would be wrong without a word.
void require_scenarios(const Scenario& scenario) {
  const RunSpec& run = scenario.spec.run;
  if (phases_differ(run) && scenario.phases.size() != 2 * run.phases.size())
    throw std::logic_error("the phases of a run that differ have no scenarios");
}

class Phases {
 public:
  Phases(const Job& job, const PredictedStep& step)
      : scenario_(*job.scenario),
        own_(scenario_.spec.run.phases.empty() ? phase_step(scenario_, step) : phase_step(job)) {
    own_.updates.reset();
    slower_ = step.time / own_.time;
    hotter_ = own_.device_power > Watts(0) ? step.device_power / own_.device_power : 1;
  }

  std::vector<PhaseCost> all() {
    const std::vector<PhaseSpec>& specs = scenario_.spec.run.phases;
    if (specs.empty()) return whole_run();
    std::vector<PhaseCost> out(specs.size());
    for (std::size_t i = 0; i < specs.size(); ++i) {
      out[i].name = specs[i].name.empty() ? std::string(name_of(specs[i].kind)) : specs[i].name;
      out[i].kind = specs[i].kind;
      if (!specs[i].set.empty()) out[i].scenario = scenario_.phases[2 * i];
      if (specs[i].kind == PhaseKind::train) train(out[i], specs[i], i);
    }
    take_rest(out, specs);
    // How often the run is evaluated follows from the steps that it trains.
    double trained = 0;
    for (const PhaseCost& phase : out) trained += phase.steps;
    for (std::size_t i = 0; i < specs.size(); ++i)
      if (specs[i].kind != PhaseKind::train) beside(out[i], specs[i], i, trained);
    return out;
  }

 private:
  std::vector<PhaseCost> whole_run() {
    const std::optional<double> steps = steps_to_train(scenario_);
    if (!steps) return {};
    PhaseCost phase;
    phase.name = "training";
    add_steps(phase, own_, *steps);
    return {phase};
  }

  PhaseStep step_of(std::size_t entry) {
    const bool own = entry >= scenario_.phases.size() || scenario_.phases[entry] == nullptr;
    return own ? own_ : phase_step(lower(*scenario_.phases[entry]));
  }

  void train(PhaseCost& phase, const PhaseSpec& spec, std::size_t index) {
    const PhaseStep start = step_of(2 * index);
    phase.updates = start.updates;
    if (spec.global_batch_end) {
      const Ramp ramp(start, step_of(2 * index + 1));
      phase.updates = mean_updates(start, ramp.end);
      add_ramp(phase, ramp, ramp_samples(spec, ramp).value_or(0));
    } else if (const auto samples = samples_of(spec, start)) {
      add_steps(phase, start, std::ceil(*samples / start.batch - 1e-9));
    } else if (spec.time) {
      add_steps(phase, start, std::floor(*spec.time / (start.time * slower_) + 1e-9));
    }
    if (!spec.time) return;
    phase.time = phase.device_time = Seconds(0);
    phase.energy = Joules(0);
    add_time(phase, start, *spec.time, start.device_power * hotter_);
  }

  /// Of a ramp, with the mean of its ends' idle times, as its power is the mean of theirs.
  static std::optional<UpdateOutcome> mean_updates(const PhaseStep& start, const PhaseStep& end) {
    std::optional<UpdateOutcome> out = start.updates;
    if (out && out->actors && end.updates && end.updates->actors)
      out->actors->idle = (out->actors->idle + end.updates->actors->idle) / 2;
    return out;
  }

  static std::optional<double> samples_of(const PhaseSpec& spec, const PhaseStep& step) {
    if (spec.samples) return *spec.samples;
    if (spec.tokens && step.seq_len > 0) return *spec.tokens / step.seq_len;
    if (spec.steps) return *spec.steps * step.batch;
    return std::nullopt;
  }

  /// A batch that grows linearly with the samples, and a step time linear in it, t(b) = α + β·b.
  struct Ramp {
    Ramp(PhaseStep first, PhaseStep last) : start(std::move(first)), end(std::move(last)) {
      const double growth = end.batch - start.batch;
      const bool flat = std::abs(growth) < 0.5;
      steps_per_sample = flat ? 1 / start.batch : std::log(end.batch / start.batch) / growth;
      if (!flat) per_sample = (end.time - start.time) / growth;
      fixed = start.time - per_sample * start.batch;
    }
    /// ∫ t(b)/b ds over a sample.
    [[nodiscard]] Seconds sample_time() const { return fixed * steps_per_sample + per_sample; }

    PhaseStep start, end;
    double steps_per_sample = 0;  ///< ∫ ds/b over a sample
    Seconds fixed, per_sample;    ///< α and β
  };

  [[nodiscard]] std::optional<double> ramp_samples(const PhaseSpec& spec, const Ramp& ramp) const {
    if (spec.steps) return *spec.steps / ramp.steps_per_sample;
    if (const auto samples = samples_of(spec, ramp.start)) return samples;
    if (spec.time) return *spec.time / (ramp.sample_time() * slower_);
    return std::nullopt;
  }

  /// The phase that states no amount trains on what the workload states and no other phase does.
  void take_rest(std::vector<PhaseCost>& out, const std::vector<PhaseSpec>& specs) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
      const PhaseSpec& spec = specs[i];
      if (spec.kind != PhaseKind::train || spec.samples || spec.tokens || spec.steps || spec.time) continue;
      const std::optional<double> steps = steps_to_train(scenario_);
      if (!steps) refuse_rest(i, "the workload states no work that it could take the rest of", "workload.tokens");
      double done = 0;
      for (const PhaseCost& other : out) done += other.worth;
      const PhaseStep step = step_of(2 * i);
      out[i].updates = step.updates;
      const double of_sample = step.seq_len > 0 ? step.seq_len : 1;
      const double all = *steps * own_.batch * (step.seq_len > 0 ? own_.seq_len : 1) / work_factor(scenario_);
      const double left = all - done;
      if (!(left > kNothingLeft * all))
        refuse_rest(i, "the other phases train on all of the workload's", "a larger workload.tokens");
      const double samples = left * work_factor(scenario_, step.batch) / of_sample;
      add_steps(out[i], step, std::ceil(samples / step.batch - 1e-9));
      return;
    }
  }

  [[noreturn]] static void refuse_rest(std::size_t phase, const char* why, const char* else_) {
    throw InputError({{"", fmt::format("/run/phases/{}", phase), fmt::format("says no amount, and {}", why),
                       fmt::format("tokens, samples or steps here, or {}", else_)}});
  }

  void add_steps(PhaseCost& phase, const PhaseStep& step, double steps) {
    phase.steps += steps;
    add_work(phase, step, steps * step.batch, 1 / work_factor(scenario_, step.batch));
    add_time(phase, step, steps * step.time * slower_, step.device_power * hotter_);
  }

  /// `worth`: of the stated work, what a sample stands for.
  static void add_work(PhaseCost& phase, const PhaseStep& step, double samples, double worth) {
    phase.samples += samples;
    phase.tokens += samples * step.seq_len;
    phase.worth += samples * (step.seq_len > 0 ? step.seq_len : 1) * worth;
  }

  static void add_time(PhaseCost& phase, const PhaseStep& step, Seconds time, Watts device_power) {
    phase.time += time;
    phase.device_time += time * step.devices;
    phase.energy += step.power.cluster_at_meter(device_power) * time;
  }

  void add_ramp(PhaseCost& phase, const Ramp& ramp, double samples) {
    phase.steps += samples * ramp.steps_per_sample;
    add_work(phase, ramp.start, samples, mean_worth(scenario_, ramp.start.batch, ramp.end.batch));
    add_time(phase, ramp.start, ramp.sample_time() * samples * slower_,
             (ramp.start.device_power + ramp.end.device_power) / 2 * hotter_);
  }

  /// Evaluation, start-up and compilation.
  void beside(PhaseCost& phase, const PhaseSpec& spec, std::size_t index, double trained) {
    phase.times = spec.times.value_or(spec.every_steps ? std::floor(trained / *spec.every_steps) : 1);
    if (phase.kind == PhaseKind::evaluation) return evaluate(phase, spec, index);
    if (spec.time) add_time(phase, own_, *spec.time * phase.times, own_.power.device_idle);
  }

  void evaluate(PhaseCost& phase, const PhaseSpec& spec, std::size_t index) {
    const bool own = 2 * index >= scenario_.phases.size() || scenario_.phases[2 * index] == nullptr;
    const Job job = lower(own ? scenario_ : *scenario_.phases[2 * index]);
    const EvaluationStep forward = evaluation_step(job, power_model(*job.scenario));
    const PhaseStep step = phase_step(*job.scenario, {forward.time, forward.device_power});
    const double samples = samples_of(spec, step).value_or(0) * phase.times;
    add_work(phase, step, samples, 0);
    const Seconds time = spec.time ? *spec.time * phase.times : forward.time * (samples / step.batch);
    add_time(phase, step, time, forward.device_power);
  }

  const Scenario& scenario_;
  PhaseStep own_;
  double slower_ = 1, hotter_ = 1;
};

}  // namespace

bool phases_differ(const RunSpec& run) {
  return std::any_of(run.phases.begin(), run.phases.end(), [](const PhaseSpec& phase) {
    return phase.global_batch || phase.global_batch_end || phase.seq_len || !phase.set.empty();
  });
}

std::vector<PhaseCost> run_phases(const Job& job, const PredictedStep& step) {
  require_scenarios(*job.scenario);
  return Phases(job, step).all();
}

std::vector<PhaseScenario> training_scenarios(const Scenario& scenario) {
  std::vector<PhaseScenario> out;
  for (std::size_t entry = 0; entry < scenario.phases.size(); ++entry) {
    const PhaseSpec& phase = scenario.spec.run.phases[entry / 2];
    if (phase.kind != PhaseKind::train || scenario.phases[entry] == nullptr) continue;
    out.push_back({phase.name.empty() ? fmt::format("phase {}", entry / 2 + 1) : phase.name, scenario.phases[entry]});
  }
  return out;
}

}  // namespace stepcast
