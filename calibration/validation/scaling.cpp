#include "calibration/validation/scaling.hpp"

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

}  // namespace

ScalingScore scaling_score(const std::vector<const PredictedRun*>& runs) {
  std::map<std::string, Base> bases;
  for (const PredictedRun* run : runs)
    if (compared(*run)) take(bases[run->run.scaling_group], *run);
  std::vector<double> errors, one_device;
  for (const PredictedRun* run : runs) {
    if (!compared(*run)) continue;
    if (run->run.gpus == 1) one_device.push_back(100 * run->error());
    const Base& base = bases.at(run->run.scaling_group);
    if (run->run.gpus != base.devices) errors.push_back(gain_error(*run, base));
  }
  return {errors.size(), mean(errors), mean(one_device), one_device.size()};
}

void set_scaling(AccuracyFigures& out, const ScalingScore& score) {
  out.scaling_rows = score.rows;
  out.scaling_mape = score.mape;
  out.one_device_rows = score.one_device_rows;
  out.one_device_mape = score.one_device_mape;
}

}  // namespace stepcast
