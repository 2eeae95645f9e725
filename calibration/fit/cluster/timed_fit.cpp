#include "calibration/fit/cluster/timed_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/cluster/far_rows.hpp"
#include "calibration/fit/cluster/fit_collectives.hpp"
#include "fields/rounded.hpp"

namespace stepcast {

namespace {

// One standard deviation of a prior draws as a row that is a tenth off, as of collectives.
constexpr PriorFitOptions kOptions{.drawn = 0.1, .step = 1e-4};
// Fits without outliers find further ones beside those that were far worse.
constexpr int kMostRounds = 5;

std::vector<double> times_of(const TimedModel& model, const std::vector<double>& values, std::size_t rows) {
  std::vector<double> out(rows);
  model.predict(values, -1, out);
  return out;
}

PriorFit solve(const TimedModel& model, const std::vector<TimedRow>& rows, std::vector<double> weights) {
  PriorFitRows problem;
  problem.weights = std::move(weights);
  std::vector<double> times(rows.size());
  problem.predict = [&](const std::vector<double>& values, int constant, double* residuals) {
    std::fill(times.begin(), times.end(), 0);
    model.predict(values, constant, times);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (times[i] > 0) residuals[i] = std::log(times[i] / rows[i].measured_us);
  };
  return fit_with_priors(model.constants, problem, {std::vector<double>(model.constants.size(), 0)}, kOptions);
}

std::vector<double> weights_of(const std::vector<TimedRow>& rows) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const TimedRow& row : rows) out.push_back(row.counts ? 1 : 0);
  return out;
}

/// Marks the rows that lie far from what a fit says; whether any mark changed.
bool mark_far_rows(std::vector<TimedRow>& rows, const std::vector<double>& times_us) {
  std::vector<GroupedValue> values;
  for (std::size_t i = 0; i < rows.size(); ++i)
    values.push_back({rows[i].place + rows[i].format, std::log(rows[i].measured_us / times_us[i])});
  const std::vector<bool> far = far_values(values);
  bool changed = false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    changed = changed || rows[i].counts == far[i];
    rows[i].counts = !far[i];
  }
  return changed;
}

}  // namespace

TimedFit fit_times(const TimedModel& model, std::vector<TimedRow>& rows) {
  TimedFit out;
  for (int round = 0; round < kMostRounds; ++round) {
    const PriorFit found = solve(model, rows, weights_of(rows));
    out.values = found.values;
    for (double& value : out.values) value = rounded(value, 5);
    out.deviations = found.deviations;
    out.times_us = times_of(model, out.values, rows.size());
    if (round + 1 < kMostRounds && !mark_far_rows(rows, out.times_us)) break;
  }
  return out;
}

void add_outliers(CalibrationProfile& profile, const char* kind, const std::vector<TimedRow>& rows,
                  const TimedFit& fit) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!rows[i].counts)
      profile.outliers.push_back({fmt::format("{} {}, {}", kind, rows[i].words, rows[i].place),
                                  rounded(rows[i].measured_us, 5), rounded(fit.times_us[i], 5), "us"});
}

std::vector<std::string> add_timed_constants(CalibrationProfile& profile, const std::string& entry,
                                             const std::string& prefix, const TimedModel& model,
                                             const std::vector<TimedRow>& rows, const TimedFit& fit) {
  const auto counted =
      static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const TimedRow& row) { return row.counts; }));
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    const PriorConstant& c = model.constants[i];
    const double value = fit.values[i], factor = std::exp(fit.deviations[i]);
    keys.push_back(prefix + c.name);
    profile.constants.push_back({entry, keys.back(), rounded(c.prior, 5), value, rounded(value / factor, 5),
                                 rounded(value * factor, 5), counted});
  }
  return keys;
}

HeldOutScore held_out_times(const TimedModel& model, const std::vector<TimedRow>& rows, const std::vector<bool>& seen,
                            const char* what) {
  std::vector<double> weights = weights_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) weights[i] = seen[i] ? weights[i] : 0;
  const std::vector<double> times = times_of(model, solve(model, rows, std::move(weights)).values, rows.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!seen[i] && rows[i].counts) ratios.push_back(times[i] / rows[i].measured_us);
  return score_of(what, ratios);
}

}  // namespace stepcast
