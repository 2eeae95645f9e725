#include "calibration/fit/cluster/timed_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "calibration/fit/cluster/draws.hpp"
#include "calibration/fit/cluster/far_rows.hpp"
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

/// `centres`: what the constants' places are drawn to; empty: to the catalogue's.
PriorFit solve(const TimedModel& model, const std::vector<double>& measured_us, std::vector<double> weights,
               std::vector<double> start = {}, const std::vector<double>& centres = {}) {
  PriorFitRows problem;
  problem.weights = std::move(weights);
  std::vector<double> times(measured_us.size());
  problem.predict = [&](const std::vector<double>& values, int constant, double* residuals) {
    std::fill(times.begin(), times.end(), 0);
    model.predict(values, constant, times);
    for (std::size_t i = 0; i < times.size(); ++i)
      if (times[i] > 0) residuals[i] = std::log(times[i] / measured_us[i]);
  };
  std::vector<PriorConstant> constants = model.constants;
  for (std::size_t i = 0; i < centres.size(); ++i) constants[i].centre = centres[i];
  start.resize(constants.size(), 0);
  return fit_with_priors(constants, problem, {start}, kOptions);
}

std::vector<double> medians_of(const std::vector<TimedRow>& rows) {
  std::vector<double> out;
  out.reserve(rows.size());
  for (const TimedRow& row : rows) out.push_back(row.measured_us);
  return out;
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

std::vector<std::size_t> rows_that_tell(const TimedModel& model, const std::vector<TimedRow>& rows,
                                        const std::vector<double>& values) {
  const std::vector<double> usual = times_of(model, values, rows.size());
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < values.size(); ++c) {
    std::vector<bool> tells(rows.size());
    for (const double side : {-1.0, 1.0}) {
      std::vector<double> moved = values;
      moved[c] = std::clamp(values[c] * std::exp(side * model.constants[c].spread), model.constants[c].least,
                            model.constants[c].most);
      const std::vector<double> times = times_of(model, moved, rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        tells[i] = tells[i] || (rows[i].counts && std::abs(std::log(times[i] / usual[i])) >= kTells);
    }
    out.push_back(static_cast<std::size_t>(std::count(tells.begin(), tells.end(), true)));
  }
  return out;
}

/// Values of constants by refits: a row's weight is how often it is drawn.
std::vector<std::vector<double>> refitted(const TimedModel& model, const std::vector<TimedRow>& rows,
                                          const std::vector<double>& place, int refits) {
  std::vector<std::size_t> counted;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].counts) counted.push_back(i);
  std::vector<std::vector<double>> out(model.constants.size());
  std::mt19937_64 random(1);  // fixed: the same rows give the same file
  for (int refit = 0; refit < refits; ++refit) {
    std::vector<double> weights(rows.size()), measured_us = medians_of(rows), centres;
    for (std::size_t i = 0; i < counted.size(); ++i) weights[counted[random() % counted.size()]] += 1;
    for (const std::size_t i : counted)
      if (weights[i] > 0) measured_us[i] = quantile_of(redrawn(rows[i].samples_us, random), 0.5);
    for (std::size_t c = 0; c < out.size(); ++c) centres.push_back(normal_draw(random));
    const PriorFit found = solve(model, measured_us, std::move(weights), place, centres);
    for (std::size_t c = 0; c < out.size(); ++c) out[c].push_back(found.values[c]);
  }
  return out;
}

}  // namespace

TimedFit fit_times(const TimedModel& model, std::vector<TimedRow>& rows, int refits) {
  TimedFit out;
  PriorFit found;
  for (int round = 0; round < kMostRounds; ++round) {
    found = solve(model, medians_of(rows), weights_of(rows));
    const bool last = round + 1 == kMostRounds;
    if (last || !mark_far_rows(rows, times_of(model, found.values, rows.size()))) break;
  }
  out.values = found.values;
  out.telling = rows_that_tell(model, rows, out.values);
  const std::vector<std::vector<double>> drawn = refitted(model, rows, found.place, refits);
  for (std::size_t c = 0; c < out.values.size(); ++c) {
    out.values[c] = out.telling[c] == 0 ? model.constants[c].prior : rounded(out.values[c], 5);
    out.intervals.push_back(interval_around(out.values[c], drawn[c]));
  }
  out.times_us = times_of(model, out.values, rows.size());
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
                                             const std::string& prefix, const TimedModel& model, const TimedFit& fit) {
  std::vector<std::string> told;
  for (std::size_t i = 0; i < model.constants.size(); ++i) {
    const PriorConstant& c = model.constants[i];
    if (fit.telling[i] > 0) told.push_back(prefix + c.name);
    profile.constants.push_back({entry, prefix + c.name, rounded(c.prior, 5), rounded(fit.values[i], 5),
                                 rounded(fit.intervals[i].low, 5), rounded(fit.intervals[i].high, 5), fit.telling[i]});
  }
  return told;
}

HeldOutScore held_out_times(const TimedModel& model, const std::vector<TimedRow>& rows, const std::vector<bool>& seen,
                            const char* what) {
  std::vector<double> weights = weights_of(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) weights[i] = seen[i] ? weights[i] : 0;
  const std::vector<double> times =
      times_of(model, solve(model, medians_of(rows), std::move(weights)).values, rows.size());
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (!seen[i] && rows[i].counts) ratios.push_back(times[i] / rows[i].measured_us);
  return score_of(what, ratios);
}

}  // namespace stepcast
