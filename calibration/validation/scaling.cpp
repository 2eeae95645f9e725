#include "calibration/validation/scaling.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/validation/statistics.hpp"

namespace stepcast {

namespace {

bool compared(const PredictedRun& run) {
  return run.covered() && run.run.metric == Metric::samples_per_s && !run.run.scaling_group.empty();
}

/// A group's smallest size, and the sums of the rates there.
struct Base {
  int devices = std::numeric_limits<int>::max();
  double predicted = 0, measured = 0;
};

void take(Base& base, const PredictedRun& run) {
  if (run.run.gpus > base.devices) return;
  if (run.run.gpus < base.devices) base = {run.run.gpus};
  base.predicted += *run.predicted;
  base.measured += run.run.measured;
}

/// Gains by the mean rates of a base's rows would need their number on both sides of the fraction: it cancels.
double gain_error(const PredictedRun& run, const Base& base) {
  return 100 * absolute_error(*run.predicted / base.predicted, run.run.measured / base.measured);
}

double efficiency_error(const PredictedRun& run, const Base& base) {
  const double devices = static_cast<double>(run.run.gpus) / base.devices;
  return 100 * std::abs(*run.predicted / base.predicted - run.run.measured / base.measured) / devices;
}

std::string family_of(const std::string& framework) {
  const auto end =
      std::find_if(framework.begin(), framework.end(), [](unsigned char letter) { return std::isalpha(letter) == 0; });
  return {framework.begin(), end};
}

}  // namespace

ScalingScore scaling_score(const std::vector<const PredictedRun*>& runs) {
  std::map<std::string, Base> bases;
  for (const PredictedRun* run : runs)
    if (compared(*run)) take(bases[run->run.scaling_group], *run);
  ScalingScore out;
  std::vector<double> gains, efficiencies, one_device;
  for (const PredictedRun* run : runs) {
    if (!compared(*run)) continue;
    if (run->run.gpus == 1) one_device.push_back(100 * run->error());
    const Base& base = bases.at(run->run.scaling_group);
    if (run->run.gpus == base.devices) continue;
    gains.push_back(gain_error(*run, base));
    efficiencies.push_back(efficiency_error(*run, base));
  }
  out.rows = gains.size();
  out.mape = mean(gains);
  out.efficiency_points = mean(efficiencies);
  out.one_device_rows = one_device.size();
  out.one_device_mape = mean(one_device);
  return out;
}

std::map<std::string, ScalingScore> scaling_by_framework(const std::vector<const PredictedRun*>& runs) {
  std::map<std::string, std::vector<const PredictedRun*>> families;
  for (const PredictedRun* run : runs)
    if (compared(*run)) families[family_of(run->run.framework)].push_back(run);
  std::map<std::string, ScalingScore> out;
  for (const auto& [family, of_it] : families)
    if (ScalingScore score = scaling_score(of_it); score.rows > 0) out[family] = score;
  return out;
}

void set_scaling(AccuracyFigures& out, const ScalingScore& score) {
  out.scaling_rows = score.rows;
  out.scaling_mape = score.mape;
  out.scaling_efficiency_points = score.efficiency_points;
  out.one_device_rows = score.one_device_rows;
  out.one_device_mape = score.one_device_mape;
}

}  // namespace stepcast
